"""Tables to bind against, and the ways of a text through sql/ that the tests share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from viewkeeper.errors import UnknownTable
from viewkeeper.model.schema import Table
from viewkeeper.sql.bind import bind, check_params
from viewkeeper.sql.parse import parse
from viewkeeper.sql.sources import Source
from viewkeeper.sql.statements import AddColumn, CreateTable, CreateView, KeyRange


class Catalog:
    """Tables and views by name, without case; makes what CREATE says, adds columns, and runs nothing else.

    A view has the key of its KEY clause as its stored order, and no unique key.
    """

    def __init__(self, *texts: str) -> None:
        self.tables: dict[str, Table | Source] = {}
        self._made = 0
        for text in texts:
            self.run(text)

    def find(self, name: str) -> Table | Source:
        found = self.tables.get(name.lower())
        if found is None:
            raise UnknownTable(f'table "{name}" is not in this database')
        return found

    def run(self, text: str, params: Any = None) -> list[Any]:
        """Every statement of a text, bound one after the other."""
        parsed = parse(text)
        check_params(parsed, params)
        statements = []
        for one in parsed:
            statement = bind(one, self.find, params)
            self._make(statement)
            statements.append(statement)
        return statements

    def _make(self, statement: object) -> None:
        self._made += 1
        number = self._made
        match statement:
            case CreateTable():
                self.tables[statement.table.name.lower()] = replace(statement.table, id=number)
            case CreateView():
                self.tables[statement.name.lower()] = Source(
                    id=number,
                    name=statement.name,
                    columns=statement.visible,
                    key=(),
                    kind=str(statement.kind),
                    order=statement.key,
                    approximate=statement.approximate,
                )
            case AddColumn():
                table = self.find(statement.table)
                assert isinstance(table, Table)
                self.tables[statement.table.lower()] = table.with_column(statement.column)

    def one(self, text: str, params: Any = None) -> Any:
        """The only statement of a text."""
        (statement,) = self.run(text, params)
        return statement


ITEMS = """
CREATE TABLE Items (
  ItemID BIGINT PRIMARY KEY, Name STRING, Price DECIMAL(10,2), Weight DOUBLE, Image BINARY,
  Made DATE, Seen TIMESTAMP, Live BOOLEAN NOT NULL, Stock INT, Huge DECIMAL(38,10)
)
"""
KEYS = "CREATE TABLE k (a INT, b STRING, c DOUBLE, v INT, PRIMARY KEY (a, b, c))"
TAGS = """
CREATE TABLE Tags (docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL, PRIMARY KEY (docId, tag))
"""


def catalog() -> Catalog:
    return Catalog(ITEMS, KEYS, TAGS)


def where(text: str, params: Any = None) -> tuple[KeyRange, ...]:
    """The key ranges of table k that a condition leaves."""
    ranges: tuple[KeyRange, ...] = catalog().one(f"SELECT * FROM k WHERE {text}", params).where
    return ranges


def points(*prefixes: tuple[Any, ...]) -> tuple[KeyRange, ...]:
    """Ranges without bounds."""
    return tuple(KeyRange(prefix=prefix) for prefix in prefixes)


def view(text: str, tables: Catalog | None = None) -> CreateView:
    """The view of a CREATE statement, or of a SELECT."""
    if text.lstrip().upper().startswith(("SELECT", "WITH", "(")):
        text = f"CREATE VIEW v AS {text}"
    statement = (tables or catalog()).one(text)
    assert isinstance(statement, CreateView)
    return statement
