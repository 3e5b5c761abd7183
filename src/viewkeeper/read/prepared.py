"""Queries that were analysed: what each one reads at most, and what runs it. Kept by text and version of the catalog.

A query by the key of one table or view takes the short way of bykey.py. All others are run by their plan. What has no
bound is refused, or read in full where that is allowed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from viewkeeper.errors import BadParameter, Unbounded, Unsupported, ViewBehind, ViewNotReady, WrongType
from viewkeeper.model.view import View
from viewkeeper.read.beside import looks_of
from viewkeeper.read.bykey import dict_maker
from viewkeeper.read.nojoinindex import NoJoinIndex
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.waiting import is_filled
from viewkeeper.sql.statements import JoinSelect, Select
from viewkeeper.store.interface import Catalog, Store

if TYPE_CHECKING:
    from viewkeeper.analysis.schema import Schema
    from viewkeeper.analysis.verdict import Verdict
    from viewkeeper.read.consistency import Asked
    from viewkeeper.read.handle import Handle
    from viewkeeper.read.planned import Planned
    from viewkeeper.sql.parse import Parsed
    from viewkeeper.sql.statements import Query

KEPT = 1_000
"""Queries of one database that are kept."""


@dataclass(slots=True, eq=False)
class Prepared:
    """A query over one version of the catalog. `by_key` is False once it is known that the short way will not do.

    `without` has plans that do without some views: those that were not filled when the query was asked.
    """

    parsed: Parsed
    catalog: Catalog
    query: Query
    verdict: Verdict
    planned: Planned | None
    by_key: bool | None = None
    without: dict[frozenset[int], Planned | None] = field(default_factory=dict)

    def select(self, params: Any) -> Select | JoinSelect | None:
        """What it asks of one table or view by key, or of a join; None if it is another query."""
        if self.by_key is False:
            return None
        from viewkeeper.sql.bind import bind
        from viewkeeper.sql.sources import finder

        try:
            found = bind(self.parsed, finder(self.catalog), params)
        except Unsupported:
            self.by_key = False
            return None
        except WrongType:
            if self.planned is None or not self._fit(params):
                raise
            # A constant that is not of the type of the key column: k > 2.5. The plan converts what is compared.
            self.by_key = False
            return None
        assert isinstance(found, Select | JoinSelect)
        if isinstance(found, JoinSelect) and self.planned is not None:
            # Its plan is better, and to bind a join for its parameters takes longer than to run it.
            self.by_key = False
        if isinstance(found, Select) and self.planned is not None and len(found.where) > 1:
            looks = looks_of(self.catalog.find(found.table))
            if len(found.where) * looks > self.planned.plan.operations:
                # A list has more values than there are rows to find by the rest of the key.
                return None
        return found

    def _fit(self, params: Any) -> bool:
        """Whether the parameters have values of their types."""
        from viewkeeper.sql.query_params import cells_of

        try:
            cells_of(self.query, params)
        except BadParameter:
            return False
        return True


@dataclass(slots=True)
class _Known:
    """The queries of one store, and its schema."""

    lock: Lock = field(default_factory=Lock)
    queries: OrderedDict[str, Prepared] = field(default_factory=OrderedDict)
    schema: tuple[bytes, Schema] | None = None


_known: WeakKeyDictionary[Store, _Known] = WeakKeyDictionary()


def schema_now(store: Store, catalog: Catalog) -> Schema:
    """The tables and views of a catalog as the analysis sees them."""
    from viewkeeper.views.bound import bound_in
    from viewkeeper.views.scaling import schema_of

    known = _known.setdefault(store, _Known())
    # Once: another thread may put that of another catalog there at any time.
    found = known.schema
    if found is None or found[0] != catalog.version:
        found = known.schema = catalog.version, schema_of(bound_in(store, catalog))
    return found[1]


def prepare(store: Store, catalog: Catalog, parsed: Parsed, sql: str) -> Prepared:
    """A query, analysed; the same as before unless the catalog has changed."""
    known = _known.setdefault(store, _Known())
    found = known.queries.get(sql)
    if found is not None and found.catalog.version == catalog.version:
        with known.lock, suppress(KeyError):
            known.queries.move_to_end(sql)
        return found
    from viewkeeper.analysis.analyse import analyse
    from viewkeeper.read.planned import Planned
    from viewkeeper.sql.bind import query_of
    from viewkeeper.sql.sources import finder

    query = query_of(parsed, finder(catalog))
    verdict = analyse(query, schema_now(store, catalog))
    planned = None if verdict.now is None else Planned(verdict.now, catalog)
    found = Prepared(parsed, catalog, query, verdict, planned)
    with known.lock:
        known.queries[sql] = found
        known.queries.move_to_end(sql)
        while len(known.queries) > KEPT:
            known.queries.popitem(last=False)
    return found


def run(
    handle: Handle, prepared: Prepared, params: Any, asked: Asked, *, allow_scan: bool, in_order: bool = False
) -> Rows:
    """The rows of a query as of now. Unbounded if it has no bounded plan, unless it may scan.

    With `in_order` it may read one table or view, or one key of a join index, in stored order, and nothing else.
    """
    from viewkeeper.read.now import select_now

    statement = prepared.select(params) if prepared.planned is not None or allow_scan or in_order else None
    if isinstance(statement, Select):
        rows = select_now(handle, prepared.catalog, statement, asked)
        rows.meta.path = rows.meta.path if prepared.planned is not None else "scan"
        return rows
    if prepared.planned is None and isinstance(statement, JoinSelect):
        with suppress(NoJoinIndex):
            return select_now(handle, prepared.catalog, statement, asked)
    from viewkeeper.sql.query_params import cells_of

    values = cells_of(prepared.query, params)
    if prepared.planned is None:
        if allow_scan:
            return _scanned(handle, prepared, values, asked)
        raise unbounded(prepared.verdict)
    if handle.moments is None:
        from viewkeeper.read.moments import Moments

        handle.moments = Moments(handle)
    planned = prepared.planned
    try:
        moment = handle.moments.now(prepared.catalog, planned.objects, asked)
    except ViewNotReady:
        other = over_filled(handle.store, prepared, planned, lambda view: is_filled(handle.store, view))
        if other is None:
            raise
        planned, moment = other, handle.moments.now(prepared.catalog, other.objects, asked)
    return planned.run(moment, values)


def over_filled(
    store: Store, prepared: Prepared, planned: Planned, is_filled: Callable[[View], bool]
) -> Planned | None:
    """A plan that does without the views that are still to be filled; None if there is none, or the query names one.

    So an index that was just made takes over once it is filled, and stops no query before that.
    """
    from viewkeeper.analysis.analyse import analyse
    from viewkeeper.read.planned import Planned

    catalog = prepared.catalog
    apart = (catalog.views[number] for number in planned.objects if number in catalog.views)
    unfilled = frozenset(view.id for view in apart if not view.in_base and not is_filled(view))
    if not unfilled or not unfilled.isdisjoint(prepared.query.sources):
        return None
    if unfilled not in prepared.without:
        verdict = analyse(prepared.query, schema_now(store, catalog).hiding(unfilled), suggest=False)
        prepared.without[unfilled] = None if verdict.now is None else Planned(verdict.now, catalog)
    return prepared.without[unfilled]


def unbounded(verdict: Verdict) -> Unbounded:
    """The refusal of a query that has no bounded plan now."""
    from viewkeeper.analysis.suggestions import hint_of

    if verdict.needs and verdict.level != "unbounded":
        listed = "".join(f"\n    {text};" for text in verdict.needs)
        error = Unbounded(
            "the query reads any number of rows with the indexes and views that there are",
            detail=f"With these it would be {verdict.level}, at most {_operations(verdict)}:{listed}",
            hint="Create them, or call db.prepare(sql, create=True); allow_scan=True reads all rows.",
        )
    else:
        error = Unbounded("the query reads any number of rows", detail=verdict.reason, hint=hint_of(verdict))
    error.verdict = verdict
    return error


def _operations(verdict: Verdict) -> str:
    return f"{verdict.operations_max:,} operation{'s' if verdict.operations_max != 1 else ''}"


def _scanned(handle: Handle, prepared: Prepared, values: Any, asked: Asked) -> Rows:
    """The rows of a query that reads all rows, at one position. ViewBehind if a view lags behind what is asked for."""
    from viewkeeper.read.consistency import needed

    if handle.scan is None:
        raise Unsupported("a query that reads all rows cannot run here", hint="Run it with db.query.")
    store, catalog = handle.store, prepared.catalog
    views = [catalog.views[number] for number in prepared.query.sources if number in catalog.views]
    wanted = max((max(needed(store, view, asked), handle.floor(view)) for view in views), default=0)
    chunks, position = handle.scan(prepared.query, values)
    if store.offset(position) < wanted:
        raise ViewBehind(
            f"the query stands at position {position}, before {store.position(wanted)}, which is asked for",
            detail="It reads all rows, and a view among them lags.",
            hint='Run db.maintain() first, or ask with consistency="any".',
        )
    columns = prepared.query.columns
    return Rows(chunks, columns, dict_maker(columns), ReadMeta(path="scan", position=position))
