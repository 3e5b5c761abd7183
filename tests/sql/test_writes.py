"""INSERT, UPDATE and DELETE: cells by column id, and the checks that need no stored row."""

from __future__ import annotations

import pytest

from tests.sql.tables import Catalog, catalog, points
from viewkeeper.errors import MissingColumn, NullKey, SqlSyntax, UnknownColumn, UnknownTable, WrongType
from viewkeeper.sql.bind import bind
from viewkeeper.sql.parse import parse
from viewkeeper.sql.statements import Delete, Insert, KeyRange, Update


def test_insert_takes_columns_in_the_order_of_the_text() -> None:
    statement = catalog().one("INSERT INTO k (c, A, b) VALUES (1.5, 2, 'x'), (0, -3, '')")
    assert statement == Insert(table="k", rows=({2: 1.5, 0: 2, 1: "x"}, {2: 0.0, 0: -3, 1: ""}))


def test_insert_without_columns_takes_all_in_the_order_of_the_table() -> None:
    assert catalog().one("INSERT INTO TABLE K VALUES (1, 'x', 2, NULL)") == Insert(
        table="k", rows=({0: 1, 1: "x", 2: 2.0, 3: None},)
    )


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("INSERT INTO k (a, b) VALUES (1, 'x')", NullKey, 'key column "c" of table "k" is not given'),
        ("INSERT INTO k VALUES (1, NULL, 2, 3)", NullKey, 'key column "b" of table "k" is NULL'),
        ("INSERT INTO Items (ItemID) VALUES (1)", MissingColumn, 'column "Live" of table "Items" is NOT NULL'),
        ("INSERT INTO Items (ItemID, Live) VALUES (1, NULL)", WrongType, "is NOT NULL, found NULL"),
        ("INSERT INTO k (a, b, c, d) VALUES (1, 'x', 2, 3)", UnknownColumn, 'column "d" is not in table "k"'),
        ("INSERT INTO k (a, b, c, A) VALUES (1, 'x', 2, 3)", SqlSyntax, 'column "A" is given twice'),
        ("INSERT INTO k VALUES (1, 'x', 2, 3), (1, 'x')", SqlSyntax, "column 38: expected 4 values, found 2"),
        ("INSERT INTO nowhere VALUES (1)", UnknownTable, "nowhere"),
        ("UPDATE Items SET Live = NULL WHERE ItemID = 1", WrongType, "is NOT NULL, found NULL"),
        ("UPDATE k SET v = 1, V = 2 WHERE a = 1", SqlSyntax, 'column "V" is given twice'),
        ("UPDATE k SET d = 1 WHERE a = 1", UnknownColumn, 'column "d" is not in table "k"'),
        ("UPDATE nowhere SET d = 1 WHERE a = 1", UnknownTable, "nowhere"),
        ("DELETE FROM nowhere", UnknownTable, "nowhere"),
    ],
)
def test_what_does_not_fit_its_table_is_refused(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        catalog().run(text)


@pytest.mark.parametrize("text", ["INSERT INTO k VALUES (?, 'x', 1, 2)", "INSERT INTO k (b, c, a) VALUES ('x', 1, ?)"])
def test_null_in_a_key_is_found_in_a_parameter_too(text: str) -> None:
    with pytest.raises(NullKey, match='key column "a"'):
        catalog().run(text, [None])


def test_update_sets_cells_by_id_for_the_keys_of_its_condition() -> None:
    statement = catalog().one("UPDATE k SET v = NULL WHERE a = 1 AND b = 'x' AND c = 2")
    assert statement == Update(table="k", where=points((1, "x", 2.0)), cells={3: None})
    statement = catalog().one(
        "UPDATE items SET Name = :n, price = 1.5 WHERE ItemID IN (:ids)", {"n": "a", "ids": [9, 7]}
    )
    assert statement == Update(table="Items", where=points((7,), (9,)), cells={1: "a", 2: 150})


def test_delete_takes_a_condition_or_every_key() -> None:
    assert catalog().one("DELETE FROM k") == Delete(table="k", where=points(()))
    assert catalog().one("DELETE FROM k WHERE k.a = 1 AND b > 'x'") == Delete(
        table="k", where=(KeyRange(prefix=(1,), lower="x", lower_inclusive=False),)
    )


def test_rows_of_one_binding_are_not_those_of_the_next() -> None:
    tables = Catalog("CREATE TABLE t (a INT PRIMARY KEY)")
    (parsed,) = parse("INSERT INTO t VALUES (1)")
    first, second = bind(parsed, tables.find, None), bind(parsed, tables.find, None)
    assert isinstance(first, Insert)
    first.rows[0][0] = 2
    assert second == Insert(table="t", rows=({0: 1},))
