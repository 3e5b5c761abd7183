"""CREATE TABLE: columns, types, keys, partitions, limits."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.sql.tables import Catalog
from viewkeeper.errors import BadDefinition, OutOfRange, UnknownColumn, WrongType
from viewkeeper.model import types
from viewkeeper.model.keycodec import KeyCodec
from viewkeeper.model.schema import Cardinality, Column, Partitioning, PartitionKind, Table
from viewkeeper.model.types import Type, decimal
from viewkeeper.sql.statements import CreateTable


def _table(text: str) -> Table:
    statement = Catalog().one(text)
    assert isinstance(statement, CreateTable)
    return statement.table


def _type(name: str) -> Type:
    return _table(f"CREATE TABLE t (id INT PRIMARY KEY, c {name})").columns[1].type


def test_the_listing_of_the_design_is_a_table() -> None:
    items, tags = Catalog().run(
        """
        CREATE TABLE Items (
          ItemID BIGINT PRIMARY KEY, Name STRING, Category STRING, Price DECIMAL(10,2), SellerID BIGINT
        ) PARTITIONED BY HASH (ItemID) INTO 8;                 -- or RANGE; optional: one partition
        CREATE TABLE Tags (
          docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL, PRIMARY KEY (docId, tag)
        ) WITH CARDINALITY (tag, 10);
        """
    )
    assert items == CreateTable(
        if_not_exists=False,
        table=Table(
            name="Items",
            columns=(
                Column(name="ItemID", type=types.BIGINT, nullable=False),
                Column(name="Name", type=types.STRING),
                Column(name="Category", type=types.STRING),
                Column(name="Price", type=decimal(10, 2)),
                Column(name="SellerID", type=types.BIGINT),
            ),
            primary_key=("ItemID",),
            partitioning=Partitioning(kind=PartitionKind.HASH, columns=("ItemID",), count=8),
        ),
    )
    assert tags == CreateTable(
        if_not_exists=False,
        table=Table(
            name="Tags",
            columns=(
                Column(name="docId", type=types.BIGINT, nullable=False),
                Column(name="tag", type=types.STRING, nullable=False),
                Column(name="timestamp", type=types.TIMESTAMP, temporal=True),
            ),
            primary_key=("docId", "tag"),
            cardinalities=(Cardinality(columns=("tag",), limit=10),),
        ),
    )


def test_if_not_exists_is_passed_on() -> None:
    assert Catalog().one("CREATE TABLE IF NOT EXISTS t (a INT PRIMARY KEY)").if_not_exists is True


@pytest.mark.parametrize(
    ("names", "type"),
    [
        (("BOOLEAN", "BOOL"), types.BOOLEAN),
        (("INT", "INTEGER", "int"), types.INT),
        (("BIGINT", "LONG"), types.BIGINT),
        (("DOUBLE",), types.DOUBLE),
        (("STRING", "TEXT"), types.STRING),
        (("BINARY",), types.BINARY),
        (("DATE",), types.DATE),
        (("TIMESTAMP", "Timestamp"), types.TIMESTAMP),
        (("DECIMAL", "DECIMAL(10)", "NUMERIC", "DEC(10, 0)"), decimal(10, 0)),
        (("DECIMAL(38,38)", "numeric(38 , 38)"), decimal(38, 38)),
    ],
)
def test_every_type_has_its_names(names: tuple[str, ...], type: Type) -> None:
    assert [_type(name) for name in names] == [type] * len(names)


@pytest.mark.parametrize("name", ["DECIMAL(0)", "DECIMAL(39)", "DECIMAL(5,6)"])
def test_a_decimal_outside_its_limits_is_a_bad_definition(name: str) -> None:
    with pytest.raises(BadDefinition, match="1 <= p <= 38"):
        _type(name)


def test_words_behind_a_column_come_in_any_order() -> None:
    table = _table("CREATE TABLE t (a BIGINT TEMPORAL NOT NULL PRIMARY KEY, b INT NULL, c DATE NOT NULL TEMPORAL)")
    assert table.columns == (
        Column(name="a", type=types.BIGINT, nullable=False, temporal=True),
        Column(name="b", type=types.INT),
        Column(name="c", type=types.DATE, nullable=False, temporal=True),
    )


def test_keys_and_clauses_take_the_case_of_the_declared_columns() -> None:
    table = _table(
        "CREATE TABLE t (UserID INT, Tag STRING, PRIMARY KEY (userid, TAG)) "
        "PARTITIONED BY HASH (USERID) INTO 2 WITH CARDINALITY (tag, 5)"
    )
    assert table.primary_key == ("UserID", "Tag")
    assert table.partitioning is not None
    assert table.partitioning.columns == ("UserID",)
    assert table.cardinalities[0].columns == ("Tag",)


def test_the_clauses_behind_the_columns_come_in_either_order() -> None:
    columns = "CREATE TABLE t (a INT, b INT, c INT, PRIMARY KEY (a, b, c))"
    partitions = "PARTITIONED BY RANGE (a) INTO 3"
    limits = "WITH CARDINALITY (c, 10), CARDINALITY (b, c, 100)"
    one, other = _table(f"{columns} {partitions} {limits}"), _table(f"{columns} {limits} {partitions}")
    assert one == other
    assert one.cardinalities == (Cardinality(columns=("c",), limit=10), Cardinality(columns=("b", "c"), limit=100))


def test_a_limit_may_be_on_the_words_of_any_text() -> None:
    columns = "CREATE TABLE t (a INT PRIMARY KEY, tokens STRING, Title STRING)"
    table = _table(
        f"{columns} WITH CARDINALITY (tokens(TITLE), 10), CARDINALITY (a, 5), CARDINALITY (TOKENS(tokens), 2)"
    )
    assert table.cardinalities == (
        Cardinality(columns=("Title",), limit=10, words=True),
        Cardinality(columns=("a",), limit=5),
        Cardinality(columns=("tokens",), limit=2, words=True),
    )
    assert _table(str(table)) == table


def test_a_key_column_may_be_called_tokens() -> None:
    table = _table("CREATE TABLE t (tokens INT PRIMARY KEY) WITH CARDINALITY (tokens, 5)")
    assert table.cardinalities == (Cardinality(columns=("tokens",), limit=5),)


def test_split_at_gives_the_encoded_keys_at_which_partitions_begin() -> None:
    table = _table(
        "CREATE TABLE t (a INT, b STRING, c INT, PRIMARY KEY (a, b, c)) "
        "PARTITIONED BY RANGE (a, b) INTO 4 SPLIT AT (-5, (7, 'm'), (7, 'x'))"
    )
    codec = KeyCodec((0, 1, 2), (types.INT, types.STRING, types.INT))
    assert table.partitioning is not None
    bounds = table.partitioning.bounds
    assert bounds == (codec.encode_key((-5,)), codec.encode_key((7, "m")), codec.encode_key((7, "x")))
    keys = [codec.encode_key(key) for key in ((-6, "z", 9), (-5, "", -9), (7, "m", 0), (7, "x", 0))]
    assert all(one < bound <= other for bound, (one, other) in zip(bounds, pairwise(keys), strict=True))


def test_split_at_reads_values_as_the_column_has_them() -> None:
    table = _table(
        "CREATE TABLE t (d DATE PRIMARY KEY) PARTITIONED BY RANGE (d) INTO 3 SPLIT AT (DATE '1970-01-02', '1970-01-11')"
    )
    codec = KeyCodec((0,), (types.DATE,))
    assert table.partitioning is not None
    assert table.partitioning.bounds == (codec.encode_key((1,)), codec.encode_key((10,)))


def test_range_without_split_at_has_no_bounds_yet() -> None:
    table = _table("CREATE TABLE t (a INT PRIMARY KEY) PARTITIONED BY RANGE (a) INTO 3")
    assert table.partitioning == Partitioning(kind=PartitionKind.RANGE, columns=("a",), count=3)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("(a INT)", 'table "t" has no primary key'),
        ("(a INT PRIMARY KEY, b INT PRIMARY KEY)", 'table "t" has 2 primary keys'),
        ("(a INT PRIMARY KEY, PRIMARY KEY (a))", 'table "t" has 2 primary keys'),
        ("(a INT PRIMARY KEY, A INT)", 'column "A" appears twice'),
        ("(a INT, PRIMARY KEY (a, A))", "appears twice in the primary key"),
        ("(a STRING TEMPORAL PRIMARY KEY)", "cannot be TEMPORAL"),
        ("(a INT PRIMARY KEY) PARTITIONED BY HASH (a) INTO 0", "outside 1 to 4096"),
        ("(a INT PRIMARY KEY, b INT) PARTITIONED BY HASH (b) INTO 2", "not in the primary key"),
        ("(a INT PRIMARY KEY) PARTITIONED BY HASH (a) INTO 2 SPLIT AT (1)", "is for PARTITIONED BY RANGE"),
        ("(a INT PRIMARY KEY) PARTITIONED BY RANGE (a) INTO 3 SPLIT AT (1)", "by 1 values of SPLIT AT"),
        ("(a INT PRIMARY KEY) PARTITIONED BY RANGE (a) INTO 3 SPLIT AT (2, 1)", "do not grow"),
        ("(a INT PRIMARY KEY) PARTITIONED BY RANGE (a) INTO 2 SPLIT AT (NULL)", "has a NULL"),
        ("(a INT PRIMARY KEY) PARTITIONED BY RANGE (a) INTO 2 SPLIT AT ((1, 2))", "2 values in one bound"),
        ("(a INT PRIMARY KEY, b INT) WITH CARDINALITY (b, 5)", "not in the primary key"),
        ("(a INT PRIMARY KEY) WITH CARDINALITY (a, 0)", "below 1"),
    ],
)
def test_parts_that_do_not_fit_are_a_bad_definition(rest: str, message: str) -> None:
    with pytest.raises(BadDefinition, match=message):
        _table(f"CREATE TABLE t {rest}")


@pytest.mark.parametrize(
    "rest",
    [
        "(a INT, PRIMARY KEY (b))",
        "(a INT PRIMARY KEY) PARTITIONED BY HASH (b) INTO 2",
        "(a INT PRIMARY KEY) WITH CARDINALITY (b, 5)",
    ],
)
def test_a_column_that_is_not_declared_is_unknown(rest: str) -> None:
    with pytest.raises(UnknownColumn, match='column "b" is not in table "t"'):
        _table(f"CREATE TABLE t {rest}")


def test_a_value_of_split_at_has_to_fit_its_column() -> None:
    with pytest.raises(WrongType, match='column "a" is INT'):
        _table("CREATE TABLE t (a INT PRIMARY KEY) PARTITIONED BY RANGE (a) INTO 2 SPLIT AT ('x')")
    with pytest.raises(OutOfRange, match='column "a" of type INT'):
        _table("CREATE TABLE t (a INT PRIMARY KEY) PARTITIONED BY RANGE (a) INTO 2 SPLIT AT (3000000000)")
