"""Tables to bind against, and the ways of a text through sql/ that the tests share."""

from __future__ import annotations

from typing import Any

from viewkeeper.errors import UnknownTable
from viewkeeper.model.schema import Table
from viewkeeper.sql.bind import bind, check_params
from viewkeeper.sql.parse import parse
from viewkeeper.sql.statements import CreateTable, KeyRange


class Catalog:
    """Tables by name, without case; creates what CREATE TABLE says and runs nothing else."""

    def __init__(self, *texts: str) -> None:
        self.tables: dict[str, Table] = {}
        for text in texts:
            self.run(text)

    def find(self, name: str) -> Table:
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
            if isinstance(statement, CreateTable):
                self.tables[statement.table.name.lower()] = statement.table
            statements.append(statement)
        return statements

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


def catalog() -> Catalog:
    return Catalog(ITEMS, KEYS)


def where(text: str, params: Any = None) -> tuple[KeyRange, ...]:
    """The key ranges of table k that a condition leaves."""
    ranges: tuple[KeyRange, ...] = catalog().one(f"SELECT * FROM k WHERE {text}", params).where
    return ranges


def points(*prefixes: tuple[Any, ...]) -> tuple[KeyRange, ...]:
    """Ranges without bounds."""
    return tuple(KeyRange(prefix=prefix) for prefix in prefixes)
