"""The view from which a query with aggregates could be answered: its groups, for each value of A_eq."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.conditions import core
from viewkeeper.analysis.construct import Compared, Constructed, Refused, has_parameter
from viewkeeper.analysis.schema import Stored
from viewkeeper.analysis.sqltext import aggregate, quoted, sql
from viewkeeper.analysis.viewtext import ViewText, free_name
from viewkeeper.model.schema import Column
from viewkeeper.plan.aggregate import EXTREMES, WHOLE, AggregateCall, is_approximate
from viewkeeper.plan.expr import Expr, Input, inputs, rewrite

Aggregated = tuple[AggregateCall, Expr | None]
"""A call, and what it is over."""


def construct_groups(found: Compared, name: str, number: int) -> Constructed:
    """The view of groups; Refused if none would do."""
    block, text = found.block, found.text
    _check(found)
    groups: list[Expr] = []
    covered: set[Expr] = set()
    for expr in (*found.a_eq, *found.a_ineq, *(block.group or ())):
        if core(expr) not in covered and any(True for _ in inputs(expr)):
            groups.append(core(expr))
            covered.update(found.conditions.same(expr))
    calls: list[Aggregated] = list(dict.fromkeys(zip(block.calls, block.arguments, strict=True)))
    group_names = text.names(groups)
    call_names = _call_names(block, calls, group_names)
    width = len(groups)
    ranks = {} if text.windows else _ranks(block, calls, width)
    rank_names = _rank_names(block, ranks, [*group_names, *call_names])
    view = found.view(
        group=tuple(groups),
        calls=tuple(call for call, _ in calls),
        arguments=tuple(argument for _, argument in calls),
        outputs=(
            *(Input(place, expr.type) for place, expr in enumerate(groups)),
            *(Input(width + place, call.type) for place, (call, _) in enumerate(calls)),
            *ranks,
        ),
        names=(*group_names, *call_names, *rank_names),
    )
    items = text.shown(groups, group_names)
    written_calls = [aggregate(call, None if argument is None else text.expr(argument)) for call, argument in calls]
    items += [f"{one} AS {quoted(own)}" for one, own in zip(written_calls, call_names, strict=True)]
    items += [
        f"{sql(one, lambda column: written_calls[column.index - width])} AS {quoted(own)}"
        for one, own in zip(ranks, rank_names, strict=True)
    ]
    names = [*group_names, *call_names, *rank_names]
    key, down = _key(found, groups, calls)
    where = found.where()
    tail = f" GROUP BY {', '.join(map(text.expr, groups))}" if groups else ""
    written = [quoted(names[place]) + " DESC" * descending for place, descending in zip(key, down, strict=True)]
    stored = Stored(
        id=number,
        name=name,
        kind="view",
        columns=(
            *text.columns(groups, group_names),
            *(
                Column(name=own, type=one[0].type, temporal=_grows(one, text))
                for one, own in zip(calls, call_names, strict=True)
            ),
            *(Column(name=own, type=one.type) for one, own in zip(ranks, rank_names, strict=True)),
        ),
        visible=len(names),
        key=tuple(key),
        descending=tuple(down),
        unique=frozenset(range(width)),
        approximate=_approximate(calls, list(ranks), width),
        mode="PERIODIC" if text.windows else "DEFERRED",
        plan=view.relation,
        ddl=text.ddl(name, written, items, where, tail),
    )
    a_eq = tuple(map(text.expr, found.a_eq))
    return Constructed(stored=stored, block=view, predicates=tuple(where), a_eq=a_eq, a_ineq=())


def _grows(one: Aggregated, text: ViewText) -> bool:
    """Whether a call gives the first or last moment of a group."""
    call, argument = one
    return call.kind in EXTREMES and isinstance(argument, Input) and text.is_temporal(argument)


def _check(found: Compared) -> None:
    block = found.block
    if len(found.inner.sources) < len(block.sources):
        names = ", ".join(f'"{one.name}"' for one in block.sources if one not in found.inner.sources)
        raise Refused(f"one of groups is made for inner joins only, and {names} is joined otherwise")
    # What rows are grouped by is the same for all rows of a group, so groups are chosen by it.
    inside = [one for one in found.a_ineq if not any(found.conditions.are_equal(one, by) for by in block.group or ())]
    if inside:
        names = ", ".join(map(found.shown, inside))
        raise Refused(
            f"rows are chosen by inequality of {names} with a parameter, so no aggregate can be kept for all its values"
        )
    whole = next((call for call in block.calls if call.kind in WHOLE), None)
    if whole is not None:
        name = "MEDIAN" if whole.fraction == 0.5 else whole.kind
        raise Refused(f"{name} needs every value of a group, however many there are")
    over = (*(block.group or ()), *(argument for argument in block.arguments if argument is not None))
    if any(map(has_parameter, over)) or any(map(has_parameter, found.conditions.other)):
        raise Refused("what is grouped or aggregated depends on a parameter by more than a comparison")


def _key(found: Compared, groups: Sequence[Expr], calls: Sequence[Aggregated]) -> tuple[list[int], list[bool]]:
    """The key of the view. One that is refreshed whole is stored in the order of the query, behind A_eq."""
    width = len(groups)
    plain = list(range(width)), [False] * width
    block = found.block
    if not found.text.windows or not block.order:
        return plain
    fixed = len(found.a_eq)
    key, down = list(range(fixed)), [False] * fixed
    own = len(block.group or ())
    for sort in block.order:
        expr = core(block.outputs[sort.column])
        if not isinstance(expr, Input):
            return plain
        if expr.index < own:
            assert block.group is not None
            wanted = core(block.group[expr.index])
            place = next((n for n, one in enumerate(groups) if found.conditions.are_equal(one, wanted)), None)
        else:
            pair = list(zip(block.calls, block.arguments, strict=True))[expr.index - own]
            place = width + calls.index(pair)
        if place is not None and place not in key:
            key.append(place)
            down.append(sort.descending)
    rest = [place for place in range(width) if place not in key]
    return [*key, *rest], [*down, *(False for _ in rest)]


def _ranks(block: Block, calls: Sequence[Aggregated], width: int) -> dict[Expr, int]:
    """What groups are sorted by that is computed from aggregates, over those of the view; where the query shows it."""
    own = len(block.group or ())
    pairs = list(zip(block.calls, block.arguments, strict=True))
    found: dict[Expr, int] = {}
    for sort in block.order if block.rows_wanted is not None else ():
        expr = block.outputs[sort.column]
        places = list(inputs(expr))
        if not isinstance(expr, Input) and places and min(places) >= own and not has_parameter(expr):
            over = rewrite(expr, lambda one: Input(width + calls.index(pairs[one.index - own]), one.type))
            found.setdefault(over, sort.column)
    return found


def _approximate(calls: Sequence[Aggregated], ranks: Sequence[Expr], width: int) -> frozenset[int]:
    """The columns that come from sums of DOUBLE."""
    sums = {
        width + place
        for place, (call, argument) in enumerate(calls)
        if is_approximate(call.kind, None if argument is None else argument.type)
    }
    behind = width + len(calls)
    return frozenset(sums | {behind + place for place, one in enumerate(ranks) if not sums.isdisjoint(inputs(one))})


def _rank_names(block: Block, ranks: Mapping[Expr, int], taken: Sequence[str]) -> list[str]:
    found: list[str] = []
    for place in ranks.values():
        name = block.names[place] if place < len(block.names) and block.names[place].isidentifier() else "rank"
        found.append(free_name(name, [*taken, *found]))
    return found


def _call_names(block: Block, calls: Sequence[Aggregated], taken: Sequence[str]) -> list[str]:
    """Names of aggregates: as the query shows them, else what they are."""
    width = len(block.group or ())
    pairs = list(zip(block.calls, block.arguments, strict=True))
    found: list[str] = []
    for one in calls:
        place = width + pairs.index(one)
        shown = (
            name
            for name, expr in zip(block.names, block.outputs, strict=True)
            if isinstance(expr, Input) and expr.index == place and name.isidentifier()
        )
        kind = str(one[0].kind).split("(")[0].lower()
        found.append(free_name(next(shown, kind), [*taken, *found]))
    return found
