"""Names: any word that is not reserved, and anything in quotes."""

from __future__ import annotations

import pytest

from tests.sql.tables import Catalog, points
from viewkeeper.errors import SqlSyntax
from viewkeeper.sql.dialect import Viewkeeper
from viewkeeper.sql.reader import RESERVED

WORDS = {word.lower() for word in Viewkeeper.Tokenizer.KEYWORDS if word.isidentifier()} | {
    *("name", "type", "parent", "code", "timestamp", "tag", "docid", "title", "body", "url", "status", "level", "size"),
    *("hash", "cardinality", "partitioned", "split", "at", "temporal", "primary", "key", "column", "add", "into", "by"),
    *("maintain", "deferred", "sync", "lazy", "every", "periodic", "position", "group", "order", "file", "jar", "user"),
    *(
        "x",
        "n",
        "b",
        "r",
        "e",
        "u",
        "count",
        "sum",
        "min",
        "max",
        "avg",
        "rank",
        "day",
        "year",
        "nulls",
        "first",
        "last",
    ),
}
FREE = sorted(WORDS - {word.lower() for word in RESERVED})


def _uses(name: str) -> Catalog:
    """Everything that can be done with a column and a table of one name."""
    tables = Catalog(f"CREATE TABLE {name} (id INT, {name} INT, PRIMARY KEY (id, {name}))")
    run = tables.one
    both = points((1, 2))
    assert run(f"INSERT INTO {name} (id, {name}) VALUES (1, 2)").rows == ({0: 1, 1: 2},)
    assert run(f"SELECT {name} FROM {name}").columns[0][1] == 1
    assert run(f"SELECT {name}, id FROM {name} LIMIT :n", {"n": 1}).columns[0][1] == 1
    assert run(f"SELECT id, {name}.{name} AS {name} FROM {name}").columns[1][1] == 1
    assert run(f"SELECT * FROM {name} WHERE id = 1 AND {name} = 2 ORDER BY {name} DESC LIMIT 1").where == both
    assert run(f"SELECT * FROM {name} WHERE 2 = {name} AND {name} IN (2, 3) AND id = 1 ORDER BY id").where == both
    assert run(f"SELECT * FROM {name} WHERE ({name} = :v) AND id = 1", {"v": 2}).where == both
    assert run(f"SELECT * FROM {name} WHERE {name} IN ? AND id = ?", [[2], 1]).where == both
    assert run(f"DELETE FROM {name} WHERE id = 1 AND {name} = 2").where == both
    (between,) = run(f"DELETE FROM {name} WHERE {name} BETWEEN 1 AND 2 AND {name} > 0 AND id = 1").where
    assert (between.lower, between.upper) == (1, 2)
    tables.run(f"DROP TABLE {name}; ALTER TABLE {name} ADD COLUMN {name}_2 INT")
    tables.run(f"CREATE TABLE other (id INT PRIMARY KEY, {name} INT)")
    assert run(f"UPDATE other SET {name} = 5 WHERE id = 1").cells == {1: 5}
    return tables


@pytest.mark.parametrize("name", FREE)
def test_a_word_that_is_not_reserved_is_a_name_everywhere(name: str) -> None:
    _uses(name)
    _uses(name.capitalize())


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_reserved_word_is_a_name_in_quotes_only(name: str) -> None:
    with pytest.raises(SqlSyntax, match="expected a column name, found") as caught:
        Catalog(f"CREATE TABLE t (id INT PRIMARY KEY, {name} INT)")
    assert caught.value.hint == f"{name} is a reserved word; as a name write `{name}`, quoted."
    tables = Catalog(f"CREATE TABLE t (id INT PRIMARY KEY, `{name}` INT)")
    assert tables.one(f'SELECT "{name}" FROM t').columns == ((name, 1),)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("`a b`", "a b"),
        ('"a b"', "a b"),
        ("`a``b`", "a`b"),
        ('"a""b"', 'a"b'),
        ('`a"b`', 'a"b'),
        ("é", "é"),
        ("_1", "_1"),
    ],
)
def test_quotes_are_doubled_inside_quotes(written: str, name: str) -> None:
    tables = Catalog(f"CREATE TABLE t ({written} INT PRIMARY KEY)")
    assert tables.find("t").column_names == (name,)
    assert tables.one(f"SELECT {written} FROM t WHERE {written} = 1").columns == ((name, 0),)


def test_names_are_compared_without_case_in_quotes_too() -> None:
    tables = Catalog("CREATE TABLE T (Name STRING PRIMARY KEY)")
    assert tables.one("SELECT `NAME` FROM t WHERE \"name\" = 'x'").columns == (("NAME", 0),)
