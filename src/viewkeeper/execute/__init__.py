"""Runs plans, twice over: rows/ in plain Python for a handful of changes, spark/ in bulk.

Takes: bound plans, rows as cells or Spark columns. Gives: values, and whether an expression failed on a row.
Invariant: both executors give the same value and the same failure for the same row.
Does not: read or write a store, choose what to run, or import pyspark outside spark/.
"""
