"""The public Spark data source: tables, views and their changes as DataFrames.

Takes: options, which name a database folder and a table or view of it. Gives: `spark.read` of its rows as of one
position, and `spark.readStream` of its changes.
Invariant: all tasks of one DataFrame read at one position, however often it is used and whatever is written meanwhile;
a stream gives each change once, by its offsets.
Does not: write. Rows go in through the API, where keys, limits and types are checked.
"""

from viewkeeper.spark.datasource import Viewkeeper

__all__ = ["Viewkeeper"]
