"""What would give a query a bound: each is tried before it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from viewkeeper.analysis.block import Block, NotAnalysed
from viewkeeper.analysis.conditions import INEQUALITIES, Conditions, core
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.schema import Limit, Schema
from viewkeeper.analysis.sqltext import quoted
from viewkeeper.analysis.verdict import Suggestion, Verdict
from viewkeeper.model.types import BIGINT, TIMESTAMP
from viewkeeper.plan.expr import Call, Expr, Input, Literal, Parameter, children, inputs
from viewkeeper.plan.filling import ANY_LENGTH
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Filter, Relation, Scan, below, scans, with_below
from viewkeeper.sql.statements import Query

ROWS = 100
"""The limit that is tried."""
MANY = 20
"""The length of a list, and the number of values, that are tried."""
SCAN = "allow_scan=True reads all rows."


def suggestions(query: Query, schema: Schema) -> Iterator[Suggestion]:
    """The single changes that bound a query; where none does, the pairs of them."""
    changes = list(_changes(query, schema))
    found = [Suggestion(text=text, level=level) for text, one, other in changes if (level := _level(one, other))]
    if found:
        yield from found
        return
    for (text, one, _), (more, _, other) in combinations(changes, 2):
        both = one if one is not query else None
        level = _level(both or query, other) if other is not schema else None
        if level:
            yield Suggestion(text=f"{text}; and {more[0].lower() + more[1:]}", level=level)


def _level(query: Query, schema: Schema) -> str | None:
    from viewkeeper.analysis.analyse import analyse

    found = analyse(query, schema, suggest=False)
    return found.level if found.is_bounded and found.level != "unbounded" else None


Change = tuple[str, Query, Schema]


def _changes(query: Query, schema: Schema) -> Iterator[Change]:
    try:
        block = block_of(query.plan, schema)
    except NotAnalysed:
        return
    yield from _lists(query, schema)
    yield from _limits(query, schema, block)
    yield from _left(query, schema)
    yield from _cardinalities(query, schema)
    yield from _words(query, schema, block)
    yield from _orders(query, schema, block)
    yield from _epochs(query, schema, block)


def _limits(query: Query, schema: Schema, block: Block) -> Iterator[Change]:
    if isinstance(query.limit, Parameter) and query.limit_max is None:
        yield f"Write LIMIT :{query.limit.key} MAX {ROWS}.", replace(query, limit_max=ROWS), schema
    elif query.limit is None and (block.group is None or block.group):
        yield f"Write LIMIT {ROWS}.", replace(query, limit=ROWS, limit_max=ROWS), schema


def _orders(query: Query, schema: Schema, block: Block) -> Iterator[Change]:
    """Without the order, or ordered by the column that is compared by inequality first."""
    if not query.order or query.limit_max is None:
        return
    if block.group is None:
        for test in Conditions(block.conjuncts).tests:
            places = [n for n, expr in enumerate(block.outputs) if core(expr) == test.subject]
            if test.op in INEQUALITIES and places and query.order[0].column != places[0]:
                first = replace(query.order[0], column=places[0])
                name = block.names[places[0]]
                rest = tuple(one for one in query.order if one.column != places[0])
                yield f"Begin ORDER BY with {quoted(name)}.", replace(query, order=(first, *rest)), schema
    yield "Leave out ORDER BY.", replace(query, order=()), schema


def _lists(query: Query, schema: Schema) -> Iterator[Change]:
    """A list of any length with a declared maximum."""
    keys = {one.key for one in query.parameters if one.element == ANY_LENGTH}
    for key in sorted(keys, key=str):
        plan = _mapped(query.plan, lambda expr: _spread(expr, key))  # noqa: B023
        yield f"Write IN :{key} MAX {MANY}.", replace(query, plan=plan), schema


def _spread(expr: Expr, key: str | int) -> Expr:
    """IN with a place for each value of a list."""
    if isinstance(expr, Call) and expr.name == "in":
        args: list[Expr] = []
        for arg in expr.args:
            if isinstance(arg, Parameter) and arg.key == key and arg.element == ANY_LENGTH:
                args += [replace(arg, element=place) for place in range(MANY)]
            else:
                args.append(arg)
        return replace(expr, args=tuple(args))
    if isinstance(expr, Call):
        return replace(expr, args=tuple(_spread(arg, key) for arg in expr.args))
    return expr


def _epochs(query: Query, schema: Schema, block: Block) -> Iterator[Change]:
    """Rows of groups that are chosen by time: whole hours instead, each of which is a group."""
    if block.group is None:
        return
    for test in Conditions(block.conjuncts).tests:
        subject = test.subject
        if test.op in INEQUALITIES and isinstance(subject, Input) and subject.type == TIMESTAMP:
            name = quoted(block.name(subject.index).split(".", 1)[1])
            (value,) = test.operands
            plan = _mapped(query.plan, lambda expr: _by_hour(expr, test.op))  # noqa: B023
            shown = f":{value.key}" if isinstance(value, Parameter) else "a constant"
            text = f"Take whole hours: write {name} - ({name} % 3600000) = {shown}, and add up the hours."
            yield text, replace(query, plan=plan), schema


def _by_hour(expr: Expr, op: str) -> Expr:
    """A comparison of a time with a constant as one of its hour."""
    match expr:
        case Call("and", args):
            return replace(expr, args=tuple(_by_hour(arg, op) for arg in args))
        case Call(_, (Input() as time, Literal() | Parameter() as value)) if time.type == TIMESTAMP:
            rest = Call("epoch%", (time, Literal(3_600_000, BIGINT)), BIGINT)
            return Call("=", (Call("epoch-", (time, rest), TIMESTAMP), value), expr.type)
    return expr


def _mapped(relation: Relation, change) -> Relation:  # type: ignore[no-untyped-def]
    """A relation with every condition of a Filter changed."""
    made = with_below(relation, [_mapped(part, change) for part in below(relation)])
    return replace(made, condition=change(made.condition)) if isinstance(made, Filter) else made


def _left(query: Query, schema: Schema) -> Iterator[Change]:
    """An inner join of two, of which the right one is only looked up, as a LEFT JOIN."""
    for plan, name in _lefts(query.plan):
        text = f'Write LEFT JOIN for "{name}": it drops no row, so LIMIT can stop the scan.'
        yield text, replace(query, plan=plan), schema


def _lefts(relation: Relation) -> Iterator[tuple[Relation, str]]:
    if isinstance(relation, InnerJoin) and len(relation.inputs) == 2 and isinstance(relation.inputs[1], Scan):
        left, right = relation.inputs
        width = len(left.fields)
        pairs = tuple((one, other) if max(inputs(one)) < width else (other, one) for one, other in relation.equalities)
        yield PartnerJoin(PartnerKind.LEFT, left, right, pairs), relation.inputs[1].name
    parts = below(relation)
    for number, part in enumerate(parts):
        for made, name in _lefts(part):
            yield with_below(relation, [*parts[:number], made, *parts[number + 1 :]]), name


def _cardinalities(query: Query, schema: Schema) -> Iterator[Change]:
    """A limit on the last key columns of a table that is read."""
    for table in {scan.object: schema[scan.object] for scan in scans(query.plan)}.values():
        if not table.is_table or len(table.key) < 2:
            continue
        for given in range(len(table.key) - 1, 0, -1):
            for kept in combinations(table.key, given):
                counted = frozenset(table.key) - set(kept)
                if any(limit.counted == counted for limit in table.limits):
                    continue
                limit = Limit(given=frozenset(kept), counted=counted, limit=MANY)
                names = ", ".join(quoted(table.columns[n].name) for n in table.key if n in counted)
                text = f"Declare CARDINALITY ({names}, n) on table {quoted(table.name)}."
                yield text, query, schema.limited(table.id, limit)


def _words(query: Query, schema: Schema, block: Block) -> Iterator[Change]:
    """A limit on the words of a text that is searched by word."""
    for table, column in sorted(_searched(block)):
        stored = schema[table]
        if column not in stored.words:
            limited = replace(stored, words={**stored.words, column: MANY})
            name = quoted(stored.columns[column].name)
            text = f"Declare CARDINALITY (TOKENS({name}), n) on table {quoted(stored.name)}."
            yield text, query, schema.with_objects(limited)


def _searched(block: Block) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()

    def visit(expr: Expr) -> None:
        if isinstance(expr, Call) and expr.name in ("has_word", "has_word_like") and isinstance(expr.args[0], Input):
            source = block.sources[block.source_at(expr.args[0].index)]
            if source.stored is not None and source.stored.is_table:
                found.add((source.stored.id, expr.args[0].index - source.start))
        for child in children(expr):
            visit(child)

    for conjunct in (*block.conjuncts, *(one for source in block.sources for one in source.on)):
        visit(conjunct)
    for source in block.sources:
        for part in source.derived.parts if source.derived is not None else ():
            found |= _searched(part)
    return found


def hint_of(verdict: Verdict) -> str:
    """What to do about a query without a bound."""
    if not verdict.suggestions:
        return SCAN
    told = "".join(f"\n    {one.text} ({one.level})" for one in verdict.suggestions)
    return f"Any one of these gives it a bound:{told}\n  Or {SCAN}"
