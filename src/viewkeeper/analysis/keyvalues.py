"""What the key columns of a read may be, and how many keys that makes.

Where a column equals columns of several sources that were read before, it takes the values of one of them. Those of one
key that are of one access are of the same row of it, and those of several are of rows that belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

from viewkeeper.analysis.block import Source
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.reads import Reads, alternatives, rows_together
from viewkeeper.analysis.scope import Scope
from viewkeeper.plan.access import Found, Operand
from viewkeeper.plan.expr import Expr, Literal, Parameter
from viewkeeper.plan.filling import ANY_LENGTH

MOST_CHOICES = 64
"""Ways to take the values of a key from what was read that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What a key column may be: any of `operands`, which see to `conjunct`. `rows` is how many may have it."""

    operands: tuple[Operand, ...]
    rows: int = 1
    conjunct: Expr | None = None


class Choosing:
    """The values for a read of a source, from what holds and from what was read before."""

    def __init__(self, scope: Scope, before: Reads, among: Conditions, source: Source) -> None:
        self._scope = scope
        self._before = before
        self._among = among
        self._source = source

    def of(self, expr: Expr) -> list[Values]:
        """What an expression may be, each of which will do; empty if that is not known."""
        if isinstance(expr, Literal):
            return [Values(operands=(expr,))]
        found = self.equal_to(expr)
        if found:
            return found
        test = next(iter(self._among.tests_of(expr, ("in", "word"))), None)
        if test is None or any(isinstance(one, Parameter) and one.element == ANY_LENGTH for one in test.operands):
            return []
        return [Values(operands=test.operands, conjunct=test.conjunct)]

    def equal_to(self, expr: Expr) -> list[Values]:
        """The same, without lists."""
        found = self._scope.operands(expr, self._before, self._among, self._source)
        return [Values(operands=(operand,), rows=rows) for operand, rows in found]

    def fewest(self, ways: Iterable[Sequence[Values]]) -> Sequence[Values]:
        """Of some ways to take values the one that makes the fewest keys, from the fewest accesses."""
        return min(ways, key=self._price)

    def fewest_of_each(self, choices: Sequence[Sequence[Values]]) -> Sequence[Values]:
        """One of the choices for each column."""
        return self.fewest(islice(product(*choices), MOST_CHOICES))

    def keys(self, chosen: Sequence[Values]) -> int:
        """How many keys some values are at most."""
        return self._price(chosen)[0]

    def _price(self, chosen: Sequence[Values]) -> tuple[int, int]:
        rows = {operand.access: one.rows for one in chosen for operand in one.operands if isinstance(operand, Found)}
        joined = prod(rows.values())
        if len(rows) > 1:
            joined = min(joined, rows_together(self._before.accesses, rows))
        return joined * alternatives([one.operands for one in chosen]), len(rows)
