"""What is stored of a view, table by table, and when two rows of one are the same.

To the bit, but for sums of DOUBLE, whose last digits depend on the order of additions. Of these, the sums inside the
state of a group are compared with a tolerance. What a row shows of them is the same if it is what its own state gives,
to the bit, or near to what was expected: a variance magnifies a difference that in its sums is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from viewkeeper.delta.deltaplan import AggregateSink, Changes, DeltaPlan
from viewkeeper.delta.joinplan import UnionSource, WholeSource, plans_below
from viewkeeper.delta.program import Program, Storage
from viewkeeper.delta.sides import is_plain
from viewkeeper.delta.tables import PlanTables
from viewkeeper.execute.groupstate import GroupState, decode_state, encode_state, finishers
from viewkeeper.execute.rows.normal import normalised
from viewkeeper.execute.storedstate import StageRunner
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Kind, Row
from viewkeeper.model.values import present
from viewkeeper.views.bound import BoundView
from viewkeeper.views.deltas import same

RELATIVE = ABSOLUTE = 1e-9
"""By how much sums of DOUBLE may differ: of the larger, or near zero of one."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A view table or an auxiliary table. `stage` is the aggregate whose state its last column holds, if it does.

    With `is_weighted`, the last column says how often a row is there. `near` are the columns that are compared with a
    tolerance; `merged` is the program of a view that is stored as the groups of its last aggregate. Where `compared` is
    given, what other columns hold makes no difference.
    """

    name: str
    codec: RowCodec
    is_view: bool
    is_weighted: bool = False
    near: frozenset[int] = frozenset()
    stage: StageRunner | None = None
    merged: Program | None = None
    compared: frozenset[int] | None = None

    @property
    def number(self) -> int:
        return self.codec.table.id

    def is_same(self, stored: bytes, expected: bytes, *, however_near: bool = False) -> bool:
        """Whether two encoded rows of one key are the same; what cannot be decoded is not.

        With `however_near`, sums of DOUBLE may differ by anything.
        """
        if stored == expected:
            return True
        try:
            row, wanted = self.codec.decode(stored), self.codec.decode(expected)
            if self.compared is not None:
                # Tables that are shared may be as wide as another view has them.
                return all(same((row[place],), (wanted[place],)) for place in self.compared)
            if len(row) != len(wanted):
                return False
            if self.is_weighted and same(self._normalised(row), self._normalised(wanted)):
                return True
            return self._has_tolerance() and self._is_near(stored, row, wanted, expected, however_near)
        except Exception:  # noqa: BLE001  bytes that nobody wrote may fail to decode in any way
            return False

    def _normalised(self, row: Row) -> Row:
        """A row with a weight stands for all that its key does: it may show -0.0 or 0.0 if some of them do."""
        return tuple(normalised(cell, column.type) for cell, column in zip(row, self.codec.table.columns, strict=True))

    def _has_tolerance(self) -> bool:
        return bool(self.near) or (self.stage is not None and _has_doubles(self.stage.sink))

    def _is_near(self, stored: bytes, row: Row, wanted: Row, expected: bytes, however_near: bool) -> bool:
        settled = list(row)
        if self.stage is not None:
            sink = self.stage.sink
            state, other = decode_state(sink, _bytes(row[-1])), decode_state(sink, _bytes(wanted[-1]))
            if encode_state(sink, _settled(state, other)) != wanted[-1]:
                return False
            settled[-1] = wanted[-1]
            if self.merged is not None and self._shown(wanted, state) == stored:
                return True
        for column in self.near:
            if however_near or _near(row[column], wanted[column]):
                settled[column] = wanted[column]
        return self.codec.encode(tuple(settled)) == expected

    def _shown(self, row: Row, state: GroupState) -> bytes:
        """The encoded row that a state gives, for the group that a row is of."""
        assert self.stage is not None
        assert self.merged is not None
        group: list[Any] = [None] * len(self.stage.sink.group)
        for column, place in zip(self.merged.layout.key, self.merged.key_from, strict=True):
            group[place] = row[column]
        cells = (finish(state)[0] for finish in finishers(self.stage.sink))
        return self.stage.stored(tuple(group), state, (*group, *cells))[0]

    def weight(self, encoded: bytes) -> int:
        """How often a row is there; 1 if it cannot be told."""
        if not self.is_weighted:
            return 1
        try:
            return int(self.codec.decode(encoded)[-1])  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001  as above
            return 1

    def shown(self, encoded: bytes | None) -> dict[str, Any] | None:
        """A row with all its columns, hidden ones too; None if it is absent, its bytes if they say nothing."""
        if encoded is None:
            return None
        try:
            row = self.codec.decode(encoded)
            found = {
                column.name: present(cell, column.type)
                for column, cell in zip(self.codec.table.columns, row, strict=False)
            }
            if self.stage is not None:
                state = decode_state(self.stage.sink, _bytes(row[-1]))
                found[self.codec.table.columns[-1].name] = (
                    state.weight,
                    state.sums,
                    [(value.different, value.least, value.greatest) for value in state.values],
                )
        except Exception:  # noqa: BLE001  as above
            return {"damaged": encoded}
        return found

    def key_of(self, encoded: bytes) -> dict[str, Any]:
        """The key of a row by column; its bytes if they say nothing."""
        row = self.shown(encoded) or {}
        if "damaged" in row:
            return row
        return {name: row[name] for name in self.codec.table.primary_key}


def stored_tables(one: BoundView) -> list[StoredTable]:
    """The view first, then its auxiliary tables."""
    program, view = one.program, one.view
    merged = program if program.storage is Storage.MERGED else None
    last: StageRunner | None = None
    found = list(_below(view.name, one.bare.plan, program.tables))
    for number, stage in enumerate(_stages(program.plan, program.tables, merged), 1):
        if merged is not None and stage.codec.table.id == program.layout.id:
            last = stage
        found += _of_stage(f"{view.name}:", number, stage, has_states=stage is not last)
    if program.epochs is not None:
        found.append(StoredTable(f"{view.name}: epochs", RowCodec(program.epochs.table), False))
    near = frozenset(view.approximate)
    shown = StoredTable(
        view.name, RowCodec(program.layout), True, program.storage is Storage.WEIGHTED, near, last, merged
    )
    return [shown, *found]


def _stages(plan: DeltaPlan, tables: PlanTables, merged: Program | None = None) -> Iterator[StageRunner]:
    for number, kept in enumerate(tables.stages):
        sink = plan.stages[number].sink
        assert isinstance(sink, AggregateSink)
        yield StageRunner(sink, kept, merged)


def _of_stage(name: str, number: int, stage: StageRunner, *, has_states: bool = True) -> Iterator[StoredTable]:
    if has_states:
        yield StoredTable(f"{name} states {number}", stage.codec, False, stage=stage)
    for place, codec in enumerate(stage.values, 1):
        yield StoredTable(f"{name} values {number}.{place}", codec, False)


def _below(name: str, plan: DeltaPlan, tables: PlanTables) -> Iterator[StoredTable]:
    """What the join or union that a plan begins with keeps, and the plans below it. The plan is the view's own."""
    source, kept = plan.source, tables.source
    if isinstance(source, Changes) or kept is None:
        return
    for place, (below, its) in enumerate(zip(plans_below(source), kept.below, strict=True), 1):
        yield from _below(f"{name}, input {place}", below, its)
        for number, stage in enumerate(_stages(below, its), 1):
            yield from _of_stage(f"{name}, input {place}:", number, stage)
    if isinstance(source, UnionSource | WholeSource):
        return
    for number, (index, table) in enumerate(zip(source.indexes, kept.indexes, strict=True), 1):
        side, depth = source.sides[index.side], len(index.key)
        # A table that views share may hold more than this one uses, in all rows or in those since another came.
        used = side.plan.source.columns if is_plain(side) and isinstance(side.plan.source, Changes) else None
        compared = None if used is None else frozenset((*range(depth), *(depth + column for column in used)))
        codec = RowCodec(table.layout)
        yield StoredTable(f"{name}: join index {number}", codec, False, table.is_weighted, compared=compared)
    for number, layout in enumerate(kept.partners, 1):
        if layout is not None:
            yield StoredTable(f"{name}: partners {number}", RowCodec(layout), False)


def _has_doubles(sink: AggregateSink) -> bool:
    return any(measure.type.kind is Kind.DOUBLE for measure in sink.measures)


def _bytes(cell: Any) -> bytes:
    if not isinstance(cell, bytes):
        raise TypeError("a state is bytes")
    return cell


def _settled(state: GroupState, other: GroupState) -> GroupState:
    """A state with those sums of another that are near to its own."""
    sums = [_settled_sum(mine, theirs) for mine, theirs in zip(state.sums, other.sums, strict=True)]
    return GroupState(state.weight, sums, state.values)


def _settled_sum(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, list) and isinstance(theirs, list) and _near(mine[0], theirs[0]):
        return [theirs[0], *mine[1:]]
    return mine


def _near(mine: Any, theirs: Any) -> bool:
    if not isinstance(mine, float) or not isinstance(theirs, float):
        return False
    return math.isclose(mine, theirs, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (mine != mine and theirs != theirs)
