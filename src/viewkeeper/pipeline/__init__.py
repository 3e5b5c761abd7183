"""Tables and log on Spark: what maintenance in bulk reads, and the clock that drives it.

Takes: a store, a Spark session, and which columns of which table, between or as of which positions. Gives: DataFrames
whose tasks read the store themselves, as Arrow batches of just these columns, `c` and the id each, with a weight `_w`.
Invariant: the tasks of one frame read at the positions that the driver chose, whatever is written meanwhile; each row,
or change, is in exactly one of them.
Does not: compute views or apply anything, or keep the log from being truncated unless asked to hold a position.
"""
