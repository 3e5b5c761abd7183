"""Hotspots: an index that a TEMPORAL column leads would take every write at one end, so it is not made.

Instead the rows are spread: a staging view has them by a hash of the key, in each part by time. A view over it is
refreshed at an interval: it takes the first rows of each part, in parallel, merges them, and goes on from there. The
work in one part is bounded, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from viewkeeper.analysis.block import Block, Derived, NotAnalysed, Source
from viewkeeper.analysis.construct import Constructed, Refused, construct
from viewkeeper.analysis.paths import definition_of, window_rows
from viewkeeper.analysis.planning import Planned, plan_block
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.sqltext import quoted
from viewkeeper.model.schema import Column
from viewkeeper.model.types import INT
from viewkeeper.plan.expr import Call, Expr, Input, Literal
from viewkeeper.plan.lookedup import LookedUp, Read, reads_of
from viewkeeper.plan.relation import Field, Project, Scan
from viewkeeper.plan.staging import FirstRows, Key, parts_of
from viewkeeper.plan.whole import TopN

PARTS = 16
"""Parts that a staging view has."""


def staged(block: Block, schema: Schema, name: str, view_name: str) -> tuple[Constructed, Stored, Block] | None:
    """The view and its staging view for a block that an index by time would answer, and the block over its window.

    None if no index by time would.
    """
    hot = plan_block(block, schema, allowed=lambda view: view.mode != "PERIODIC", propose=True, hot=True)
    if not isinstance(hot, Planned) or not any(one.ddl and one.is_temporal for one in hot.uses()):
        return None
    found = _window(block)
    if found is None:
        return None
    outer, number = found
    derived = outer.sources[number].derived
    assert derived is not None
    staging = staging_view(derived.parts[0], schema, name)
    text = window_text(derived.parts[0], staging)
    try:
        made = construct(outer, view_name, schema.with_objects(staging).next_id(), windows={number: text})
    except (Refused, NotAnalysed):
        return None
    return made, staging, outer


def _window(block: Block) -> tuple[Block, int] | None:
    """A block with the query in FROM that is a window by time, and its number; a block that is one is put there."""
    for number, source in enumerate(block.sources):
        if source.derived is not None and len(source.derived.parts) == 1 and is_window(source.derived.parts[0]):
            return block, number
    outer = around(block)
    return None if outer is None else (outer, 0)


def is_window(block: Block) -> bool:
    """Whether a block is the first rows of one table in the order of a TEMPORAL column."""
    if block.group is not None or block.distinct or block.rows_wanted is None or block.conjuncts or not block.order:
        return False
    if len(block.sources) != 1 or block.sources[0].stored is None or not block.sources[0].stored.is_table:
        return False
    first = block.outputs[block.order[0].column]
    return isinstance(first, Input) and block.sources[0].stored.columns[first.index].temporal


def around(block: Block) -> Block | None:
    """A block that shows all rows of the window that another one is, in its order; None if it is none.

    In the window each column has its own name, whatever it is shown as, so none may be there twice.
    """
    if not is_window(block):
        return None
    table = block.sources[0].stored
    assert table is not None
    columns = [_column(expr) for expr in block.outputs]
    names = tuple("" if column is None else table.columns[column].name for column in columns)
    if "" in names or len(set(names)) < len(names):
        return None
    fields = tuple(Input(place, field.type) for place, field in enumerate(block.relation.fields))
    top = TopN(Project(block.relation, fields, names), block.order, block.rows_wanted)
    inner = replace(block, relation=top, limit=block.rows_wanted, limit_max=block.rows_wanted, offset=0)
    derived = Derived(relation=top, parts=(inner,), outputs=tuple(block.outputs))
    source = Source(start=0, leaf=0, width=len(top.fields), name="query", stored=None, derived=derived)
    outputs = tuple(Input(place, field.type) for place, field in enumerate(top.fields))
    return replace(block, relation=Project(top, outputs, block.names), sources=(source,), outputs=outputs)


def staging_view(window: Block, schema: Schema, name: str) -> Stored:
    """The staging view of a window's table: the part, then the order, then the key, then what else the window shows."""
    table = window.sources[0].stored
    assert table is not None
    order = [(_column(window.outputs[sort.column]), sort.descending) for sort in window.order]
    key: dict[int, bool] = {column: down for column, down in order if column is not None}
    key |= {column: False for column in table.key if column not in key}
    rest = [column for expr in window.outputs if (column := _column(expr)) is not None and column not in key]
    chosen = [*key, *dict.fromkeys(rest)]
    fields = tuple(Field(column.name, column.type) for column in table.columns)
    scan = Scan(table.id, table.name, tuple(range(len(fields))), fields)
    hashed: list[Expr] = [Input(column, table.columns[column].type) for column in table.key]
    part = Call("bucket", (*hashed, Literal(PARTS, INT)), INT)
    exprs: tuple[Expr, ...] = (part, *(Input(column, table.columns[column].type) for column in chosen))
    names = ("part", *(table.columns[column].name for column in chosen))
    for view in schema.views():
        if _has_staged(view, table, key, chosen):
            return view
    wanted = schema.free_name(f"{name or table.name}Staging")
    shown = ", ".join(quoted(one) for one in names[1:])
    by = ", ".join(quoted(table.columns[column].name) for column in table.key)
    stored_by = ", ".join(["part", *(quoted(table.columns[n].name) + " DESC" * down for n, down in key.items())])
    return Stored(
        id=schema.next_id(),
        name=wanted,
        kind="view",
        columns=(
            Column(name="part", type=INT, nullable=False),
            *(table.columns[column] for column in chosen),
        ),
        visible=len(names),
        key=tuple(range(len(key) + 1)),
        descending=(False, *key.values()),
        unique=frozenset(range(len(key) + 1)),
        mode="DEFERRED",
        plan=Project(scan, exprs, names),
        parts=PARTS,
        ddl=f"CREATE MATERIALIZED VIEW {quoted(wanted)} KEY ({stored_by}) AS "
        f"SELECT HASH({by}) INTO {PARTS} AS part, {shown} FROM {quoted(table.name)}",
    )


def _has_staged(view: Stored, table: Stored, key: Mapping[int, bool], columns: Sequence[int]) -> bool:
    """Whether a view is a staging view of a table in this order, with these columns."""
    plan = view.plan
    if not isinstance(plan, Project) or not isinstance(plan.input, Scan) or plan.input.object != table.id:
        return False
    if not view.key or parts_of(plan, view.key[0]) != PARTS or view.mode == "PERIODIC":
        return False
    shown = [plan.input.columns[one.index] if isinstance(one, Input) else None for one in plan.exprs]
    stored = [(shown[number], down) for number, down in zip(view.key[1:], view.descending[1:], strict=True)]
    return stored == list(key.items()) and set(columns) <= set(shown)


def _column(expr: Expr) -> int | None:
    return expr.index if isinstance(expr, Input) else None


def window_text(window: Block, staging: Stored) -> str:
    """The window over the staging view, as a query in FROM.

    It shows the columns in the order in which they are stored, so that rows of one moment are told apart as stored.
    """
    columns = [quoted(column.name) for column in staging.columns[1 : staging.visible]]
    order = [
        quoted(staging.columns[place].name) + " DESC" * down
        for place, down in zip(staging.key[1:], staging.descending[1:], strict=True)
    ]
    by = ", ".join(order[: len(window.order)])
    skipped = f" OFFSET {window.offset}" if window.offset else ""
    return f"(SELECT {', '.join(columns)} FROM {quoted(staging.name)} ORDER BY {by} LIMIT {window.limit_max}{skipped})"


def serial_work(view: Stored, schema: Schema) -> int | None:
    """How many rows one part of a refresh reads at most; None if there is no bound.

    The window takes its rows from each part of a staging view, and everything else is looked up from those by its key.
    """
    known = definition_of(view, schema)
    if known is None or view.plan is None:
        return None
    if view.ddl is None and not all(map(_is_bounded, reads_of(view.plan, lambda scan: _stored_by(scan, schema)))):
        return None
    windows = [source.derived for source in known.block.sources if source.derived is not None]
    if len(windows) != 1:
        return None
    rows = windows[0].parts[0].rows_wanted
    found = window_rows(known.block, schema)
    return None if found is None or rows is None else rows + found


def _is_bounded(read: Read) -> bool:
    """Whether a refresh reads no more of a leaf than a window's rows from each part, or what it looks up from these."""
    return isinstance(read, LookedUp) or (isinstance(read, FirstRows) and read.is_exact and read.parts is not None)


def _stored_by(scan: Scan, schema: Schema) -> tuple[Key, int | None] | None:
    """The key that an object is stored by, and in how many parts."""
    stored = schema[scan.object]
    if stored.copies > 1 or not stored.key:
        return None
    parts = None if stored.plan is None else parts_of(stored.plan, stored.key[0])
    return list(zip(stored.key, stored.descending, strict=True)), parts
