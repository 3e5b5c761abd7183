"""The Spark executor: expressions as columns of the DataFrame API.

Takes: bound expressions and the columns that they read, in a session with ANSI on and UTC. Gives: columns, and for each
expression that can fail a column that says on which rows it did.
Invariant: no column makes a task fail, whatever the rows hold; values are those of rows/, bit for bit.
Does not: start a session, reach into the JVM, or use what Spark Connect lacks.
"""
