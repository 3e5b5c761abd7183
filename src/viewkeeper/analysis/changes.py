"""Changes of a query or of its tables that may give it a bound; whether they do is for others to try.

A change is a sentence and what it does; two can be made one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from viewkeeper.analysis.block import Block, NotAnalysed
from viewkeeper.analysis.conditions import INEQUALITIES, Conditions, core
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.schema import Limit, Schema, Stored
from viewkeeper.analysis.sqltext import quoted
from viewkeeper.model.types import BIGINT, BOOLEAN, TIMESTAMP
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.expr import Call, Expr, Input, Literal, Parameter, children, inputs
from viewkeeper.plan.filling import ANY_LENGTH
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Aggregate, Filter, Relation, Scan, below, scans, with_below
from viewkeeper.sql.statements import Query

ROWS = 100
"""The limit that is tried."""
MANY = 20
"""The length of a list, and the number of values, that are tried: for a bound, any number is as good."""
HOUR = 3_600_000
EXTREMES = frozenset({AggregateKind.MIN, AggregateKind.MAX})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is told, and what it makes of a query and of a schema."""

    text: str
    query: Callable[[Query], Query] = lambda query: query
    schema: Callable[[Schema], Schema] = lambda schema: schema

    def and_then(self, more: Change) -> Change:
        return Change(
            text=f"{self.text} And {more.text[0].lower()}{more.text[1:]}",
            query=lambda query: more.query(self.query(query)),
            schema=lambda schema: more.schema(self.schema(schema)),
        )


def changes(query: Query, schema: Schema) -> Iterator[Change]:
    """Those that may help, from the smallest on."""
    try:
        block = block_of(query.plan, schema)
    except NotAnalysed:
        return
    yield from _lists(query)
    yield from _limits(query, block)
    yield from _left(query)
    yield from _words(block)
    yield from _cardinalities(query, schema)
    yield from _orders(query, block)
    yield from _hours(block)
    yield from _sums(block)
    yield from _not_temporal(query, schema)


def _limits(query: Query, block: Block) -> Iterator[Change]:
    if isinstance(query.limit, Parameter) and query.limit_max is None:
        text = f"Write LIMIT :{query.limit.key} MAX {ROWS}."
        yield Change(text=text, query=lambda query: replace(query, limit_max=ROWS))
    elif query.limit is None and (block.group is None or block.group):
        yield Change(text=f"Write LIMIT {ROWS}.", query=lambda query: replace(query, limit=ROWS, limit_max=ROWS))


def _orders(query: Query, block: Block) -> Iterator[Change]:
    """Without the order, or ordered by the column that is compared by inequality first."""
    if not query.order:
        return
    for test in Conditions(block.conjuncts).tests if block.group is None else ():
        places = [n for n, expr in enumerate(block.outputs) if core(expr) == test.subject]
        if test.op in INEQUALITIES and places and query.order[0].column != places[0]:
            first = replace(query.order[0], column=places[0])
            rest = tuple(one for one in query.order if one.column != places[0])
            order = (first, *rest)
            text = f"Begin ORDER BY with {quoted(block.names[places[0]])}."
            yield Change(text=text, query=lambda query, order=order: replace(query, order=order))  # type: ignore[misc]
    yield Change(text="Leave out ORDER BY.", query=lambda query: replace(query, order=()))


def _lists(query: Query) -> Iterator[Change]:
    """A list of any length with a declared maximum."""
    keys = {one.key for one in query.parameters if one.element == ANY_LENGTH}
    for key in sorted(keys, key=str):

        def spread(query: Query, key: str | int = key) -> Query:
            return replace(query, plan=_mapped(query.plan, lambda expr: _spread(expr, key)))

        yield Change(text=f"Write IN :{key} MAX {MANY}.", query=spread)


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


def _hours(block: Block) -> Iterator[Change]:
    """Rows of groups that are chosen by time: an hour instead, which is a group."""
    subjects = {
        test.subject: None
        for test in Conditions(block.conjuncts).tests
        if test.op in INEQUALITIES and isinstance(test.subject, Input) and test.subject.type == TIMESTAMP
    }
    if block.group is None:
        return
    extreme = bool(block.calls) and all(call.kind in EXTREMES for call in block.calls)
    put = "take the least or greatest of them" if extreme else "add them up"
    for subject in subjects:
        assert isinstance(subject, Input)
        name = quoted(block.name(subject.index).split(".", 1)[1])
        yield Change(
            text=f"Ask hour by hour, and {put}: write {name} - ({name} % {HOUR}) = :hour for what is asked of {name}.",
            query=lambda query: replace(query, plan=_mapped(query.plan, _Hour().of)),
        )


class _Hour:
    """The comparisons of a time with constants as one of its hour."""

    def __init__(self) -> None:
        self.told = False

    def of(self, expr: Expr) -> Expr:
        match expr:
            case Call("and", args):
                return replace(expr, args=tuple(map(self.of, args)))
            case Call(op, (Input() as time, Literal() | Parameter())) | Call(
                op, (Literal() | Parameter(), Input() as time)
            ) if time.type == TIMESTAMP and op in INEQUALITIES:
                if self.told:
                    return Literal(True, BOOLEAN)
                self.told = True
                rest = Call("epoch%", (time, Literal(HOUR, BIGINT)), BIGINT)
                hour = Parameter(key="hour", type=TIMESTAMP)
                return Call("=", (Call("epoch-", (time, rest), TIMESTAMP), hour), expr.type)
        return expr


def _mapped(relation: Relation, change: Callable[[Expr], Expr]) -> Relation:
    """A relation with every condition of a Filter changed."""
    made = with_below(relation, [_mapped(part, change) for part in below(relation)])
    return replace(made, condition=change(made.condition)) if isinstance(made, Filter) else made


def _sums(block: Block) -> Iterator[Change]:
    """Averages as sums and counts: of these, those of groups follow from those of parts."""
    if any(call.kind is AggregateKind.AVG for call in block.calls):
        yield Change(
            text="Ask for SUM and COUNT in place of AVG, and divide.",
            query=lambda query: replace(query, plan=_summed(query.plan)),
        )


def _summed(relation: Relation) -> Relation:
    made = with_below(relation, [_summed(part) for part in below(relation)])
    if not isinstance(made, Aggregate):
        return made
    calls = (replace(call, kind=AggregateKind.SUM) if call.kind is AggregateKind.AVG else call for call in made.calls)
    return replace(made, calls=tuple(calls))


def _left(query: Query) -> Iterator[Change]:
    """An inner join of two, of which the right one is only looked up, as a LEFT JOIN."""
    for number, (_, name) in enumerate(_lefts(query.plan)):

        def left(query: Query, number: int = number) -> Query:
            return replace(query, plan=[plan for plan, _ in _lefts(query.plan)][number])

        yield Change(text=f'Write LEFT JOIN for "{name}": it drops no row, so LIMIT can stop the scan.', query=left)


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


def _read(query: Query, schema: Schema) -> Iterator[Stored]:
    """The tables that are named, each once."""
    for number in dict.fromkeys(scan.object for scan in scans(query.plan)):
        if schema[number].is_table:
            yield schema[number]


def _cardinalities(query: Query, schema: Schema) -> Iterator[Change]:
    """A limit on the last key columns of a table that is read."""
    for table in _read(query, schema):
        for given in range(len(table.key) - 1, 0, -1):
            for kept in combinations(table.key, given):
                counted = frozenset(table.key) - set(kept)
                if not any(limit.counted == counted for limit in table.limits):
                    yield limiting(table, counted)


def limiting(table: Stored, counted: frozenset[int]) -> Change:
    """A CARDINALITY of some key columns."""
    limit = Limit(given=frozenset(table.key) - counted, counted=counted, limit=MANY)
    names = ", ".join(quoted(table.columns[n].name) for n in table.key if n in counted)
    return Change(
        text=f"Declare table {quoted(table.name)} WITH CARDINALITY ({names}, n), n being the most that there may be.",
        schema=lambda schema: schema.limited(table.id, limit),
    )


def _words(block: Block) -> Iterator[Change]:
    """A limit on the words of a text that is searched by word."""
    for table, column in sorted(_searched(block), key=lambda one: (one[0].id, one[1])):
        if column not in table.words:
            name = quoted(table.columns[column].name)

            def limited(schema: Schema, number: int = table.id, column: int = column) -> Schema:
                stored = schema[number]
                return schema.with_objects(replace(stored, words={**stored.words, column: MANY}))

            yield Change(
                text=f"Declare table {quoted(table.name)} WITH CARDINALITY (TOKENS({name}), n), n being the most words "
                "that there may be.",
                schema=limited,
            )


def _searched(block: Block) -> list[tuple[Stored, int]]:
    found: dict[tuple[int, int], tuple[Stored, int]] = {}

    def visit(expr: Expr) -> None:
        if isinstance(expr, Call) and expr.name in ("has_word", "has_word_like") and isinstance(expr.args[0], Input):
            source = block.sources[block.source_at(expr.args[0].index)]
            if source.stored is not None and source.stored.is_table:
                column = expr.args[0].index - source.start
                found[source.stored.id, column] = source.stored, column
        for child in children(expr):
            visit(child)

    for conjunct in (*block.conjuncts, *(one for source in block.sources for one in source.on)):
        visit(conjunct)
    for source in block.sources:
        for part in source.derived.parts if source.derived is not None else ():
            found |= {(one.id, column): (one, column) for one, column in _searched(part)}
    return list(found.values())


def _not_temporal(query: Query, schema: Schema) -> Iterator[Change]:
    """A column by which rows may be stored: all new ones at one end."""
    for table in _read(query, schema):
        for number, column in enumerate(table.columns):
            if column.temporal:

                def plain(schema: Schema, table: int = table.id, number: int = number) -> Schema:
                    stored = schema[table]
                    columns = list(stored.columns)
                    columns[number] = replace(columns[number], temporal=False)
                    return schema.with_objects(replace(stored, columns=tuple(columns)))

                name = f"{quoted(column.name)} of table {quoted(table.name)}"
                yield Change(
                    text=f"Declare {name} without TEMPORAL, if one end of an index can take all new rows.",
                    schema=plain,
                )
