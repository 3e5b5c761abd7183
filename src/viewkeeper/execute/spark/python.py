"""Functions of the row executor inside Spark, by Arrow: the same by construction, but not as fast as Spark's own.

Only where Spark has no function of the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas import functions as vectorized

from viewkeeper.execute.rows.expr import Failures, compile_expr
from viewkeeper.execute.spark.literals import type_name
from viewkeeper.model.arrow import from_cells, to_cells
from viewkeeper.model.words import tokens
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal

# Its annotations demand a function type, and given one it warns that type hints are preferred.
arrow_udf: Any = vectorized.arrow_udf


def in_python(expr: Call | Cast, args: list[Column]) -> Column:
    """A call or conversion evaluated by the row executor; NULL where it fails. Constant arguments do not travel."""
    parts = expr.args if isinstance(expr, Call) else (expr.arg,)
    travelling = [place for place, part in enumerate(parts) if not isinstance(part, Literal)]
    if not travelling:
        travelling = [0]
    shown: list[Expr] = list(parts)
    for number, place in enumerate(travelling):
        shown[place] = Input(number, parts[place].type)
    over: Call | Cast
    over = Call(expr.name, tuple(shown), expr.type) if isinstance(expr, Call) else Cast(shown[0], expr.type)
    return _udf(over, tuple(parts[place].type for place in travelling))(*(args[place] for place in travelling))


@lru_cache(maxsize=256)
def _udf(expr: Call | Cast, types: tuple[Any, ...]) -> Callable[..., Column]:
    """One function object for equal expressions, by which Spark sees that it need run only once."""
    result = expr.type

    def run(*arrays: pa.Array) -> pa.Array:
        function, failures = compile_expr(expr), Failures()
        columns = [to_cells(array, type) for array, type in zip(arrays, types, strict=True)]
        return from_cells([function(row, failures) for row in zip(*columns, strict=True)], result)

    name = expr.name if isinstance(expr, Call) else "cast"
    run.__name__ = f"viewkeeper_{name if name.isidentifier() else 'operator'}"
    udf: Callable[..., Column] = arrow_udf(run, type_name(result))
    return udf


def tokens_column(text: Column) -> Column:
    """The words of a text as an array; NULL of NULL. See model/words.py."""
    return _tokens()(text)


@lru_cache(maxsize=1)
def _tokens() -> Callable[..., Column]:
    def viewkeeper_tokens(texts: pa.Array) -> pa.Array:
        found = [None if text is None else tokens(text) for text in texts.to_pylist()]
        return pa.array(found, pa.list_(pa.string()))

    udf: Callable[..., Column] = arrow_udf(viewkeeper_tokens, "array<string>")
    return udf
