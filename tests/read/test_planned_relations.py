"""A relation that is compiled once and run often, against the oracle and against what plans it for each run."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import oracle
from tests.execute import plans
from tests.execute.driving import canonical
from tests.execute.joinplans import joinplans
from tests.execute.test_evaluate import tables
from viewkeeper.execute.recompute import recompute
from viewkeeper.execute.rows.parameters import parameters
from viewkeeper.model.types import BIGINT, BOOLEAN, DOUBLE, INT
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Call, Input, Parameter
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Aggregate, Distinct, Field, Filter, Project, Relation, Scan, scans
from viewkeeper.plan.whole import Frame, Sort, TopN, Window, WindowCall, WindowKind
from viewkeeper.read.compiled import compiled

_QUIET = settings(max_examples=400, suppress_health_check=list(HealthCheck))
_FRAME = Frame(False, None, 0)
LEFT = Scan(1, "A", (0, 1), (Field("id", BIGINT), Field("k", BIGINT)))


@_QUIET
@given(relation=joinplans(), rows=tables(), others=tables())
def test_a_compiled_join_gives_each_time_what_the_oracle_says(
    relation: Relation, rows: dict[str, list[tuple[Any, ...]]], others: dict[str, list[tuple[Any, ...]]]
) -> None:
    run = compiled(relation)
    for one in (rows, others):
        found = run([one[scan.name] for scan in scans(relation)])
        assert canonical(found) == canonical(oracle.evaluate(relation, lambda scan, one=one: one[scan.name]))


@_QUIET
@given(relation=plans.plans(1), rows=st.lists(plans.rows(), max_size=8))
def test_a_compiled_plan_of_one_table_gives_what_the_oracle_says(
    relation: Relation, rows: list[tuple[Any, ...]]
) -> None:
    found = compiled(relation)([rows])
    assert canonical(found) == canonical(oracle.evaluate(relation, lambda _: rows))


@st.composite
def _nested(draw: st.DrawFn) -> Relation:
    """What needs all rows, below and above what does not."""
    relation: Relation = draw(joinplans())
    places = st.integers(0, len(relation.fields) - 1)
    for _ in range(draw(st.integers(1, 2))):
        order = tuple(Sort(draw(places), draw(st.booleans())) for _ in range(draw(st.integers(0, 2))))
        if draw(st.booleans()):
            relation = TopN(relation, order, draw(st.sampled_from([None, 0, 1, 3])), draw(st.integers(0, 2)))
        else:
            call = WindowCall(WindowKind.ROW_NUMBER, None, (draw(places),), order, _FRAME, INT)
            relation = Window(relation, (call,), ("n",))
        if draw(st.booleans()):
            relation = Filter(relation, draw(plans.conditions(relation.fields)))
    return relation


@_QUIET
@given(relation=_nested(), rows=tables())
def test_the_first_rows_and_windows_are_those_of_a_recompute(
    relation: Relation, rows: dict[str, list[tuple[Any, ...]]]
) -> None:
    given = [rows[scan.name] for scan in scans(relation)]
    picked = [
        [tuple(row[column] for column in scan.columns) for row in part]
        for scan, part in zip(scans(relation), given, strict=True)
    ]
    assert canonical(compiled(relation)(given)) == canonical(recompute(relation, picked)[0])


def test_percentiles_are_computed_from_all_rows() -> None:
    scan = Scan(1, "A", (0, 1), (Field("g", BIGINT), Field("x", DOUBLE)))
    calls = (
        AggregateCall(AggregateKind.PERCENTILE, 1, DOUBLE, fraction=0.5),
        AggregateCall(AggregateKind.COUNT_ROWS, None, BIGINT),
    )
    run = compiled(Aggregate(scan, (0,), calls, ("g", "m", "n")))
    assert sorted(run([[(1, 1.0), (1, 3.0), (2, None)]])) == [(1, 2.0, 2), (2, None, 1)]
    assert run([[]]) == []


def test_rows_stay_in_the_order_in_which_they_came() -> None:
    rows = [(number * 7 % 10, number % 3) for number in range(10)]
    few = Filter(LEFT, Call(">", (Input(0, BIGINT), Parameter("n", BIGINT)), BOOLEAN))
    join = PartnerJoin(PartnerKind.LEFT, few, LEFT, ((Input(1, BIGINT), Input(2, BIGINT)),))
    run = compiled(Project(join, (Input(3, BIGINT), Input(0, BIGINT)), ("a", "b")))
    with parameters({("n", None): 4}):
        assert [row[1] for row in run([rows, [(1, 1)]])] == [row[0] for row in rows if row[0] > 4]
    with parameters({("n", None): 100}):
        assert run([rows, rows]) == []


def test_an_inner_join_shows_its_inputs_in_their_order_whatever_links_them() -> None:
    """The second input is linked to the third alone."""
    pairs = ((Input(0, BIGINT), Input(4, BIGINT)), (Input(2, BIGINT), Input(5, BIGINT)))
    run = compiled(InnerJoin((LEFT, LEFT, LEFT), pairs))
    assert run([[(1, 10), (2, 20)], [(7, 70)], [(1, 7), (2, 8)]]) == [(1, 10, 7, 70, 1, 7)]


def test_numbers_that_are_the_same_to_sql_are_the_same_here() -> None:
    """Each NaN is an object of its own, as rows that are read have it."""
    scan = Scan(1, "A", (0,), (Field("x", DOUBLE),))
    doubles = [(float("nan"),), (-0.0,), (None,), (1.0,)]
    others = [(float("nan"),), (0.0,), (None,)]
    join = InnerJoin((scan, scan), ((Input(0, DOUBLE), Input(1, DOUBLE)),))
    assert repr(compiled(join)([doubles, others])) == "[(nan, nan), (-0.0, 0.0)]"
    assert repr(compiled(Distinct(scan))([[*doubles, *others]])) == "[(nan,), (0.0,), (None,), (1.0,)]"


def test_a_row_may_have_more_columns_than_are_read_and_more_next_time() -> None:
    run = compiled(InnerJoin((LEFT, LEFT), ((Input(0, BIGINT), Input(2, BIGINT)),)))
    assert run([[(1, 2, "x")], [(1, 3)]]) == [(1, 2, 1, 3)]
    assert run([[(1, 2)], [(1, 3, b"y", None)]]) == [(1, 2, 1, 3)]
