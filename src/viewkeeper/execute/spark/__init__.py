"""The Spark executor: expressions as columns of the DataFrame API, and the first stages of many plans in one pass.

Takes: bound expressions and the columns that they read, in a session with ANSI on and UTC. Gives: columns, and for each
expression that can fail a column that says on which rows it did; and, of a frame of signed rows, what the first stage
of each view over it makes of them.
Invariant: no column makes a task fail, whatever the rows hold; values are those of rows/, bit for bit; so are change
tables and encoded rows, but for the last digits of sums of DOUBLE.
Does not: start a session, reach into the JVM, or use what Spark Connect lacks.
"""
