"""What a changed row looks up to bring a view up to date, as SQL: for each place in which the view reads the table, the
definition with that place replaced by the row.

Where a view reads a table several times, a row may be in several places at once: it is also joined with itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from viewkeeper.analysis.block import Block, Source, SourceKind, aliases, equality
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.maintenance import Unlimited, delta_cost
from viewkeeper.analysis.paths import branches, definition_of
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.sqltext import aggregate, quoted, sql
from viewkeeper.analysis.verdict import DeltaQuery
from viewkeeper.plan.expr import Call, Expr, Input, Parameter, rewrite

Places = tuple[int, ...]
"""The sources that are the changed row, by their numbers."""


def delta_queries(view: Stored, schema: Schema) -> Iterator[DeltaQuery]:
    """For each place in which a view reads a table or view, what a changed row of it looks up."""
    for branch in branches(view):
        yield from _delta_queries(branch, schema)


def _delta_queries(view: Stored, schema: Schema) -> Iterator[DeltaQuery]:
    known = definition_of(view, schema)
    if known is None or any(source.stored is None for source in known.block.sources):
        return
    block = known.block
    for places in _places(block):
        cost = delta_cost(view, block, places[0], schema)
        reads, rows = (None, None) if isinstance(cost, Unlimited) else (cost.reads, cost.rows)
        yield DeltaQuery(
            view=view.name,
            table=block.sources[places[0]].name,
            sql=_delta_sql(view, block, places),
            reads=reads,
            rows=rows,
            is_with_itself=len(places) > 1,
        )


def _places(block: Block) -> Iterator[Places]:
    """Each source by itself, then those of one table together, as far as they are joined inside."""
    yield from ((number,) for number in range(len(block.sources)))
    alike: dict[int, list[int]] = {}
    for number, source in enumerate(block.sources):
        if source.stored is not None and source.kind is SourceKind.INNER:
            alike.setdefault(source.stored.id, []).append(number)
    for numbers in alike.values():
        for count in range(2, len(numbers) + 1):
            yield from combinations(numbers, count)


def _delta_sql(view: Stored, block: Block, places: Places) -> str:
    short = aliases([source.name for source in block.sources])
    changed = [block.sources[place] for place in places]

    def given(expr: Expr) -> Expr:
        def one(column: Input) -> Expr:
            source = next((source for source in changed if source.has(column.index)), None)
            if source is None or source.stored is None:
                return column
            return Parameter(source.stored.columns[column.index - source.start].name, column.type)

        return rewrite(expr, one)

    def name(column: Input) -> str:
        place = block.source_at(column.index)
        source = block.sources[place]
        assert source.stored is not None
        return f"{short[place]}.{quoted(source.stored.columns[column.index - source.start].name)}"

    def text(expr: Expr) -> str:
        return sql(given(expr), name)

    if block.group is None:
        shown = [text(expr) for expr in block.outputs[: view.visible]]
    else:
        shown = [text(expr) for expr in block.group]
        shown += [
            "+" + ("1" if one is None else aggregate(call, text(one)))
            for call, one in zip(block.calls, block.arguments, strict=True)
        ]
    others = [f"{quoted(one.name)} AS {short[place]}" for place, one in enumerate(block.sources) if place not in places]
    told = [given(one) for one in (*_told(block, changed), *(one for source in block.sources for one in source.on))]
    conditions = dict.fromkeys(sql(one, name) for one in told if not _is_trivial(one))
    found = f"SELECT {', '.join(shown)}"
    if others:
        found += f" FROM {', '.join(others)}"
    return found + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def _is_trivial(condition: Expr) -> bool:
    """Whether it says of a column of the row that it equals itself."""
    return isinstance(condition, Call) and condition.name == "=" and condition.args[0] == condition.args[1]


def _told(block: Block, changed: Sequence[Source]) -> Iterator[Expr]:
    """The conditions of a definition, with what they imply for what equals a column of the changed row."""
    conditions = Conditions(block.conjuncts)
    done: set[Expr] = set()
    for left, _, conjunct in conditions.equalities:
        members = sorted(conditions.same(left), key=lambda one: getattr(one, "index", -1))
        own = next((one for one in members if isinstance(one, Input) and any(s.has(one.index) for s in changed)), None)
        if own is None:
            yield conjunct
            continue
        if own in done:
            continue
        done.add(own)
        yield from (equality(other, own) for other in members if other != own)
    yield from (test.conjunct for test in conditions.tests)
    yield from conditions.other
