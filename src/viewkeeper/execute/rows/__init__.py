"""The row executor: expressions compiled to Python functions over one row of cells.

Takes: bound expressions and rows as model/types.py has them. Gives: cells, and a count of what failed.
Invariant: an expression never raises; where it fails it is NULL and counted.
Does not: hold state between rows, or know where rows come from.
"""
