"""Answers reads from the store in plain Python.

Takes: names of tables and views, keys, bound selects, how fresh the answer has to be. Gives: Rows, and how they were
found; change feeds; how views are.
Invariant: all rows of one answer are as of one position, which for a view is its watermark or where it was folded to;
through one handle a view never goes back.
Does not: start Spark, wait for a lock, or write, but for the commit of a fold that is cheap; bind the definition of a
view that stands far enough, but for that of a join index that a query may use.
"""
