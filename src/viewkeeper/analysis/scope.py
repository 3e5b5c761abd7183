"""What a read of a source may use: constants, and columns of what was read before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viewkeeper.analysis.block import Block, Source, SourceKind
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.reads import Known, Reads
from viewkeeper.analysis.schema import Schema
from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.access import Found, Operand
from viewkeeper.plan.expr import Call, Expr, Input, inputs, rewrite
from viewkeeper.plan.relation import scans


class Scope:
    """A block whose sources are read, over the objects of a schema."""

    def __init__(self, block: Block, schema: Schema, conditions: Conditions) -> None:
        self.block = block
        self.schema = schema
        self.conditions = conditions
        self._scans = list(scans(block.relation))
        self._first = min((source.leaf for source in block.sources), default=0)

    def operands(self, expr: Expr, reads: Reads, among: Conditions, source: Source) -> list[tuple[Operand, int]]:
        """Values that an expression equals, one of which will do: a constant, or columns of what was read.

        Each with how many there are; the fewest come first.
        """
        constants = among.constants(expr)
        if constants:
            return [(constants[0], 1)]
        found = [
            self._found(other, reads.known, self.block)
            for other in sorted(among.same(expr), key=repr)
            if isinstance(other, Input) and not source.has(other.index)
        ]
        return sorted((one for one in found if one is not None), key=lambda one: one[1])

    def _found(self, expr: Input, known: Mapping[int, Known], block: Block) -> tuple[Operand, int] | None:
        number = block.source_at(expr.index)
        one = known.get(number)
        if one is None:
            return None
        source = block.sources[number]
        if source.derived is not None:
            if len(source.derived.parts) != 1 or not source.derived.outputs:
                return None
            inner = source.derived.outputs[expr.index - source.start]
            part = source.derived.parts[0]
            return self._found(inner, one.inner, part) if isinstance(inner, Input) else None
        column = one.columns.get(expr)
        return None if column is None else (Found(access=one.access, column=column, type=expr.type), one.rows)

    def condition(self, source: Source, covered: frozenset[Expr]) -> Expr | None:
        """What rows of a source have to meet, beyond what its read sees to, over the fields of its scan."""
        given = self.block.conjuncts if source.kind is SourceKind.INNER else source.on
        own = [
            one
            for one in given
            if one not in covered and any(True for _ in inputs(one)) and all(map(source.has, inputs(one)))
        ]
        scan = self._scans[source.leaf - self._first]
        return _all(
            [
                rewrite(one, lambda column: Input(scan.columns.index(column.index - source.start), column.type))
                for one in own
            ]
        )


def _all(conditions: Sequence[Expr]) -> Expr | None:
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions), BOOLEAN)
