"""`viewkeeper load`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.running import ok, run


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A file of each format with different keys."""
    (tmp_path / "a.csv").write_text("ItemID,Name\n1,a\n2,b\n")
    (tmp_path / "b.jsonl").write_text('{"ItemID": 3, "Price": 9.99}\n')
    parquet.write_table(pa.table({"ItemID": [4, 5, 6]}), tmp_path / "c.parquet")
    return [tmp_path / name for name in ("a.csv", "b.jsonl", "c.parquet")]


def _keys(shop: Path) -> list[int]:
    return [row["ItemID"] for row in run("query", shop, "SELECT ItemID FROM Items", "-f", "json").rows]


def test_one_file_ends_with_rows_seconds_rate_and_position(shop: Path, files: list[Path]) -> None:
    done = run("load", shop, "Items", files[0])
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"2 rows in \d+\.\d\d s, [\d,]+ rows/s, position \w+@2\n", done.out)


def test_several_files_are_loaded_and_summed_up(shop: Path, files: list[Path]) -> None:
    done = run("load", shop, "Items", *files)
    assert done.code == 0
    assert [line.split(":")[0] for line in done.err.splitlines()] == [str(file) for file in files]
    assert re.fullmatch(r"6 rows in .* rows/s, position \w+@6\n", done.out)
    assert _keys(shop) == [1, 2, 3, 4, 5, 6]


def test_a_bad_row_stops_the_load_with_its_place(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text('ItemID,Price\n1,5\n2,"12,50"\n')
    done = run("load", shop, "Items", file)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == (
        f"error[data.bad_row]: {file} line 3, column \"Price\": '12,50' is not DECIMAL(10,2)"
    )
    assert "--skip-bad FILE" in done.err


def test_bad_rows_of_all_files_are_left_out_and_written_to_one_file(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ItemID,Price\n1,x\n2,2\n")
    (tmp_path / "b.csv").write_text("ItemID,Price\n3,3\n4,y\n")
    bad = tmp_path / "bad.jsonl"
    done = run("load", shop, "Items", tmp_path / "a.csv", tmp_path / "b.csv", "--skip-bad", bad)
    assert done.code == 0
    assert f'2 bad rows left out and written to "{bad}"' in done.err
    assert done.out.startswith("2 rows in ")
    assert _keys(shop) == [2, 3]
    lines = [json.loads(line) for line in bad.read_text().splitlines()]
    assert [(Path(line["file"]).name, line["line"], line["raw"]) for line in lines] == [
        ("a.csv", 2, "1,x"),
        ("b.csv", 3, "4,y"),
    ]


def test_rows_that_the_store_refuses_are_bad_rows_too(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "tags.csv"
    file.write_text("docId,tag\n1,a\n1,b\n1,c\n2,a\n")
    done = run("load", shop, "Tags", file)
    assert done.code == 1
    assert f"{file} line 4" in done.err
    done = run("load", shop, "Tags", file, "--skip-bad", tmp_path / "bad.jsonl")
    assert done.code == 0
    assert json.loads((tmp_path / "bad.jsonl").read_text())["line"] == 4
    assert len(run("query", shop, "SELECT * FROM Tags", "-f", "json").rows) == 3


def test_without_a_bad_row_no_file_is_made(shop: Path, files: list[Path], tmp_path: Path) -> None:
    assert run("load", shop, "Items", *files, "--skip-bad", tmp_path / "bad.jsonl").code == 0
    assert not (tmp_path / "bad.jsonl").exists()


def test_a_batch_is_a_transaction(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ItemID\n1\n2\n3\n4\nx\n")
    assert run("load", shop, "Items", tmp_path / "a.csv", "--batch", "2").code == 1
    ends = [line["committed_at"] for line in run("changes", shop, "Items", "-f", "json").rows]
    assert len(ends) == len(_keys(shop))
    assert run("load", shop, "Items", tmp_path / "a.csv", "--batch", "0").code == 2


def test_unknown_columns_are_refused_or_left_out(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ItemID,Colour\n1,red\n")
    done = run("load", shop, "Items", tmp_path / "a.csv")
    assert (done.code, done.err[:34]) == (1, "error[definition.unknown_column]: ")
    assert run("load", shop, "Items", tmp_path / "a.csv", "--ignore-unknown").code == 0
    assert _keys(shop) == [1]


def test_a_table_that_is_not_there_is_named(shop: Path, files: list[Path]) -> None:
    done = run("load", shop, "Nothing", files[0])
    assert (done.code, done.err[:32]) == (1, "error[definition.unknown_table]:")


def test_a_file_that_is_not_there_is_named(shop: Path) -> None:
    done = run("load", shop, "Items", "gone.csv")
    assert (done.code, done.err.splitlines()[0]) == (1, 'error[store.disk]: file "gone.csv" does not exist')


def test_loading_again_changes_nothing(shop: Path, files: list[Path]) -> None:
    first = ok("load", shop, "Items", files[0]).split()[-1]
    assert ok("load", shop, "Items", files[0]).split()[-1] == first
