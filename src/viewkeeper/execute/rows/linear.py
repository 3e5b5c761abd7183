"""Linear steps over weighted rows: each row passes through by itself, with its weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from viewkeeper.delta.deltaplan import Compute, Linear, Multiply, Select, Words
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.rows.expr import Failures, compile_expr, compile_predicate, compile_row
from viewkeeper.model.types import Row
from viewkeeper.model.words import tokens

Step = Callable[[Row, Failures], list[Row]]
"""One row in, the rows that become of it out."""


class Pipe:
    """The linear steps of a stage, compiled."""

    def __init__(self, linear: tuple[Linear, ...]) -> None:
        self._steps = [_step(one) for one in linear]
        # What most views are: each row becomes one.
        self._only = compile_row(linear[0].exprs) if len(linear) == 1 and isinstance(linear[0], Compute) else None

    def run(self, rows: Iterable[Weighted]) -> tuple[list[Weighted], int]:
        """What becomes of weighted rows; and the weight of those on which an expression failed."""
        given: list[Weighted] = []
        errors = 0
        if self._only is not None:
            compute, failures = self._only, Failures()
            for row, weight in rows:
                given.append((compute(row, failures), weight))
                if failures.count:
                    errors += weight
                    failures.count = 0
            return given, errors
        for row, weight in rows:
            failures = Failures()
            found = [row]
            for step in self._steps:
                found = [made for one in found for made in step(one, failures)]
                if not found:
                    break
            if failures.count:
                errors += weight
            given.extend((made, weight) for made in found)
        return given, errors


def _step(step: Linear) -> Step:
    match step:
        case Select(condition):
            keep = compile_predicate(condition)
            return lambda row, failures: [row] if keep(row, failures) else []
        case Compute(exprs):
            compute = compile_row(exprs)
            return lambda row, failures: [compute(row, failures)]
        case Multiply(projections):
            computes = [compile_row(exprs) for exprs in projections]
            return lambda row, failures: [compute(row, failures) for compute in computes]
        case Words(text):
            words = compile_expr(text)
            return lambda row, failures: _with_words(row, words(row, failures))
    assert_never(step)


def _with_words(row: Row, text: object) -> list[Row]:
    return [(*row, word) for word in tokens(text)] if isinstance(text, str) else []
