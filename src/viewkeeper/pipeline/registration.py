"""Names of our internal data sources in a Spark session."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_names: WeakKeyDictionary[SparkSession, dict[type[DataSource], str]] = WeakKeyDictionary()


def name_in(spark: SparkSession, source: type[DataSource]) -> str:
    """The name of a source in a session; registered there, under a name that nobody else has, when first asked for."""
    names = _names.setdefault(spark, {})
    if source not in names:
        name = f"{source.__name__}_{uuid.uuid4().hex}".lower()
        named = type(source.__name__, (source,), {"name": classmethod(lambda _: name)})
        spark.dataSource.register(named)
        names[source] = name
    return names[source]
