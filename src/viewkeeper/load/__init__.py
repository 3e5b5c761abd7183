"""Files and rows in bulk, as checked Arrow batches.

Takes: a table and a source: rows as dicts, anything Arrow, or a .csv, .jsonl or .parquet file. Gives: batches of
bounded size whose columns, types and NULLs fit the table, each row knowing the line or row it came from.
Invariant: what a batch holds is what `model.values` would have accepted value by value; a row that does not fit is
never loaded in part.
Does not: write anything but the file of bad rows, or know about keys that exist and limits that are reached; that is
the store's.
"""

from viewkeeper.load.bad import BadLine, BadRowWriter
from viewkeeper.load.batch import LoadBatch, Origin
from viewkeeper.load.progress import LoadProgress
from viewkeeper.load.source import FORMATS, Source, open_source

__all__ = ["FORMATS", "BadLine", "BadRowWriter", "LoadBatch", "LoadProgress", "Origin", "Source", "open_source"]
