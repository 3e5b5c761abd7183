"""Comparisons and three-valued logic."""

from __future__ import annotations

from pyspark.sql import functions as sf

from viewkeeper.execute.spark.code import Implementation, all_of, any_of, native

LOGICAL: dict[str, Implementation] = {
    "=": native(lambda left, right: left == right),
    "<>": native(lambda left, right: left != right),
    "<": native(lambda left, right: left < right),
    "<=": native(lambda left, right: left <= right),
    ">": native(lambda left, right: left > right),
    ">=": native(lambda left, right: left >= right),
    "<=>": native(lambda left, right: left.eqNullSafe(right)),
    "and": lambda call, args: all_of(args),
    "or": lambda call, args: any_of(args),
    "not": native(lambda condition: ~condition),
    "is_null": native(sf.isnull),
    "in": native(lambda value, *members: value.isin(*members)),
    "coalesce": native(sf.coalesce),
    "greatest": native(sf.greatest),
    "least": native(sf.least),
}
