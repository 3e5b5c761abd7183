"""Which rows a relation that is computed whole has to read of each leaf: all, the first ones, or those of some keys.

What is joined to few rows is looked up by their values, if these are first columns of the key that it is stored by:

    W ⋈ R  =  W ⋈ {r of R whose k is a value that W has}

The rows that are found are few, too, and more is looked up by theirs. A row that is not read is one that no other row
would have met, and on which nothing could have failed: the result is that of all rows, and so are its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from viewkeeper.plan.casts import can_cast, keeps_all
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, inputs, substitute
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, PartnerKind, inputs_read, starts_of
from viewkeeper.plan.relation import Distinct, Filter, Project, Relation, Scan, below, scans
from viewkeeper.plan.staging import FirstRows, Key, first_rows, scanned
from viewkeeper.plan.tracing import Traced, leaf_count, moved, traced
from viewkeeper.plan.whole import TopN

KeyOf = Callable[[Scan], tuple[Key, int | None] | None]
"""The key by which a scanned object is stored, and the parts of its first column, None if that is not of a hash.

None in place of both if the object is not stored as one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedUp:
    """The rows whose first key columns, `columns`, have values that the rows of another leaf give.

    `leaf` is the number of that leaf, `arm` what is made of its rows alone (see tracing.py), and `by` are expressions
    over the fields of the arm, one for each column and of its type; some may be constants. NULL is not looked up.

    There are at most as many lookups as the other leaf gives rows: if it is of first rows, as many as are counted.
    """

    columns: tuple[int, ...]
    leaf: int
    arm: Relation
    by: tuple[Expr, ...]


Read = FirstRows | LookedUp | None
"""What is read of a leaf; None if it is all rows."""


def reads_of(relation: Relation, key_of: KeyOf) -> list[Read]:
    """What has to be read of each scan of a relation, from left to right."""
    reads: list[Read] = list(_windows(relation, key_of))
    leaves = list(scans(relation))
    equals: list[list[_Equal]] = [[] for _ in leaves]
    _collect(relation, 0, [], equals)
    while True:
        # Those that can be looked up by what was known before: what is nearer to first rows comes first.
        found = {
            number: read
            for number, scan in enumerate(leaves)
            if reads[number] is None and (read := _lookup(scan, key_of, equals[number], reads)) is not None
        }
        if not found:
            return reads
        for number, read in found.items():
            reads[number] = read


def _windows(relation: Relation, key_of: KeyOf) -> Iterator[FirstRows | None]:
    scan = scanned(relation) if isinstance(relation, TopN) else None
    if isinstance(relation, TopN) and scan is not None:
        stored = key_of(scan)
        yield None if stored is None else first_rows(relation, *stored)
    elif isinstance(relation, Scan):
        yield None
    for part in below(relation) if scan is None else ():
        yield from _windows(part, key_of)


@dataclass(frozen=True, slots=True)
class _Equal:
    """Rows matter only if `own`, over their fields, is equal to a value that was traced, or to a constant."""

    own: Expr
    value: Traced | Literal


def _collect(relation: Relation, start: int, equals: list[_Equal], found: list[list[_Equal]]) -> None:
    """For each scan, what its rows have to be equal to; `equals` is that for the rows of this relation.

    Below what can fail, and where a row that does not matter has a part in one that does, nothing is known any more.
    """
    match relation:
        case Scan():
            found[start] = equals
        case Filter(input, condition):
            known = [] if can_fail(condition) else [*equals, *_constants(condition)]
            _collect(input, start, known, found)
        case Project(input, exprs, _):
            fails = any(map(can_fail, exprs))
            known = [] if fails else [_Equal(substitute(each.own, exprs), each.value) for each in equals]
            _collect(input, start, known, found)
        case Distinct(input):
            _collect(input, start, equals, found)
        case InnerJoin(sides, equalities):
            _collect_sides(sides, equalities, start, equals, found, set(range(len(sides))))
        case PartnerJoin(kind, left, right, equalities, condition):
            needy = {PartnerKind.FULL: set[int](), PartnerKind.SEMI: {0, 1}}.get(kind, {1})
            fails = condition is not None and can_fail(condition)
            # A row on the right that does not matter would still keep one on the left from having no partner.
            above = [each for each in equals if all(place < len(left.fields) for place in inputs(each.own))]
            above = [] if fails or kind is PartnerKind.FULL else above
            _collect_sides((left, right), equalities, start, above, found, needy)
        case _:
            for part in below(relation):
                _collect(part, start, [], found)
                start += leaf_count(part)


def _collect_sides(
    sides: Sequence[Relation],
    equalities: Sequence[Equality],
    start: int,
    above: list[_Equal],
    found: list[list[_Equal]],
    needy: set[int],
) -> None:
    """What is known of each side of a join; of the sides that are `needy`, rows matter only if the equalities hold."""
    starts = starts_of(sides)
    pairs = [pair for left, right in equalities for pair in ((left, right), (right, left))]
    first = [start + sum(map(leaf_count, sides[:number])) for number in range(len(sides))]
    for number, side in enumerate(sides):
        known = [
            _Equal(moved(each.own, -starts[number]), each.value) for each in above if _reads(each.own, starts, number)
        ]
        for own, other in pairs:
            if number not in needy or not _reads(own, starts, number):
                continue
            (source,) = inputs_read(other, starts)
            value = traced(sides[source], moved(other, -starts[source]), first[source])
            if value is not None:
                known.append(_Equal(moved(own, -starts[number]), value))
        _collect(side, first[number], known, found)


def _reads(expr: Expr, starts: Sequence[int], number: int) -> bool:
    """Whether an expression reads one side of a join, and no other."""
    return inputs_read(expr, starts) == {number}


def _constants(condition: Expr) -> Iterator[_Equal]:
    """What a condition says to be equal to a constant."""
    match condition:
        case Call("and", args, _):
            for arg in args:
                yield from _constants(arg)
        case Call("=", (own, Literal() as value), _) | Call("=", (Literal() as value, own), _):
            yield _Equal(own, value)


def _lookup(scan: Scan, key_of: KeyOf, equals: Sequence[_Equal], reads: Sequence[Read]) -> LookedUp | None:
    """By which leaf that is known most columns of the key of a scan are given; None if there is none."""
    stored = key_of(scan) if equals else None
    best: LookedUp | None = None
    for each in equals if stored is not None else ():
        assert stored is not None
        source = each.value
        if isinstance(source, Literal) or reads[source.leaf] is None:
            continue
        read = _by_leaf(scan, [column for column, _ in stored[0]], equals, source)
        if read is not None and (best is None or len(read.columns) > len(best.columns)):
            best = read
    return best


def _by_leaf(scan: Scan, key: Sequence[int], equals: Sequence[_Equal], source: Traced) -> LookedUp | None:
    """A lookup by the values of one leaf, and by constants."""
    values: dict[int, Expr] = {}
    constants: dict[int, Expr] = {}
    for each in equals:
        if isinstance(each.value, Literal):
            constants.update(_of_column(scan, each.own, each.value))
        elif each.value.leaf == source.leaf:
            values.update(_of_column(scan, each.own, each.value.value))
    given = constants | values
    columns = tuple(takewhile(given.__contains__, key))
    # By constants alone as many rows may be found as there are.
    if values.keys().isdisjoint(columns):
        return None
    by = tuple(given[column] for column in columns)
    return LookedUp(columns=columns, leaf=source.leaf, arm=source.arm, by=by)


def _of_column(scan: Scan, own: Expr, value: Expr) -> Iterator[tuple[int, Expr]]:
    """The column that an equality gives, and its value in the type of that column."""
    match own:
        case Input(index):
            yield scan.columns[index], value
        case Cast(Input(index, type), target) if keeps_all(type, target) and can_cast(target, type):
            # What does not convert back is NULL, and equal to no value of the column.
            yield scan.columns[index], Cast(value, type)
