"""ALTER TABLE … ADD COLUMN and DROP TABLE."""

from __future__ import annotations

import pytest

from tests.sql.tables import Catalog, catalog
from viewkeeper.errors import BadDefinition, UnknownTable
from viewkeeper.model import types
from viewkeeper.model.schema import Column
from viewkeeper.sql.statements import AddColumn, DropTable


def test_a_column_is_added_to_the_table_as_it_is_called() -> None:
    statement = catalog().one("ALTER TABLE items ADD COLUMN Rank INT")
    assert statement == AddColumn(table="Items", column=Column(name="Rank", type=types.INT))


def test_a_new_column_may_be_temporal() -> None:
    statement = catalog().one("ALTER TABLE k ADD COLUMN at TIMESTAMP TEMPORAL")
    assert statement.column == Column(name="at", type=types.TIMESTAMP, temporal=True)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("V INT", 'column "V" appears twice in table "k"'),
        ("w INT NOT NULL", "cannot be added NOT NULL"),
        ("w INT PRIMARY KEY", "cannot be added to the primary key"),
        ("w STRING TEMPORAL", "cannot be TEMPORAL"),
    ],
)
def test_a_column_that_the_table_cannot_have_is_a_bad_definition(column: str, message: str) -> None:
    with pytest.raises(BadDefinition, match=message):
        catalog().one(f"ALTER TABLE k ADD COLUMN {column}")


def test_a_table_is_altered_only_if_it_is_there() -> None:
    with pytest.raises(UnknownTable):
        Catalog().one("ALTER TABLE t ADD COLUMN a INT")


def test_drop_passes_the_name_on_whether_or_not_there_is_such_a_table() -> None:
    assert Catalog().run("DROP TABLE t; DROP TABLE IF EXISTS `my t`") == [
        DropTable(name="t", if_exists=False),
        DropTable(name="my t", if_exists=True),
    ]


def test_a_statement_may_use_the_table_that_an_earlier_one_made() -> None:
    _, insert = Catalog().run("CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1)")
    assert insert.rows == ({0: 1},)
