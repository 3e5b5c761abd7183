"""Rows that give different columns: what a row does not give is not touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.load.reading import ORDERS, TAGS, places_of, rows_of, written
from viewkeeper.load import open_source
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import INT, TIMESTAMP


def _merged(rows: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """What the rows leave behind, each put in its turn."""
    state: dict[Any, dict[str, Any]] = {}
    for row in rows:
        state.setdefault(row["OrderID"], {}).update(row)
    return state


ROW = st.fixed_dictionaries(
    {"OrderID": st.integers(1, 4)},
    optional={"Note": st.none() | st.text("ab", max_size=2), "Pieces": st.none() | st.integers(0, 9)},
)


@given(st.lists(ROW, max_size=12), st.integers(1, 6))
def test_ragged_rows_leave_what_putting_them_one_by_one_leaves(rows: list[dict[str, Any]], size: int) -> None:
    found = rows_of(rows, ORDERS, batch_rows=size)
    assert len(found) == len(rows)
    assert _merged(found) == _merged(rows)


def test_a_column_that_a_row_does_not_give_is_not_in_its_batch() -> None:
    rows = [{"OrderID": 1, "Note": "a"}, {"OrderID": 2}, {"OrderID": 3, "Note": None}]
    batches = list(open_source(rows, ORDERS))
    assert [batch.data.to_pylist() for batch in batches] == [
        [{"Note": "a", "OrderID": 1}, {"Note": None, "OrderID": 3}],
        [{"OrderID": 2}],
    ]
    assert [batch.origin.place(0) for batch in batches] == ["row 1", "row 2"]
    assert batches[0].origin.place(1) == "row 3"


def test_rows_of_few_shapes_make_few_batches() -> None:
    rows = [{"OrderID": n, "Note": "a"} if n % 2 else {"OrderID": n} for n in range(1000)]
    assert len(list(open_source(rows, ORDERS))) == 2


def test_the_order_of_the_names_does_not_make_another_shape() -> None:
    rows = [{"OrderID": 1, "Note": "a"}, {"Note": "b", "OrderID": 2}]
    assert [batch.data.num_rows for batch in open_source(rows, ORDERS)] == [2]


def test_rows_of_one_key_stay_in_order_even_if_the_key_is_written_differently(tmp_path: Path) -> None:
    table = Table(
        name="T",
        columns=(Column(name="at", type=TIMESTAMP), Column(name="n", type=INT), Column(name="m", type=INT)),
        primary_key=("at",),
    )
    lines = [
        '{"at": "2024-01-01", "n": 1}',
        '{"at": "2024-01-01T00:00Z", "n": 2, "m": 2}',
        '{"at": "2024-01-01", "n": 3}',
    ]
    path = written(tmp_path / "t.jsonl", "\n".join(lines))
    assert [row["n"] for row in rows_of(path, table)] == [1, 2, 3]


def test_places_of_ragged_lines_are_their_own(tmp_path: Path) -> None:
    lines = ['{"docId": 1, "tag": "a"}', '{"docId": 1, "tag": "b", "weight": 2}', '{"docId": 2, "tag": "a"}']
    path = written(tmp_path / "t.jsonl", "\n".join(lines))
    assert places_of(path, TAGS) == [f"{path} line {line}" for line in (1, 3, 2)]
