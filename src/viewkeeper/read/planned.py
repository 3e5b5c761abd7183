"""A query with bounded work, compiled once and run as often as it is asked: reads by key, then what is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from viewkeeper.errors import BadParameter, NotRetained, ViewBehind
from viewkeeper.execute.ordering import in_order
from viewkeeper.execute.rows.expr import Failures, compile_expr, compile_predicate
from viewkeeper.execute.rows.parameters import parameters
from viewkeeper.model.layout import Layout
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.plan.access import Access, Count, QueryPlan
from viewkeeper.plan.expr import Expr, Input, rewrite
from viewkeeper.plan.relation import Scan, scans
from viewkeeper.read.beside import looks_of
from viewkeeper.read.compiled import compiled
from viewkeeper.read.keysof import Keys, Values
from viewkeeper.read.moment import Moment
from viewkeeper.read.region import Region
from viewkeeper.read.rows import Rows
from viewkeeper.read.together import Kept, Links
from viewkeeper.store.interface import Catalog, Interval


class Planned:
    """A plan over the tables and views of one catalog. Thread-safe.

    `objects` are the ids of all that it reads: a moment is made for them.
    """

    def __init__(self, plan: QueryPlan, catalog: Catalog) -> None:
        self.plan = plan
        self.objects = tuple(dict.fromkeys(access.object for access in plan.accesses))
        leaves = list(scans(plan.relation))
        fed = [access.leaf for access in plan.accesses if access.leaf is not None]
        if len(set(fed)) < len(fed):
            raise ValueError("a scan gets its rows from one access")
        links = Links()
        self._accesses = [_Compiled(access, catalog, leaves, links) for access in plan.accesses]
        self._leaves = [fed.index(number) if number in fed else None for number in range(len(leaves))]
        self._fed = [number for number, access in enumerate(plan.accesses) if access.leaf is not None]
        self._relation = compiled(plan.relation)
        self._computed = [((one.key, one.element), compile_expr(one.expr)) for one in plan.computed if one.expr]
        self._shown = None if len(plan.relation.fields) == len(plan.columns) else len(plan.columns)
        shape = Layout(id=0, name="", columns=plan.columns, visible=len(plan.columns), key=(), descending=())
        self._to_dict = RowCodec(shape).to_dict

    def run(self, moment: Moment, values: Values) -> Rows:
        """The rows of the answer, all read. BadParameter, and whatever speaks against reading at this moment.

        `values` has a cell of its type for each parameter, by key and place in a list.
        """
        rows = None
        values = self._with_computed(values)
        while rows is None:
            try:
                with parameters(values):
                    rows = self._answer(moment, values)
            except (NotRetained, ViewBehind):
                if moment.again is None:
                    raise
                moment = moment.again()
        return _Answer(iter([rows] if rows else []), self.plan.columns, self._to_dict, moment.meta)

    def _with_computed(self, values: Values) -> Values:
        if not self._computed:
            return values
        with parameters(values):
            return {**values, **{key: value_of((), Failures()) for key, value_of in self._computed}}

    def _leaf_rows(self, number: int, found: Sequence[list[Row]]) -> list[Row]:
        """What an access found, as rows of the scan that it feeds."""
        shows = self.plan.accesses[number].shows
        if shows is None:
            return found[number]
        return [tuple(None if place is None else row[place] for place in shows) for row in found[number]]

    def _answer(self, moment: Moment, values: Values) -> list[Row]:
        plan = self.plan
        limit = count_of(plan.limit, values)
        found: list[list[Row]] = []
        for access in self._accesses:
            found.append(access.run(moment, values, found))
        leaves = [[] if place is None else self._leaf_rows(self._fed[place], found) for place in self._leaves]
        rows = self._relation(leaves)
        if plan.order:
            rows = in_order(rows, plan.order, settled=False)
        if limit is not None or plan.offset:
            rows = rows[plan.offset : None if limit is None else plan.offset + limit]
        shown = self._shown
        return [row[:shown] for row in rows] if shown is not None else list(rows)


def _shown_at(place: int | None) -> int:
    if place is None:
        raise ValueError("an index in place of a table has all columns that are read")
    return place


def count_of(count: Count | None, values: Values) -> int | None:
    """How many rows; BadParameter if a parameter says no such number."""
    if count is None or isinstance(count, int):
        return count
    found = values[count.key, count.element]
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise BadParameter(f"LIMIT :{count.key} is {found!r}", hint="It is a whole number from 0 on.")
    return found


class _Compiled:
    """One access, added to the `links` of those before it."""

    def __init__(self, access: Access, catalog: Catalog, leaves: Sequence[Scan], links: Links) -> None:
        view = catalog.views.get(access.object)
        self._access = access
        self._source = catalog.tables[access.object] if view is None else view
        self._codec = catalog.codecs[access.object] if view is None else catalog.view_codecs[access.object]
        self._looks = looks_of(self._source)
        self._keys = Keys(access, self._codec, links)
        links.add(access, self._codec)
        is_whole = len(access.equal) == len(self._codec.key.columns)
        self._is_get = is_whole and not (isinstance(self._source, View) and self._source.repeats)
        columns: Sequence[int] | None = None if access.leaf is None else leaves[access.leaf].columns
        if columns is not None and access.shows is not None:
            columns = [_shown_at(access.shows[column]) for column in columns]
        self._keep = None if access.condition is None else compile_predicate(_over(access.condition, columns))

    def run(self, moment: Moment, values: Values, kept: Kept) -> list[Row]:
        """The rows that are needed, in the order of the keys and under each as they are stored."""
        limit = count_of(self._access.limit, values)
        rows: list[Row] = []
        if limit != 0:
            rows = self._got(moment, values, kept) if self._is_get else self._scanned(moment, values, kept, limit)
        moment.meta.rows += len(rows)
        keep, failures = self._keep, Failures()
        return rows if keep is None else [row for row in rows if keep(row, failures)]

    def _got(self, moment: Moment, values: Values, kept: Kept) -> list[Row]:
        keys = self._keys.prefixes(values, kept)
        if not keys:
            return []
        codec = self._codec
        reader = moment.reader(
            self._source, lambda: [Region(Interval(code, code + b"\0"), cells) for code, cells in keys.items()]
        )
        moment.meta.operations += len(keys) * self._looks
        get_many = getattr(reader, "get_many", None)
        rows = get_many(codec, list(keys)) if get_many is not None else [reader.get(codec, code) for code in keys]
        return [row for row in rows if row is not None]

    def _scanned(self, moment: Moment, values: Values, kept: Kept, limit: int | None) -> list[Row]:
        regions = self._keys.regions(values, kept)
        if not regions:
            return []
        reader = moment.reader(self._source, lambda: regions)
        moment.meta.operations += len(regions) * self._looks
        scan, codec, reverse = reader.scan, self._codec, self._access.reverse
        chunks = (chain.from_iterable(scan(codec, one.interval, limit=limit, reverse=reverse)) for one in regions)
        return list(self._once(chunks) if self._keys.may_overlap else chain.from_iterable(chunks))

    def _once(self, ranges: Iterable[Iterable[Row]]) -> Iterator[Row]:
        """The rows of stretches of keys that may have keys in common."""
        key_of = self._codec.key.encode
        seen: set[bytes] = set()
        for rows in ranges:
            given = [(key_of(row), row) for row in rows]
            yield from (row for key, row in given if key not in seen)
            seen.update(key for key, _ in given)


def _over(condition: Expr, columns: Sequence[int] | None) -> Expr:
    """A condition over the fields of a scan as one over stored rows; one of an access without a scan is over these."""
    if columns is None:
        return condition
    return rewrite(condition, lambda field: Input(columns[field.index], field.type))


class _Answer(Rows):
    """Rows that are made of what was read: taking them is no read."""

    def _take(self) -> Iterator[list[Row]]:
        for chunk in super()._take():
            self.meta.rows -= len(chunk)
            yield chunk
