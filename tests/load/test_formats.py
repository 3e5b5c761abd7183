"""Every format gives the same cells for the same rows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.load.reading import ORDERS, rows_of, written
from viewkeeper.model.arrow import table_schema

ROWS: list[dict[str, Any]] = [
    {
        "OrderID": 1,
        "Note": 'two\nlines, "quoted"',
        "Price": Decimal("12.50"),
        "Paid": True,
        "Pieces": -3,
        "Weight": 0.1,
        "Label": b"\x00\xff",
        "Day": date(2024, 2, 29),
        "At": datetime(2024, 1, 1, 10, 0, 0, 5, tzinfo=UTC),
    },
    {"OrderID": 2**63 - 1, "Note": "", "Price": None, "Paid": None, "Pieces": None, "Weight": None, "Label": b"",
     "Day": None, "At": None},
    {"OrderID": -5, "Note": None, "Price": Decimal("-99999999.99"), "Paid": False, "Pieces": 2**31 - 1, "Weight": -0.0,
     "Label": None, "Day": date(1, 1, 1), "At": datetime(1, 1, 1, tzinfo=UTC)},
]  # fmt: skip
CELLS: list[dict[str, Any]] = [
    {"OrderID": 1, "Note": 'two\nlines, "quoted"', "Price": 1250, "Paid": True, "Pieces": -3, "Weight": 0.1,
     "Label": b"\x00\xff", "Day": 19_782, "At": 1_704_103_200_000_005},
    {"OrderID": 2**63 - 1, "Note": "", "Price": None, "Paid": None, "Pieces": None, "Weight": None, "Label": b"",
     "Day": None, "At": None},
    {"OrderID": -5, "Note": None, "Price": -9_999_999_999, "Paid": False, "Pieces": 2**31 - 1, "Weight": -0.0,
     "Label": None, "Day": -719_162, "At": -62_135_596_800_000_000},
]  # fmt: skip

CSV = """\
OrderID,Note,Price,Paid,Pieces,Weight,Label,Day,At
1,"two
lines, ""quoted""\",12.50,true,-3,0.1,00ff,2024-02-29,2024-01-01T10:00:00.000005Z
9223372036854775807,"",,,"",,"",,
-5,,-99999999.99,0,2147483647,-0.0,,0001-01-01,0001-01-01
"""


def _json(row: dict[str, Any]) -> str:
    """Numbers as JSON writes them, the rest as texts."""
    values = {
        name: value.hex() if isinstance(value, bytes) else value.isoformat() if isinstance(value, date) else value
        for name, value in row.items()
    }
    price = values["Price"]
    return json.dumps(values | {"Price": "P"}).replace('"P"', "null" if price is None else str(price))


JSONL = "".join(_json(row) + "\n" for row in ROWS)


def _table() -> pa.Table:
    return pa.Table.from_pylist(ROWS, schema=table_schema(ORDERS))


def _parquet(folder: Path, rows: int | None = None) -> Path:
    parquet.write_table(_table().slice(0, rows), folder / "orders.parquet")
    return folder / "orders.parquet"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "rows": lambda _: ROWS,
    "generator": lambda _: (row for row in ROWS),
    "csv": lambda folder: written(folder / "orders.csv", CSV),
    "csv.gz": lambda folder: written(folder / "orders.csv.gz", gzip.compress(CSV.encode())),
    "upper case": lambda folder: written(folder / "ORDERS.CSV", CSV),
    "jsonl": lambda folder: written(folder / "orders.jsonl", JSONL),
    "jsonl.gz": lambda folder: written(folder / "orders.jsonl.gz", gzip.compress(JSONL.encode())),
    "ndjson as str": lambda folder: str(written(folder / "orders.ndjson", JSONL)),
    "parquet": _parquet,
    "table": lambda _: _table(),
    "record batch": lambda _: _table().combine_chunks().to_batches()[0],
    "reader": lambda _: _table().to_reader(max_chunksize=1),
}


@pytest.mark.parametrize("rows", [1, 2, 10_000])
@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_cells(kind: str, rows: int, tmp_path: Path) -> None:
    found = rows_of(SOURCES[kind](tmp_path), ORDERS, batch_rows=rows)
    assert found == CELLS
    assert str(found[2]["Weight"]) == "-0.0"


def test_an_object_with_an_arrow_stream_is_read_as_arrow() -> None:
    class Frame:
        """What a data frame of another library looks like from here."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return _table().__arrow_c_stream__(requested_schema)

        def __iter__(self) -> Any:
            raise AssertionError("iterated, though it gives Arrow batches")

    assert rows_of(Frame(), ORDERS) == CELLS


def test_columns_are_found_without_case_and_named_as_in_the_table() -> None:
    assert rows_of([{"ORDERID": 1, "note": "n"}], ORDERS) == [{"OrderID": 1, "Note": "n"}]
    assert rows_of(pa.table({"orderid": [1], "NOTE": ["n"]}), ORDERS) == [{"OrderID": 1, "Note": "n"}]


def test_columns_that_the_source_does_not_give_are_left_out(tmp_path: Path) -> None:
    assert rows_of(written(tmp_path / "o.csv", "Price,OrderID\n1,2\n"), ORDERS) == [{"OrderID": 2, "Price": 100}]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet", "table", "reader", "rows"])
def test_a_source_without_rows_gives_no_batch(kind: str, tmp_path: Path) -> None:
    empty: dict[str, Callable[[Path], Any]] = {
        "csv": lambda folder: written(folder / "o.csv", "OrderID,Note\n"),
        "csv.gz": lambda folder: written(folder / "o.csv.gz", gzip.compress(b"OrderID")),
        "jsonl": lambda folder: written(folder / "o.jsonl", "\n\n"),
        "parquet": lambda folder: (
            parquet.write_table(_table().slice(0, 0), folder / "o.parquet") or folder / "o.parquet"
        ),
        "table": lambda _: _table().slice(0, 0),
        "reader": lambda _: _table().slice(0, 0).to_reader(),
        "rows": lambda _: [],
    }
    assert rows_of(empty[kind](tmp_path), ORDERS) == []


def test_parquet_of_other_compression_and_encoding_is_read(tmp_path: Path) -> None:
    table = _table().set_column(1, "Note", _table()["Note"].dictionary_encode())
    parquet.write_table(table, tmp_path / "o.parquet", compression="zstd", row_group_size=1, version="1.0")
    assert rows_of(tmp_path / "o.parquet", ORDERS) == CELLS
