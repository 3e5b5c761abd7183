"""The verdict on a text: a query, or the definition of a view that is not made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewkeeper.analysis.analyse import analyse
from viewkeeper.analysis.latency import analyse_within
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.verdict import Verdict
from viewkeeper.errors import Unsupported
from viewkeeper.read.prepared import prepare, schema_now
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse
from viewkeeper.sql.sources import finder
from viewkeeper.sql.tree import SelectTree
from viewkeeper.store.interface import Catalog

if TYPE_CHECKING:
    from viewkeeper.read.handle import Handle
    from viewkeeper.sql.parse import Parsed


def explain(handle: Handle, sql: str, *, slo: str | float | None = None, name: str = "") -> Verdict:
    """The verdict on one statement; with `slo`, also how long an execution takes."""
    parsed = parse(sql)
    if len(parsed) != 1:
        raise Unsupported(f"one statement is explained, found {len(parsed)}", hint="Explain them one by one.")
    catalog = handle.store.catalog()
    if slo is None and not name and isinstance(parsed[0].tree, SelectTree):
        # What is analysed here need not be when it is asked for.
        return prepare(handle.store, catalog, parsed[0], sql).verdict
    return verdict_on(handle, catalog, schema_now(handle.store, catalog), parsed[0], slo=slo, name=name)


def verdict_on(
    handle: Handle, catalog: Catalog, schema: Schema, parsed: Parsed, *, slo: str | float | None = None, name: str = ""
) -> Verdict:
    """The same of a statement that was parsed, over a schema that may have more than the catalog."""
    if not isinstance(parsed.tree, SelectTree):
        return _on_view(handle, catalog, parsed)
    query = query_of(parsed, finder(catalog))
    if slo is None:
        return analyse(query, schema, name=name)
    from viewkeeper.read.latency import goal_of, predicted

    return analyse_within(query, schema, name=name, slo=goal_of(slo), predict=lambda one: predicted(handle, one))


def _on_view(handle: Handle, catalog: Catalog, parsed: Parsed) -> Verdict:
    """The verdict on the view or index that a CREATE statement would make."""
    from viewkeeper.sql.bind import bind
    from viewkeeper.sql.statements import CreateView
    from viewkeeper.views import scaling
    from viewkeeper.views.bound import bound_in

    statement = bind(parsed, finder(catalog), None)
    if not isinstance(statement, CreateView):
        raise Unsupported(
            "only queries, views and indexes are explained",
            hint="Write SELECT …, CREATE MATERIALIZED VIEW … or CREATE INDEX ….",
        )
    return scaling.verdict_on(bound_in(handle.store, catalog), statement)
