"""What can be loaded and what cannot; how much is held in memory meanwhile."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.load.reading import ORDERS, rows_of, written
from viewkeeper.errors import BadRow, DiskError, ViewkeeperError, WrongType
from viewkeeper.load import FORMATS, open_source
from viewkeeper.load import batch as batch_module
from viewkeeper.load.meter import Meter
from viewkeeper.load.parquet import blocks_of_parquet


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match=r'file ".*gone.csv" does not exist') as caught:
        open_source(tmp_path / "gone.csv", ORDERS)
    assert all(suffix in caught.value.hint for suffix in FORMATS)


def test_a_folder_is_refused_with_the_formats(tmp_path: Path) -> None:
    with pytest.raises(WrongType, match="is a folder") as caught:
        open_source(tmp_path, ORDERS)
    assert ".parquet" in caught.value.hint


@pytest.mark.parametrize("name", ["orders.xlsx", "orders", "orders.csv.zip", "orders.parquet.gz"])
def test_an_unknown_suffix_is_refused_with_the_formats(name: str, tmp_path: Path) -> None:
    with pytest.raises(WrongType, match="is none of the files that can be loaded") as caught:
        open_source(written(tmp_path / name, "x"), ORDERS)
    assert ".jsonl" in caught.value.hint


@pytest.mark.parametrize("source", [{"OrderID": 1}, 5, None, b"OrderID\n1\n", pa.array([1]), pa.chunked_array([[1]])])
def test_what_is_no_source_is_refused_with_what_is(source: Any) -> None:
    with pytest.raises(ViewkeeperError):
        rows_of(source, ORDERS)


def test_one_dict_is_not_taken_for_rows() -> None:
    with pytest.raises(WrongType, match=r"cannot load from dict \{'OrderID': 1\}") as caught:
        open_source({"OrderID": 1}, ORDERS)
    assert "list of dicts" in caught.value.hint


def test_a_batch_of_no_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_rows is 0"):
        open_source([], ORDERS, batch_rows=0)


def test_a_file_that_only_claims_to_be_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongType, match="is not a Parquet file"):
        rows_of(written(tmp_path / "o.parquet", "OrderID\n1\n" * 10), ORDERS)


def test_a_damaged_parquet_file_names_the_last_good_row(tmp_path: Path) -> None:
    path = tmp_path / "o.parquet"
    parquet.write_table(pa.table({"OrderID": list(range(20_000))}), path, row_group_size=10_000)
    second = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    start = second.dictionary_page_offset
    data[start : start + 64] = b"\xff" * 64
    path.write_bytes(data)
    with pytest.raises(DiskError, match=r"o.parquet cannot be read behind row 10,000"):
        rows_of(path, ORDERS, batch_rows=1000)


@pytest.mark.parametrize("data", [b"OrderID\n1\n", gzip.compress(b"OrderID\n1\n" * 1000)[:-12]])
def test_a_damaged_gzip_file_is_a_clear_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DiskError, match=r"o.csv.gz is not a whole gzip file"):
        rows_of(written(tmp_path / "o.csv.gz", data), ORDERS)


def test_a_json_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewkeeper.load.jsonl.LINE_BYTES", 1 << 20)
    with pytest.raises(BadRow, match="line 1: the line is longer than 1 MB"):
        rows_of(written(tmp_path / "o.jsonl", '{"OrderID": 1, "Note": "' + "x" * (2 << 20)), ORDERS)


def test_an_error_of_the_rows_comes_through() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"OrderID": 1}
        raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        rows_of(rows(), ORDERS)


def _many(path: Path, rows: int) -> Path:
    """A file of the kind that its suffix says, with many rows."""
    notes = [f"note {number:060}" for number in range(rows)]
    if path.suffix == ".parquet":
        parquet.write_table(pa.table({"OrderID": list(range(rows)), "Note": notes}), path, use_dictionary=False)
    elif path.suffix == ".csv":
        path.write_text("OrderID,Note\n" + "".join(f'{number},"{note}"\n' for number, note in enumerate(notes)))
    else:
        path.write_text("".join(f'{{"OrderID":{number},"Note":"{note}"}}\n' for number, note in enumerate(notes)))
    return path


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_batches_have_the_rows_asked_for(suffix: str, tmp_path: Path) -> None:
    path = _many(tmp_path / f"o.{suffix}", 60_000)
    sizes = [batch.data.num_rows for batch in open_source(path, ORDERS, batch_rows=7_000)]
    assert sizes == [7_000] * 8 + [4_000]


@pytest.mark.parametrize(("suffix", "rows"), [("csv", 150_000), ("jsonl", 30_000), ("parquet", 150_000)])
def test_a_file_is_never_held_whole(suffix: str, rows: int, tmp_path: Path) -> None:
    path = _many(tmp_path / f"o.{suffix}", rows)
    whole = rows * 70
    most_arrow = 0
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        for _ in open_source(path, ORDERS, batch_rows=1_000):
            most_arrow = max(most_arrow, pa.total_allocated_bytes() - before)
        most_python = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most_arrow < whole / 2
    assert most_python < whole * 2 / 3


def test_a_generator_is_read_only_as_far_as_batches_are_taken() -> None:
    taken = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(1_000_000):
            taken += 1
            yield {"OrderID": number}

    batches = iter(open_source(rows(), ORDERS, batch_rows=100))
    next(batches)
    next(batches)
    assert taken <= 300


def test_wide_rows_make_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"OrderID": number, "Note": "x" * 1000} for number in range(100)]
    batches = list(batch_module.even(open_source(rows, ORDERS, batch_rows=5), 1_000, most_bytes=20_000))
    assert all(15 <= batch.data.num_rows <= 25 for batch in batches)
    assert sum(batch.data.num_rows for batch in batches) == 100


def test_wide_parquet_rows_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    table = pa.table({"OrderID": list(range(100)), "Label": [bytes([n]) * 400_000 for n in range(100)]})
    parquet.write_table(table, tmp_path / "o.parquet", use_dictionary=False, compression="none", write_batch_size=4)
    before = pa.total_allocated_bytes()
    rows = most = 0
    for block in blocks_of_parquet(tmp_path / "o.parquet", "o", ORDERS, 10_000, Meter(), ignore_unknown=False):
        rows += len(block.converted[0][0])
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 100
    assert most < table.nbytes / 2


def test_the_part_read_grows_to_all_of_it(tmp_path: Path) -> None:
    for suffix in ("csv", "jsonl", "parquet"):
        source = open_source(_many(tmp_path / f"o.{suffix}", 60_000), ORDERS, batch_rows=1000)
        parts = [source.fraction() or 0.0 for _ in source]
        assert parts == sorted(parts)
        assert parts[0] < 1.0
        assert source.fraction() == 1.0
    rows = open_source([{"OrderID": 1}], ORDERS)
    assert rows.fraction() is None


def test_a_bad_row_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    really = Path.open

    def noted(path: Path, *args: Any, **given: Any) -> Any:
        opened.append(really(path, *args, **given))
        return opened[-1]

    path = written(tmp_path / "o.jsonl", '{"OrderID": 1}\n{"OrderID": "x"}\n')
    monkeypatch.setattr(Path, "open", noted)
    # The error is kept, and with it the frames of the generators that were at work.
    with pytest.raises(BadRow) as kept:
        list(open_source(path, ORDERS))
    assert kept.value.message
    assert [file.closed for file in opened] == [True]
