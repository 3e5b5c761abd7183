"""Staging views: rows spread over m parts by a hash, in each of them in an order. The first n of all parts are cheap.

    first n in an order  =  the first n of the first n of each part

so a TopN over a staging view reads at most m × n rows, each part by itself, however many rows there are. A table or a
view whose key begins with the order itself is the case of one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewkeeper.plan.expr import Call, Expr, Input, Literal, substitute
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.join import InnerJoin, PartnerJoin, UnionAll, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import TopN, Window

Key = Sequence[tuple[int, bool]]
"""The columns that rows are stored by, each with whether it descends."""

MOST_PARTS = 4096
"""Parts from which on to read each of them by itself takes longer than to read all rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRows:
    """Which stored rows a TopN has to read: the first `count` of each part, in stored order or in its `reverse`.

    `parts`: the first key column is a number from 0 to parts - 1; None if all rows are one part.

    Rows that are equal in an order are told apart by all their columns, from left to right. Where the stored order goes
    on like that, `count` rows of a part are enough, and `is_exact`. Where it does not, the rows that are equal to the
    last of these in the first `decided` key columns have to be read, too: as many as there are.
    """

    parts: int | None
    count: int
    decided: int
    reverse: bool
    is_exact: bool

    @property
    def most(self) -> int:
        """How many stored rows are read; more, if it is not exact, by those that are equal to a last one."""
        return (1 if self.parts is None else self.parts) * self.count


def parts_of(plan: Relation, column: int = 0) -> int | None:
    """The m of an output that is HASH(…) INTO m, and so a number from 0 to m - 1, never NULL; None of any other."""
    match plan:
        case Project(input, exprs, _):
            return _parts(exprs[column], input)
        case Filter(input) | Distinct(input) | TopN(input):
            return parts_of(input, column)
        case Tokens(input) | Window(input):
            return parts_of(input, column) if column < len(input.fields) else None
        case Aggregate(input, group):
            return parts_of(input, group[column]) if column < len(group) else None
        case InnerJoin(inputs):
            starts = starts_of(inputs)
            number = max(number for number in range(len(inputs)) if starts[number] <= column)
            return parts_of(inputs[number], column - starts[number])
        case UnionAll(inputs):
            first, *others = (parts_of(branch, column) for branch in inputs)
            return first if all(other == first for other in others) else None
        case PartnerJoin() | Scan():
            # A row without a partner has NULLs.
            return None
    # GROUPING SETS leave a column out, too.
    return None


def _parts(expr: Expr, input: Relation) -> int | None:
    match expr:
        case Call("bucket", (*_, Literal(int(count)))):
            return count
        case Input(index):
            return parts_of(input, index)
    return None


def scanned(top: TopN) -> Scan | None:
    """What a TopN takes its rows from, if that is a scan as it is, or shown by expressions that never fail."""
    found = _shown(top.input)
    return None if found is None else found[0]


def _shown(relation: Relation) -> tuple[Scan, tuple[Expr, ...]] | None:
    """A scan, and what is shown of its fields."""
    match relation:
        case Scan(fields=fields):
            return relation, tuple(Input(place, field.type) for place, field in enumerate(fields))
        case Project(input, exprs, _):
            found = _shown(input)
            # A row on which one fails counts as an error of the view, whether or not it is among the first.
            if found is not None and not any(map(can_fail, exprs)):
                return found[0], tuple(substitute(expr, found[1]) for expr in exprs)
    return None


def first_rows(top: TopN, key: Key, parts: int | None) -> FirstRows | None:
    """What a TopN over a scan has to read of an object that is stored by `key`; None if that may be everything.

    `parts` is that of the first key column, None if it is none of a hash.
    """
    found = _shown(top.input)
    if found is None or top.limit is None or (parts is not None and parts > MOST_PARTS):
        return None
    count = top.limit + top.offset
    constant = set() if parts is None else {key[0][0]}
    shown = [_stored(found[0], expr) for expr in found[1]]
    sorts = _once([(shown[sort.column], sort.descending) for sort in top.order], constant)
    wanted = _once([*sorts, *((column, False) for column in shown)], constant)
    rest = key if parts is None else key[1:]
    reverse = bool(wanted and rest) and wanted[0][1] != rest[0][1]
    matched = 0
    for (column, descending), (stored, stored_descending) in zip(wanted, rest, strict=False):
        if column != stored or (descending != stored_descending) != reverse:
            break
        matched += 1
    # The whole key tells rows apart; rows that are equal in all that is read are the same to whoever reads them.
    is_exact = matched == min(len(wanted), len(rest))
    # Rows that are equal in all that is ordered by may be many; those that are equal in a part of it often are.
    if not is_exact and (matched == 0 or matched < len(sorts)):
        return None
    decided = matched + (parts is not None)
    return FirstRows(parts=parts, count=count, decided=decided, reverse=reverse, is_exact=is_exact)


def _stored(scan: Scan, expr: Expr) -> int | None:
    """The column id that an expression over a scan shows, -1 if it is a constant; None if it is computed."""
    match expr:
        case Input(index):
            return scan.columns[index]
        case Literal():
            return -1
    return None


def _once(columns: Sequence[tuple[int | None, bool]], constant: set[int]) -> list[tuple[int | None, bool]]:
    """An order without constants, and without columns that have come before."""
    seen = {-1, *constant}
    found: list[tuple[int | None, bool]] = []
    for column, descending in columns:
        if column not in seen:
            found.append((column, descending))
            if column is not None:
                seen.add(column)
    return found
