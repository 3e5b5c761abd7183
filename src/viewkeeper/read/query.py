"""A query: one SELECT, from its text to what it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewkeeper.errors import Unsupported
from viewkeeper.sql.statements import JoinSelect, Select
from viewkeeper.store.interface import Catalog

if TYPE_CHECKING:
    from viewkeeper.sql.parse import Parsed


def parse_query(sql: str, params: dict[str, Any]) -> Parsed:
    """The one statement of a text, with the parameters that it names."""
    from viewkeeper.sql.bind import check_params
    from viewkeeper.sql.parse import parse

    parsed = parse(sql)
    if len(parsed) != 1:
        raise Unsupported(f"a query is one SELECT, found {len(parsed)} statements", hint="Use db.execute for scripts.")
    check_params(parsed, params)
    return parsed[0]


def bind_query(parsed: Parsed, catalog: Catalog, params: dict[str, Any]) -> Select | JoinSelect:
    """What a query asks of tables and views; Unsupported if it is no SELECT."""
    from viewkeeper.sql.bind import bind
    from viewkeeper.sql.sources import finder

    statement = bind(parsed, finder(catalog), params)
    if not isinstance(statement, Select | JoinSelect):
        raise Unsupported("a query is a SELECT", hint="Use db.execute for statements that change something.")
    return statement
