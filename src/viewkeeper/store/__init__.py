"""The only bytes on disk: base tables, the log, the catalog, and room for views.

Takes: encoded keys, rows as cells, positions. Gives: reads at one position, transactions, the log and its past.
Invariant: what a commit has acknowledged survives (durability "sync"), whole; log and tables never disagree.
Does not: know SQL, evaluate expressions, or decide when a view is maintained.
"""
