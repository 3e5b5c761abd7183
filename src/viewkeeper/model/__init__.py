"""Schema, values, codecs, positions and changes.

Takes: nothing but the standard library and msgspec, and in arrow.py alone pyarrow. Gives: the value types that every
other part speaks in.
Invariant: everything here is a pure function or a frozen value.
Does not: touch files, threads or LMDB.
"""
