"""The facade: what users call. Names and dicts in, names and dicts out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, cast, overload
from weakref import WeakSet

from viewkeeper.errors import Closed, Conflict, ReadOnly, TableDropped, ViewkeeperError, WrongType
from viewkeeper.model.change import Change
from viewkeeper.model.position import Position
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.read.consistency import ANY, TIMEOUT, Asked, Consistency
from viewkeeper.read.feed import changes_of, oldest_of
from viewkeeper.read.handle import Handle
from viewkeeper.read.info import DatabaseInfo, describe
from viewkeeper.read.now import get_fast, get_fresh, get_now, query_now, scan_now
from viewkeeper.read.readnotes import finish_notes
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.snapshot import SnapshotReader, take_snapshot
from viewkeeper.read.status import ViewStatus, view_statuses
from viewkeeper.store.interface import Settings, Store, WriteSet
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.write.insync import keep_in_sync
from viewkeeper.write.session import Session, start_of
from viewkeeper.write.statements import Outcome, retrying, run_statement
from viewkeeper.write.transaction import Transaction

if TYPE_CHECKING:
    from viewkeeper.analysis.advice import Advice
    from viewkeeper.analysis.verdict import Verdict
    from viewkeeper.load.bad import BadRowWriter
    from viewkeeper.load.progress import LoadProgress
    from viewkeeper.pipeline.backfill import Progress
    from viewkeeper.pipeline.comparing import Progress as Comparison
    from viewkeeper.pipeline.continuous import Maintenance
    from viewkeeper.pipeline.maintainer import Round
    from viewkeeper.pipeline.once import Report
    from viewkeeper.pipeline.repair import RepairReport
    from viewkeeper.pipeline.report import VerifyReport
    from viewkeeper.pipeline.session import Spark, SparkSource
    from viewkeeper.sql.define import Query
    from viewkeeper.sql.parse import Parsed
    from viewkeeper.store.interface import Catalog
    from viewkeeper.views.explained import ExplainedView
    from viewkeeper.write.preparing import PreparedQuery


def open(
    path: str | os.PathLike[str], *, durability: Literal["sync", "os"] | None = None, read_only: bool = False
) -> Database:
    """The database in a folder; made if absent.

    Args:
        durability: chosen when a database is made. "sync", the default: a write returns once it is on the disk, which
            costs an fsync (shared by concurrent writers). "os": it returns once the operating system has it, several
            times sooner; it survives kill -9, and a power loss may need a restore of the folder.
        read_only: refuse every write through this handle; also opens a database on a read-only disk.
    """
    return Database(path, durability=durability, read_only=read_only)


class Database:
    """A handle on a database. Thread-safe; many handles in many processes may be open at once."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Literal["sync", "os"] | None = None,
        read_only: bool = False,
    ) -> None:
        self._read_only = read_only
        self._shared = open_store(path, durability=durability, read_only=read_only)
        self._store: Store = self._shared
        keep_in_sync(self._shared)
        self._reads = Handle(self._shared, read_only=read_only, bring_up=self._bring_up, scan=self._scan)
        self._closed = False
        self._closing = threading.Lock()
        self._spark: SparkSource | None = None
        self._running: WeakSet[Maintenance] = WeakSet()

    # Statements

    def execute(self, sql: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Outcome | Rows | None:
        """Run one or several statements; the last one's result, None if there was none.

        Each statement is a transaction of its own.
        """
        return self._run(sql, params)

    def _run(
        self,
        sql: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        asked: Callable[[], Asked] = lambda: ANY,
        told: Callable[[Outcome | Rows], object] = lambda result: None,
    ) -> Outcome | Rows | None:
        from viewkeeper.sql.bind import bind, check_params
        from viewkeeper.sql.parse import parse
        from viewkeeper.sql.sources import finder
        from viewkeeper.sql.tree import SelectTree

        parsed = parse(sql)
        check_params(parsed, params)
        result: Outcome | Rows | None = None

        def run(one: Parsed) -> Outcome | Rows:
            catalog = self._store.catalog()
            if isinstance(one.tree, SelectTree):
                return self._select(catalog, one, params, asked())
            self._check_writable()
            return run_statement(self._reads, catalog, bind(one, finder(catalog), params))

        for one in parsed:
            result = retrying(partial(run, one))
            told(result)
        return result

    def _select(self, catalog: Catalog, parsed: Parsed, params: Any, asked: Asked) -> Rows:
        """A SELECT among statements. It may scan one table or view as it is stored: its first rows come at once."""
        from viewkeeper.read.prepared import prepare, run

        prepared = prepare(self._store, catalog, parsed, f"{parsed.start} {parsed.source}")
        # Other statements of the text may have parameters of their own.
        own = {name: params[name] for name in parsed.names if name in params} if isinstance(params, Mapping) else params
        return run(self._reads, prepared, own, asked, allow_scan=False, in_order=True)

    def create_view(
        self,
        name: str,
        query: Query | str,
        *,
        maintain: str | None = None,
        key: str | Sequence[str] = (),
        or_replace: bool = False,
    ) -> str:
        """Create a view from a definition made in Python (`vk.table`) or from a SELECT; the statement that did it.

        Args:
            maintain: the mode, as it stands behind MAINTAIN: "DEFERRED", "EVERY 1 SECOND", ….
            key: the columns of KEY; "Price DESC" for one that descends.
        """
        from viewkeeper.sql.define import create_text

        text = create_text(name, query, maintain=maintain, key=key, or_replace=or_replace)
        self.execute(text)
        return text

    def explain_view(self, name: str) -> ExplainedView:
        """The verdict on a view that is there, and how it is maintained: its plan, its join indexes; str() tells it."""
        from viewkeeper.views.explained import explain_view

        return explain_view(self._store, name)

    def query(
        self,
        sql: str,
        /,
        *,
        consistency: Consistency = None,
        allow_scan: bool = False,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        **params: Any,
    ) -> Rows:
        """The rows of one SELECT; `:name` parameters are given by keyword.

        What it reads is bounded, whatever the tables hold; see `explain`. Unbounded, with what would help, if not.

        What stands before these is as for `get`; a parameter of one of these names is given to `execute`.

        Args:
            allow_scan: run it also if it has no bound: one table or view in stored order by itself, all else on Spark.
        """
        asked = Asked(consistency=consistency, wait=wait, timeout=timeout, bring_up=bring_up)
        return retrying(lambda: query_now(self._reads, sql, params, asked, allow_scan=allow_scan).begun())

    def explain(self, sql: str, *, slo: str | float | None = None, name: str = "") -> Verdict:
        """Whether a query, or the definition of a view, stays fast as the data grows; str() is the report.

        Args:
            sql: a SELECT, or a CREATE statement of a view or index, which is not run.
            slo: how long an execution may take, such as "10ms": its latency is predicted from operations measured here.
            name: what views that it needs are called after.
        """
        from viewkeeper.read.explaining import explain

        return explain(self._reads, sql, slo=slo, name=name)

    def advise(
        self, queries: Mapping[str, str], *, slo: str | float | None = None, maintain: str | None = None
    ) -> Advice:
        """What these queries, by name, need together and what that costs each table; str() is the report.

        Args:
            slo: how long an execution of each may take, as for `explain`.
            maintain: the mode of what is to be made, as for `prepare`, where it can be; else there is a note.
        """
        from viewkeeper.analysis.ddl import mode_of
        from viewkeeper.read.advising import advise_on
        from viewkeeper.write.inmode import in_mode

        mode = None if maintain is None else mode_of(maintain)
        advice = advise_on(self._reads, queries, slo=slo)
        return advice if mode is None else in_mode(self._store.catalog(), advice, mode)

    def prepare(self, sql: str, *, create: bool = False, maintain: str | None = None, name: str = "") -> PreparedQuery:
        """A query to be run many times: call what this gives with its parameters.

        Args:
            create: make the indexes and views that it needs; Unbounded if none would do. Without it, they have to be
                there when it is run.
            maintain: the mode of what is made, as it stands behind MAINTAIN; not PERIODIC.
            name: what views that it needs are called after.
        """
        from viewkeeper.write.preparing import prepare_query

        if create:
            self._check_writable()
        return prepare_query(self, sql, create=create, maintain=maintain, name=name)

    # Rows

    def insert(self, table: str, row: Mapping[str, Any]) -> Position:
        """Add a row; KeyExists if there is one with its key."""
        return self._put(table, row, insert=True)

    def put(self, table: str, row: Mapping[str, Any]) -> Position:
        """Add a row, or change the given columns of the row that is there."""
        return self._put(table, row, insert=False)

    def _put(self, table: str, row: Mapping[str, Any], *, insert: bool) -> Position:
        self._check_writable()
        try:
            return self._store.put_row(table, row, insert=insert)
        except (Conflict, TableDropped):
            return retrying(lambda: self._store.put_row(table, row, insert=insert))

    def delete(self, table: str, /, *key: Any) -> Position:
        """Remove a row; no error, and no change, if there is none."""
        self._check_writable()

        def attempt() -> Position:
            codec = self._store.catalog().codec(table)
            writes = WriteSet()
            writes.remove(codec, codec.key.encode_key(codec.key_cells(key)))
            return self._store.commit(writes)

        return retrying(attempt)

    def load(
        self,
        table: str,
        source: Any,
        *,
        progress: bool | LoadProgress = False,
        skip_bad: str | os.PathLike[str] | BadRowWriter | None = None,
        batch_rows: int = 10_000,
        ignore_unknown: bool = False,
    ) -> Position:
        """Put many rows, `batch_rows` a transaction; the position behind them.

        Args:
            source: an iterable of dicts, Arrow data, or the path of a .csv, .parquet or .jsonl file.
            progress: show a progress bar with rows/s; or a counter of the caller's.
            skip_bad: write rows that do not fit to this file, as JSON lines, and go on; without it the first one is
                raised as BadRow.
            ignore_unknown: leave out columns that the table does not have, instead of refusing them.
        """
        from viewkeeper.load.bad import BadRowWriter
        from viewkeeper.load.progress import LoadProgress
        from viewkeeper.write.loading import load

        self._check_writable()
        writer = BadRowWriter(os.fspath(skip_bad)) if isinstance(skip_bad, str | os.PathLike) else skip_bad
        try:
            return load(
                self._store,
                table,
                source,
                progress=LoadProgress(shown=progress) if isinstance(progress, bool) else progress,
                on_bad=writer,
                batch_rows=batch_rows,
                ignore_unknown=ignore_unknown,
            )
        finally:
            if writer is not None and writer is not skip_bad:
                writer.close()

    def transaction(self) -> Transaction:
        """Several writes and reads, all or nothing."""
        self._check_writable()
        return Transaction(self._reads)

    @overload
    def get(
        self,
        name: str,
        /,
        *key: Any,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        with_meta: Literal[False] = False,
    ) -> dict[str, Any] | None: ...

    @overload
    def get(
        self,
        name: str,
        /,
        *key: Any,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        with_meta: Literal[True],
    ) -> tuple[dict[str, Any] | None, ReadMeta]: ...

    def get(
        self,
        name: str,
        /,
        *key: Any,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        with_meta: bool = False,
    ) -> dict[str, Any] | tuple[dict[str, Any] | None, ReadMeta] | None:
        """The row of a key of a table or view; None if there is none.

        The key of a view is what it is stored by; NotUnique if its visible columns do not tell its rows apart.

        A view that lags behind what is asked for is brought up for the read: what is pending is added in this process
        if it is little, else a maintainer that runs does it while the read waits.

        Args:
            consistency: how fresh a view has to be: "any", as it is; `vk.at_least(position)`, with every change before
                that position; `vk.max_lag("500ms")`, as it is unless it is older; or "latest", with every change
                committed before now. The default is "latest" for a LAZY view, "any" for others. A table is always up to
                date.
            wait: seconds to wait for a view that is not filled yet, True for as long as it takes; ViewNotReady then.
            timeout: seconds to wait for a view to come as far as `consistency` says; ViewBehind then.
            bring_up: where much is pending and no maintainer runs, do its work here, on Spark; without it, ViewBehind.
            with_meta: give the row and how it was found, with its position.
        """
        if (consistency is None or consistency == "any") and wait is False and not with_meta:
            if timeout is not TIMEOUT or bring_up is not False:
                Asked(timeout=timeout, bring_up=bring_up)
            found = self._store.get(name, key)
            if isinstance(found, tuple):
                codec, row = found
                return None if row is None else codec.to_dict(row)
            if not self._reads.floors and (consistency is not None or not found.is_lazy):
                try:
                    return get_fast(self._reads, found, key)
                except TableDropped:
                    pass
        asked = Asked(consistency=consistency, wait=wait, timeout=timeout, bring_up=bring_up)
        fresh = None if with_meta else get_fresh(self._reads, name, key, asked)
        if fresh is not None:
            return fresh[0]
        answer = retrying(lambda: get_now(self._reads, name, key, asked))
        return answer if with_meta else answer[0]

    def scan(
        self,
        name: str,
        /,
        *,
        prefix: Any = (),
        lower: Any = None,
        upper: Any = None,
        limit: int | None = None,
        reverse: bool = False,
        base_rows: bool = False,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
    ) -> Rows:
        """The rows in stored order: those whose key begins with `prefix`, and lower <= what follows < upper.

        Bounds are in stored order too: where a column of a view descends, `lower` is the greater value. None is no
        bound, (None,) is NULL. A view repeats a row as often as it holds it, and `limit` counts every time. Of an
        index, `base_rows` gives the rows that its entries are of, as they were where the index stands.

        What stands behind these is as for `get`.
        """
        asked = Asked(consistency=consistency, wait=wait, timeout=timeout, bring_up=bring_up)
        return retrying(
            lambda: scan_now(
                self._reads,
                name,
                prefix=prefix,
                lower=lower,
                upper=upper,
                limit=limit,
                reverse=reverse,
                base_rows=base_rows,
                asked=asked,
            ).begun()
        )

    def snapshot(self, at: Position | None = None) -> SnapshotReader:
        """Several reads at one moment: now, or at a position that the log still reaches back to."""
        return take_snapshot(self._reads, at)

    def session(self, position: Position | str | None = None) -> Session:
        """Reads and writes that never go back: each read covers all that the session has written and read before.

        Args:
            position: where an earlier session ended, or the text of that: `str(s.position)`.
        """
        return Session(self._reads, _Writes(self), start_of(self._reads, position))

    # The log

    def head(self) -> Position:
        """The position behind the last change."""
        return self._store.head()

    def oldest(self, name: str | None = None) -> Position:
        """The oldest position that snapshots and change feeds can still start from; with a name, the feed of that."""
        return self._store.oldest() if name is None else oldest_of(self._store, name)

    def changes(self, name: str, /, *, since: Position, follow: bool = False) -> Iterator[Change]:
        """The changes of a table or view behind a position, in commit order; with `follow`, it waits for more.

        A view changes in batches: those of one batch have one position, which is behind all of them.
        """
        return changes_of(self._store, name, since, follow=follow)

    # Maintenance

    def maintain(
        self,
        *,
        until: Literal["head"] | Position = "head",
        views: Sequence[str] | None = None,
        spark: Spark | None = None,
        progress: bool | Progress = False,
    ) -> Report:
        """Bring views up to date once, then return: in this process where few changes are pending, else on Spark.

        Args:
            until: the position to bring them to; "head" is the head as it is now.
            views: these views, and those that move with them; all if None.
            spark: a session whose context is used; without it one is started here when it is needed, and kept.
            progress: show a bar while views are filled; or a function that is told.
        """
        from viewkeeper.pipeline.once import maintain_once
        from viewkeeper.pipeline.progress import shown

        self._check_writable()
        if isinstance(until, str) and until != "head":
            raise WrongType(f"until is {until!r}", hint='It is "head" or a position, such as a write returns.')
        catalog = self._store.catalog()
        names = [views] if isinstance(views, str) else views
        wanted = None if names is None else {view.id for view in map(catalog.known_view, names)}
        target = None if isinstance(until, str) else self._store.offset(until)
        with shown(progress) as told:
            return maintain_once(self._shared, self._spark_source(spark), until=target, views=wanted, progress=told)

    def start_maintenance(
        self,
        *,
        trigger: str = "100 milliseconds",
        spark: Spark | None = None,
        batch_changes: int = 1_000_000,
        share: float = 1.0,
        verify_every: float | None = None,
        repair: bool = False,
        progress: bool | Progress = False,
        told: Callable[[Round], None] | None = None,
    ) -> Maintenance:
        """Keep all views up to date, in threads of this process, until `.stop()` is called on what is returned.

        One Structured Streaming query is the clock: at most every `trigger` it looks for work and does it.

        Args:
            batch_changes: changes that one batch takes in at most, which bounds its memory.
            share: the part of time that it may take, above 0 and at most 1; what it does not get done waits in the log.
            verify_every: seconds after which each view is compared with its definition again; with `repair`, what
                differs is mended.
            told: called with what each round did.
        """
        from viewkeeper.pipeline.continuous import Maintenance

        self._check_writable()
        started = Maintenance(
            self._shared,
            self._spark_source(spark),
            trigger=trigger,
            batch_changes=batch_changes,
            share=share,
            verify_every=verify_every,
            repair=repair,
            progress=progress,
            told=told,
        )
        self._running.add(started)
        return started

    def verify(
        self,
        view: str,
        *,
        since: Position | None = None,
        spark: Spark | None = None,
        progress: bool | Comparison = False,
    ) -> VerifyReport:
        """Whether a view, hidden columns and auxiliary tables included, equals its definition at its watermark.

        Exact while writes and maintenance go on: everything is computed anew as of the watermark, on Spark where it is
        much, and compared both ways.

        Args:
            since: compare only what changes behind this position can have touched.
        """
        from viewkeeper.pipeline.phases import shown_phases
        from viewkeeper.pipeline.scratchfill import scratch_filler
        from viewkeeper.pipeline.verify import verify

        self._check_writable()
        with shown_phases(progress, f"verifying {view}") as told:
            filler = scratch_filler(self._spark_source(spark), told)
            return verify(self._shared, view, since=since, filler=filler, progress=told)

    def repair(self, view: str, *, spark: Spark | None = None, progress: bool | Comparison = False) -> RepairReport:
        """Compare a view with its definition and rewrite only the rows that differ; then those of views above it."""
        from viewkeeper.pipeline.phases import shown_phases
        from viewkeeper.pipeline.repair import repair
        from viewkeeper.pipeline.scratchfill import scratch_filler

        self._check_writable()
        with shown_phases(progress, f"repairing {view}") as told:
            filler = scratch_filler(self._spark_source(spark), told)
            return repair(self._shared, view, filler=filler, progress=told)

    def _scan(self, query: Any, values: Any) -> tuple[Iterator[list[Row]], Position]:
        from viewkeeper.pipeline.scanning import scan_query

        return scan_query(self._shared, self._spark_source(None), query, values)

    def _bring_up(self, view: View, upto: int) -> None:
        from viewkeeper.pipeline.once import maintain_once

        self._check_writable()
        maintain_once(self._shared, self._spark_source(None), until=upto, views={view.id})

    def _spark_source(self, spark: Spark | None) -> SparkSource:
        from viewkeeper.pipeline.session import SparkSource

        if isinstance(spark, SparkSource):
            return spark
        if spark is not None:
            return SparkSource(spark)
        if self._spark is None:
            self._spark = SparkSource()
        return self._spark

    # The database

    def tables(self) -> list[Table]:
        return sorted(self._store.catalog().tables.values(), key=lambda table: table.name.lower())

    def views(self) -> list[View]:
        """The views and indexes; one that is being built to replace another is not among them."""
        shown = [view for view in self._store.catalog().views.values() if view.replaces is None]
        return sorted(shown, key=lambda view: view.name.lower())

    def status(self) -> list[ViewStatus]:
        """How each view is: its state, how far it is, rows, errors, its last batch."""
        return view_statuses(self._store)

    def info(self) -> DatabaseInfo:
        """Sizes, tables, and the reach of the log."""
        return describe(self._store)

    def configure(self, *, log_retention: str | None = None, statement_rows: int | None = None) -> Settings:
        """Change settings of the database; the settings as they are now.

        Args:
            log_retention: how long the log keeps changes at least, such as "30m", "24h" or "7d".
            statement_rows: how many rows one UPDATE or DELETE may touch.
        """
        from viewkeeper.model.duration import milliseconds

        given: dict[str, Any] = {}
        if log_retention is not None:
            given["log_retention_ms"] = milliseconds(log_retention)
        if statement_rows is not None:
            given["statement_rows"] = statement_rows
        if given:
            self._check_writable()
        return self._store.configure(**given)

    def close(self) -> None:
        """Close this handle, and end maintenance that was started with it; the store closes with its last handle."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._store = self._reads.store = cast(Store, _ClosedStore())
        for running in list(self._running):
            with suppress(ViewkeeperError):
                running.stop()
        if self._spark is not None:
            self._spark.stop()
        finish_notes(self._shared)
        close_store(self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Database {self._shared.folder.path}>"

    def _check_writable(self) -> None:
        if self._closed:
            raise _closed()
        if self._read_only:
            raise ReadOnly("the database was opened with read_only=True", hint="Open another handle without it.")


class _Writes:
    """What a session writes through."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.insert, self.put, self.delete = database.insert, database.put, database.delete
        self.load, self.run = database.load, database._run

    def begin(self, told: Callable[[Position], object]) -> Transaction:
        self._database._check_writable()
        return Transaction(self._database._reads, told)


class _ClosedStore:
    """What a closed handle has for a store; other handles may still have theirs."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _closed()


def _closed() -> Closed:
    return Closed("the database is closed", hint="Open it again with vk.open(path).")
