"""`viewkeeper verify` and `viewkeeper repair`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.cli.running import Done, ok, run
from tests.pipeline.shop import ABOVE, BELOW, TABLE, VIEWS, damages, make_shop, store_of


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales"
    make_shop(path, VIEWS["index"].replace(" V ", " ByAmount "), BELOW, ABOVE["selection above"]).close()
    return path


def damage(path: Path, what: str, name: str) -> None:
    with vk.open(path) as db:
        next(one for one in damages(store_of(db), name) if one.what == what).do(store_of(db))


def objects(done: Done) -> dict[str, dict[str, object]]:
    return {row["view"]: row for row in done.rows}


def test_all_views_are_compared_unless_some_are_named(sales: Path) -> None:
    lines = ok("verify", sales).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["ByAmount", "Below", "V"]
    assert all(line.endswith("equal to its definition") for line in lines)
    assert ok("verify", sales, "V").startswith("V: ")


def test_difference_is_shown_and_is_the_exit_code(sales: Path) -> None:
    damage(sales, "n of Below", "Below")
    done = run("verify", sales, "Below", "ByAmount")
    assert done.code == 1
    assert "1 different" in done.out
    assert "different in Below, shop 'shop 1'" in done.out
    assert "ByAmount: 11 rows" in done.out
    assert done.err == ""


def test_json_is_an_object_a_view(sales: Path) -> None:
    damage(sales, "n of Below", "Below")
    done = run("verify", sales, "--json")
    found = objects(done)
    assert (done.code, list(found)) == (1, ["ByAmount", "Below", "V"])
    assert found["ByAmount"]["ok"] is True
    assert (found["Below"]["ok"], found["Below"]["different"], found["Below"]["missing"]) == (False, 1, 0)
    (example,) = found["Below"]["examples"]  # type: ignore[misc]
    assert example["key"] == {"shop": "shop 1"}
    assert example["stored"]["n"] == example["expected"]["n"] + 1


def test_repair_mends_and_says_what(sales: Path) -> None:
    damage(sales, "n of Below", "Below")
    out = ok("repair", sales, "Below")
    assert "1 different" in out
    assert "Below: repaired at" in out
    assert "1 rows rewritten, 0 removed, 0 added" in out
    assert "nothing to repair" in ok("repair", sales, "Below")
    assert run("verify", sales).code == 0


def test_repair_in_json(sales: Path) -> None:
    damage(sales, "row of ByAmount", "ByAmount")
    done = run("repair", sales, "--json")
    assert done.code == 0
    found = objects(done)
    assert (found["ByAmount"]["added"], found["ByAmount"]["rewritten"], found["Below"]["added"]) == (1, 0, 0)
    assert found["ByAmount"]["before"]["missing"] == 1  # type: ignore[index]
    assert found["Below"]["above"] == []


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL"])
def test_view_beside_the_tables_is_compared_and_mended(tmp_path: Path, mode: str) -> None:
    parted = f"{TABLE.rstrip()} PARTITIONED BY HASH (id) INTO 2"
    path = tmp_path / "sales"
    make_shop(path, BELOW.replace("VIEW Below", f"VIEW Below MAINTAIN {mode}"), table=parted).close()
    damage(path, "n of Below", "Below")
    done = run("verify", path)
    assert done.code == 1
    assert "1 different" in done.out
    assert "1 rows rewritten, 0 removed, 0 added" in ok("repair", path)
    assert run("verify", path).code == 0


@pytest.mark.parametrize("command", ["verify", "repair"])
def test_unknown_view_is_told(sales: Path, command: str) -> None:
    done = run(command, sales, "Nothing")
    assert (done.code, done.out) == (1, "")
    assert "definition.unknown_table" in done.err
    assert "Views here: Below, ByAmount, V." in done.err


@pytest.mark.parametrize("command", ["verify", "repair"])
def test_database_without_views_has_nothing_to_say(shop: Path, command: str) -> None:
    assert ok(command, shop) == ""


def test_json_object_has_what_the_page_says(sales: Path) -> None:
    (row,) = run("verify", sales, "V", "--json").rows
    assert json.dumps(row["auxiliary"]) == "{}"
    assert (row["errors"], row["errors_counted"]) == (0, 0)
