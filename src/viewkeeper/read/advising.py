"""Advice on queries as texts, over the tables and views of a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from viewkeeper.analysis.advice import Advice, NamedQuery, advise, not_analysed
from viewkeeper.errors import Unsupported, ViewkeeperError
from viewkeeper.read.latency import goal_of, predicted
from viewkeeper.read.prepared import schema_now
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse
from viewkeeper.sql.sources import finder
from viewkeeper.store.interface import Catalog

if TYPE_CHECKING:
    from viewkeeper.read.handle import Handle


def advise_on(handle: Handle, queries: Mapping[str, str], *, slo: str | float | None = None) -> Advice:
    """What the queries need together, by name. One that is none, or that fails, is told of, and the others go on."""
    catalog = handle.store.catalog()
    return advise(
        [_named(name, sql, catalog) for name, sql in queries.items()],
        schema_now(handle.store, catalog),
        slo=None if slo is None else goal_of(slo),
        predict=lambda verdict: predicted(handle, verdict),
    )


def _named(name: str, sql: str, catalog: Catalog) -> NamedQuery:
    try:
        parsed = parse(sql)
        if len(parsed) != 1:
            raise Unsupported(f"a query is one SELECT, found {len(parsed)} statements")
        return NamedQuery(name=name, sql=sql, query=query_of(parsed[0], finder(catalog)))
    except ViewkeeperError as error:
        return NamedQuery(name=name, sql=sql, error=str(error))
    except Exception as cause:  # noqa: BLE001  (whatever is wrong with one, the others are told of)
        return not_analysed(name, sql, cause)
