"""Answers reads from the store in plain Python.

Takes: bound selects and key ranges, a snapshot. Gives: Rows, and how they were found.
Invariant: all rows of one answer are as of one position.
Does not: start Spark, or write.
"""
