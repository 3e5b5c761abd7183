"""Writes by name: transactions, statements that change rows, bulk loads.

Takes: dicts, bound statements, sources. Gives: positions.
Invariant: each is one transaction (a load: one a batch), all or nothing.
Does not: hold the store's write lock while user code runs.
"""
