"""Facts about the rows that matter to a query: leaving out all others does not change its answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import oracle
from tests.execute.driving import canonical
from viewkeeper.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.casts import keeps_all
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind, UnionAll, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Field, Filter, Project, Relation, Scan
from viewkeeper.read.fixedkeys import leaves_of

BITS = st.sampled_from([0, 1, None])
FIELDS = (Field("k", BIGINT), Field("m", BIGINT))
A, B = (Scan(number, name, (0, 1), FIELDS) for number, name in ((1, "A"), (2, "B")))


def column(place: int) -> Input:
    return Input(place, BIGINT)


def equal(expr: Expr, value: int | None) -> Expr:
    return Call("=", (expr, Literal(value, BIGINT)), BOOLEAN)


@st.composite
def fixed(draw: st.DrawFn, relation: Relation) -> Relation:
    """Rows in which a column, or the first of two that is not NULL, has one value."""
    columns = st.builds(column, st.integers(0, len(relation.fields) - 1))
    exprs = st.one_of(
        columns,
        columns,
        st.builds(lambda *args: Call("coalesce", args, BIGINT), columns, columns),
        st.builds(lambda one: Call("coalesce", (one, Literal(1, BIGINT)), BIGINT), columns),
    )
    return Filter(relation, equal(draw(exprs), draw(st.sampled_from([0, 0, 1, 1, None]))))


@st.composite
def inputs(draw: st.DrawFn, depth: int) -> Relation:
    made: Relation = draw(st.sampled_from([A, B])) if depth == 0 or draw(st.booleans()) else draw(relations(depth))
    return draw(fixed(made)) if draw(st.integers(0, 3)) == 0 else made


@st.composite
def relations(draw: st.DrawFn, depth: int) -> Relation:
    """Joins and unions of columns that are all alike, so that most values meet."""
    parts = [draw(inputs(depth - 1)) for _ in range(draw(st.sampled_from([2, 2, 3])))]
    starts = starts_of(parts)

    def pairs(number: int, other: int) -> list[tuple[Expr, Expr]]:
        count = draw(st.sampled_from([1, 1, 2]))
        return [
            tuple(column(starts[one] + draw(st.integers(0, len(parts[one].fields) - 1))) for one in (number, other))  # type: ignore[misc]
            for _ in range(count)
        ]

    match draw(st.sampled_from(["partner", "partner", "partner", "inner", "union", "groups", "expand"])):
        case "partner":
            return PartnerJoin(draw(st.sampled_from(PartnerKind)), parts[0], parts[1], tuple(pairs(0, 1)))
        case "inner":
            links = [pair for other in range(1, len(parts)) for pair in pairs(draw(st.integers(0, other - 1)), other)]
            return InnerJoin(tuple(parts), tuple(links))
        case "union":
            return UnionAll(tuple(Project(part, (column(0), column(1)), ("k", "m")) for part in parts))
        case "groups":
            highest = AggregateCall(AggregateKind.MAX, 1, BIGINT)
            return Aggregate(parts[0], (0,), (highest,), ("k", "most")) if draw(st.booleans()) else Distinct(parts[0])
    return Expand(parts[0], ((column(0), column(1)), (column(0), Literal(0, BIGINT))), ("k", "m"))


@settings(max_examples=1000, suppress_health_check=list(HealthCheck))
@given(
    relation=relations(2).flatmap(lambda relation: st.one_of(fixed(relation), st.just(relation))),
    rows=st.fixed_dictionaries(dict.fromkeys("AB", st.lists(st.tuples(BITS, BITS), max_size=4))),
)
def test_rows_that_violate_a_fact_do_not_matter(relation: Relation, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    leaves = iter(leaves_of(relation))

    def restricted(scan: Scan) -> list[tuple[Any, ...]]:
        leaf = next(leaves)
        assert leaf.scan == scan
        wanted = [(number, value) for number in scan.columns for value in leaf.values(number)]
        return [row for row in rows[scan.name] if all(row[number] == value is not None for number, value in wanted)]

    found = oracle.evaluate(relation, restricted)
    assert canonical(found) == canonical(oracle.evaluate(relation, lambda scan: rows[scan.name]))


def known(relation: Relation) -> list[dict[int, list[Any]]]:
    """By leaf, what each of its columns has to be."""
    return [
        {number: found for number in leaf.scan.columns if (found := leaf.values(number))}
        for leaf in leaves_of(relation)
    ]


def test_fact_above_a_full_join_reaches_both_sides() -> None:
    full = PartnerJoin(PartnerKind.FULL, A, B, ((column(1), column(3)),))
    for place in (1, 3):
        assert known(Filter(full, equal(column(place), 5))) == [{1: [5]}, {1: [5]}]
    merged = Call("coalesce", (column(1), column(3)), BIGINT)
    assert known(Filter(full, equal(merged, 5))) == [{1: [5]}, {1: [5]}]

    # Both are of the left side: what is on the right need not be the one that is 5.
    either = Call("coalesce", (column(1), column(0)), BIGINT)
    assert known(Filter(full, equal(either, 5))) == [{}, {}]


def test_fact_below_a_full_join_stays_on_its_side() -> None:
    full = PartnerJoin(PartnerKind.FULL, Filter(A, equal(column(1), 5)), B, ((column(1), column(3)),))
    assert known(full) == [{1: [5]}, {}]


def test_fact_about_the_right_side_of_a_left_join_below_it_says_nothing_of_the_left() -> None:
    left = PartnerJoin(PartnerKind.LEFT, A, Filter(B, equal(column(1), 5)), ((column(1), column(3)),))
    assert known(left) == [{}, {1: [5]}]


def test_fact_does_not_cross_an_outer_join_twice() -> None:
    twice = PartnerJoin(PartnerKind.LEFT, A, B, ((column(1), column(3)), (column(0), column(3))))
    assert known(Filter(twice, equal(column(1), 5))) == [{1: [5]}, {1: [5]}]


@pytest.mark.parametrize("kind", [PartnerKind.LEFT, PartnerKind.FULL])
def test_fact_about_a_side_that_may_be_alone_says_nothing_of_its_partner_from_outside(kind: PartnerKind) -> None:
    twice = PartnerJoin(kind, A, B, ((column(0), column(2)), (column(1), column(2))))
    again = PartnerJoin(PartnerKind.LEFT, twice, A, ((column(0), column(4)),))
    assert known(Filter(again, equal(column(0), 5))) == [{0: [5]}, {0: [5]}, {0: [5]}]


def test_fact_about_a_partner_says_what_it_is_the_partner_of() -> None:
    left = PartnerJoin(PartnerKind.LEFT, A, B, ((column(0), column(2)),))
    again = PartnerJoin(PartnerKind.LEFT, left, A, ((column(0), column(4)),))
    assert known(Filter(again, equal(column(2), 5))) == [{0: [5]}, {0: [5]}, {0: [5]}]


def test_fact_goes_all_around_an_inner_join() -> None:
    star = InnerJoin((A, Filter(B, equal(column(1), 5)), A), ((column(1), column(3)), (column(3), column(4))))
    assert known(star) == [{1: [5]}, {1: [5]}, {0: [5]}]


def test_what_holds_for_one_branch_of_a_union_does_not_hold_for_all() -> None:
    union = UnionAll((Filter(A, equal(column(0), 5)), B))
    assert known(InnerJoin((union, A), ((column(0), column(2)),))) == [{0: [5]}, {}, {}]


def test_fact_about_a_group_is_one_about_its_rows_and_one_about_an_aggregate_is_not() -> None:
    groups = Aggregate(A, (0,), (AggregateCall(AggregateKind.MAX, 1, BIGINT),), ("k", "most"))
    assert known(Filter(groups, equal(column(0), 5))) == [{0: [5]}]
    assert known(Filter(groups, equal(column(1), 5))) == [{}]


def test_fact_about_something_computed_is_none() -> None:
    plus = Call("+", (column(1), Literal(1, BIGINT)), BIGINT)
    assert known(Filter(A, equal(plus, 5))) == [{}]
    kept = Call("coalesce", (column(1), Literal(5, BIGINT)), BIGINT)
    outer = PartnerJoin(PartnerKind.LEFT, A, B, ((column(0), column(2)),))
    assert known(Filter(outer, equal(kept, 5))) == [{}, {}]
    assert known(Filter(Project(A, (column(0), kept), ("k", "m")), equal(column(1), 5))) == [{}]
    compared = PartnerJoin(PartnerKind.FULL, A, B, ((kept, column(3)),))
    assert known(Filter(compared, equal(column(3), 5))) == [{}, {1: [5]}]
    # A right row by itself has nothing on its left, which is then taken for 5.
    assert known(Filter(compared, equal(kept, 5))) == [{}, {}]


def test_fact_about_rows_that_are_multiplied_has_to_be_one_about_each_of_them() -> None:
    expand = Expand(A, ((column(0), column(1)), (column(0), Literal(0, BIGINT))), ("k", "m"))
    assert known(Filter(expand, equal(column(0), 5))) == [{0: [5]}]
    assert known(Filter(expand, equal(column(1), 5))) == [{}]


def test_fact_about_one_of_two_conditions_is_none() -> None:
    assert known(Filter(A, Call("or", (equal(column(1), 5), equal(column(0), 5)), BOOLEAN))) == [{}]


def test_fact_about_a_conversion_is_one_about_the_column() -> None:
    small = Scan(1, "S", (4,), (Field("n", INT),))
    wide = Cast(Input(0, INT), BIGINT)
    assert known(Filter(small, equal(wide, 5))) == [{4: [5]}]
    assert known(Filter(small, equal(wide, 1 << 40))) == [{4: [None]}]
    rounded = Cast(Input(0, BIGINT), DOUBLE)
    big = Scan(1, "S", (4,), (Field("n", BIGINT),))
    assert known(Filter(big, Call("=", (rounded, Literal(5.0, DOUBLE)), BOOLEAN))) == [{}]


def test_conversions_that_keep_values_apart() -> None:
    assert all(
        keeps_all(*pair)
        for pair in [(INT, BIGINT), (INT, DOUBLE), (BIGINT, decimal(19, 0)), (DATE, TIMESTAMP), (STRING, STRING)]
    )
    assert keeps_all(decimal(5, 2), decimal(8, 4))
    assert not any(
        keeps_all(*pair)
        for pair in [
            (BIGINT, INT),
            (BIGINT, DOUBLE),
            (BIGINT, decimal(10, 0)),
            (decimal(5, 2), decimal(5, 0)),
            (decimal(5, 2), DOUBLE),
            (TIMESTAMP, DATE),
            (STRING, INT),
            (BOOLEAN, INT),
        ]
    )
