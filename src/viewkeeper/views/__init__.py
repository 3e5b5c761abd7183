"""What the views of the catalog mean, and how a group of them is brought from one position to another.

Takes: the catalog, the log, what the views environment holds. Gives: bound programs, and batches ready to be applied.
Invariant: a batch depends on nothing but its two positions, the log and the group's own tables at its watermark.
Does not: decide when a group moves, import pyspark, or hold a lock while it computes.
"""
