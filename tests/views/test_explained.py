"""What a view says of how it is maintained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.cli.running import run

TABLES = """
CREATE TABLE Events (ID BIGINT PRIMARY KEY, ProdID BIGINT, Cost INT, Note STRING);
CREATE TABLE Products (ID BIGINT PRIMARY KEY, CatID BIGINT, Name STRING);
CREATE TABLE Categories (ID BIGINT PRIMARY KEY, Name STRING);
"""
STAR = (
    "SELECT c.Name, SUM(e.Cost) AS total FROM Events e JOIN Products p ON e.ProdID = p.ID"
    " JOIN Categories c ON p.CatID = c.ID GROUP BY c.Name"
)
PAIR = "SELECT p.Name, COUNT(*) AS n FROM Events e JOIN Products p ON e.ProdID = p.ID GROUP BY p.Name"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        db.put("Products", {"ID": 1, "CatID": 2, "Name": "lamp"})
        db.put("Events", {"ID": 1, "ProdID": 1, "Cost": 3})
        db.execute(f"CREATE VIEW Star AS {STAR}")
        db.execute(f"CREATE VIEW Pair AS {PAIR}")
        db.maintain()
        yield db


def test_each_side_is_looked_up_by_what_it_is_joined_on(db: vk.Database) -> None:
    found = db.explain_view("star")
    assert [(index.side, index.by) for index in found.indexes] == [
        ("Products", ("ID",)),
        ("Categories", ("ID",)),
        ("Events", ("ProdID",)),
        ("Products", ("CatID",)),
    ]
    assert found.terms == (
        "Events → Products → Categories",
        "Products → Categories → Events",
        "Categories → Products → Events",
    )


def test_only_columns_in_use_are_told(db: vk.Database) -> None:
    columns = {index.side: set(index.columns) for index in db.explain_view("Pair").indexes}
    assert columns == {"Events": {"ProdID", "ID"}, "Products": {"ID", "Name"}}


def test_those_who_share_an_index_are_named(db: vk.Database) -> None:
    shared = {(index.side, index.by): index.shared_with for index in db.explain_view("Star").indexes}
    assert shared["Products", ("ID",)] == shared["Events", ("ProdID",)] == ("Pair",)
    assert shared["Products", ("CatID",)] == ()


def test_how_large_batches_meet_an_index_depends_on_its_size(db: vk.Database) -> None:
    for index in db.explain_view("Pair").indexes:
        assert index.rows == 1
        assert set(index.met_by.values()) == {"scan"}


def test_a_view_of_one_table_has_no_index(db: vk.Database) -> None:
    db.execute("CREATE VIEW Plain AS SELECT ProdID, COUNT(*) AS n FROM Events GROUP BY ProdID")
    found = db.explain_view("Plain")
    assert (found.indexes, found.terms) == ((), ())
    assert found.key == ("ProdID",)
    assert "Aggregate by (ProdID)" in str(found)


def test_joins_by_partner_and_sub_queries_are_told_too(db: vk.Database) -> None:
    db.execute(
        "CREATE VIEW Alone AS SELECT p.ID, g.n FROM Products p LEFT JOIN"
        " (SELECT ProdID, COUNT(*) AS n FROM Events GROUP BY ProdID) g ON p.ID = g.ProdID"
    )
    found = db.explain_view("Alone")
    assert [index.side for index in found.indexes] == ["Products", "(Events)"]
    assert found.terms == ("Products → (Events), (Events) → Products (left)",)


def test_unknown_views_are_told(db: vk.Database) -> None:
    with pytest.raises(vk.UnknownTable, match="Nothing"):
        db.explain_view("Nothing")


def test_the_command_prints_the_same(db: vk.Database, tmp_path: Path) -> None:
    printed = run("explain", tmp_path / "db", "Star")
    assert printed.out.rstrip("\n") == str(db.explain_view("Star"))
    as_json = json.loads(run("explain", tmp_path / "db", "Star", "--json").out)
    assert [index["side"] for index in as_json["indexes"]] == ["Products", "Categories", "Events", "Products"]
