"""USING (col, …): equal columns of both sides, which are then one column.

In the kept text it is an ON: a column of that name that is added to a further source would make it mean two things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.sql.query.columns import Alone, Columns
from viewkeeper.sql.query.conjuncts import Conjunct
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.fitting import Operand, fit
from viewkeeper.sql.query_syntax import USING


@dataclass(frozen=True, slots=True, kw_only=True)
class Using:
    """One column of USING: what it is on either side, over the fields of both."""

    node: exp.Expr
    left: Alone
    right: Alone

    @property
    def operands(self) -> list[Operand]:
        return [Operand(self.node, self.left.expr), Operand(self.node, self.right.expr)]

    def conjunct(self, columns: Columns, context: Context) -> Conjunct:
        found = fit("=", self.operands, "USING", self.node, context)
        Expressions(context, columns, "USING").check_exact(found, self.node)
        return Conjunct(expr=found, node=self.node)

    def shown(self, side: str, context: Context) -> Alone:
        """The one column: of the side whose rows all stay; where that is both, of the one that is there."""
        if side != "FULL":
            return self.right if side == "RIGHT" else self.left
        either = fit("coalesce", self.operands, "USING", self.node, context)
        return Alone(name=self.left.name, expr=either, text=f"COALESCE({self.left.text}, {self.right.text})")


def bind_using(node: exp.Join, left: Columns, right: Columns, context: Context) -> list[Using]:
    """The columns of USING; none if there is no USING. UnknownColumn or BadDefinition unless each side has one."""
    found: list[Using] = []
    for name in node.args.get("using") or []:
        column = exp.Column(this=name.copy())
        column.meta.update(name.meta)
        sides = [_one(column, columns, context) for columns in (left, right)]
        one = Using(node=column, left=sides[0], right=sides[1].moved(left.width))
        if one.left in [other.left for other in found]:
            raise context.bad(column, f'column "{name.name}" is in USING twice')
        found.append(one)
    if found:
        start, end = node.meta[USING]
        written = " AND ".join(f"{one.left.text} = {one.right.text}" for one in found)
        context.edits[start] = (end, f"ON {written}")
    return found


def using_columns(both: Columns, using: Sequence[Using], side: str, context: Context) -> Columns:
    """The columns of both sides, those of USING once and first."""
    shown = [one.shown(side, context) for one in using]
    taken = [alone for one in using for alone in (one.left, one.right)]
    return replace(both, alone=(*shown, *(alone for alone in both.alone if alone not in taken)))


def _one(node: exp.Column, columns: Columns, context: Context) -> Alone:
    found = columns.alone_as(node.name)
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"Write ON in place of USING, with {' or '.join(one.text for one in found)}."
        raise context.bad(node, f'column "{node.name}" is in several sources', hint=hint)
    # Raises what says that there is none.
    columns.find(node, context)
    raise AssertionError(node.name)
