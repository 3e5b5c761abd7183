"""Comparisons and three-valued logic."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.spark.code import Implementation, all_of, any_of, native
from viewkeeper.execute.spark.normal import normalised
from viewkeeper.plan.expr import Call


def _membership(call: Call, args: list[Column]) -> Column:
    # Spark looks long lists up by hash, to which -0.0 and 0.0 are not the same.
    value, *members = (normalised(arg, call.args[0].type) for arg in args)
    return value.isin(*members)


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
    "in": _membership,
    "coalesce": native(sf.coalesce),
    "greatest": native(sf.greatest),
    "least": native(sf.least),
}
