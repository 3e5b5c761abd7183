"""Answers reads from the store in plain Python.

Takes: names of tables and views, keys, bound selects, how fresh the answer has to be. Gives: Rows, and how they were
found; change feeds; how views are.
Invariant: all rows of one answer are as of one position, which for a view is its watermark.
Does not: start Spark, write, or bind the definition of a view, but for that of a join index that a query may use.
"""
