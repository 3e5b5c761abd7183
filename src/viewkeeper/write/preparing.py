"""Queries that are prepared: analysed once, with what they need made, and then run as often as they are called."""

from __future__ import annotations

from typing import Any, Protocol

from viewkeeper.analysis.ddl import maintained, mode_of
from viewkeeper.analysis.sqltext import quoted
from viewkeeper.analysis.verdict import UNBOUNDED, Verdict
from viewkeeper.errors import ViewkeeperError
from viewkeeper.read.consistency import Consistency
from viewkeeper.read.prepared import unbounded
from viewkeeper.read.rows import Rows


class Asked(Protocol):
    """What a prepared query asks of a database."""

    def explain(self, sql: str, *, name: str = "") -> Verdict: ...

    def execute(self, sql: str) -> object: ...

    def query(self, sql: str, /, *, consistency: Consistency = None, **params: Any) -> Rows: ...


class PreparedQuery:
    """A query and its verdict. Thread-safe.

    It stays right when tables, indexes and views change: it is analysed again when it is called. `verdict` is what was
    said when it was prepared.
    """

    def __init__(self, db: Asked, sql: str, verdict: Verdict) -> None:
        self._db = db
        self.sql = sql
        self.verdict = verdict

    def __call__(self, /, *, consistency: Consistency = None, **params: Any) -> Rows:
        """The rows for these parameters; as `db.query`."""
        return self._db.query(self.sql, consistency=consistency, **params)

    def __repr__(self) -> str:
        return f"<PreparedQuery {self.verdict.level}: {' '.join(self.sql.split())[:60]}>"


def prepare_query(db: Asked, sql: str, *, create: bool, maintain: str | None, name: str) -> PreparedQuery:
    """Analyse a query, and with `create` make what it needs. BadParameter if `maintain` is no mode for that."""
    mode = None if maintain is None else mode_of(maintain)
    verdict = db.explain(sql)
    if verdict.needs and name:
        verdict = db.explain(sql, name=name)
    if create:
        if not verdict.is_bounded or (verdict.needs and verdict.level == UNBOUNDED):
            raise unbounded(verdict)
        _make(db, verdict, mode)
        if verdict.needs:
            verdict = db.explain(sql)
            if verdict.needs:
                raise unbounded(verdict)
    return PreparedQuery(db, sql, verdict)


def _make(db: Asked, verdict: Verdict, mode: str | None) -> None:
    """Make what a query needs: all of it, or nothing if one of the statements is refused."""
    made: list[str] = []
    try:
        for one in verdict.made:
            if one.ddl is not None:
                db.execute(maintained(one.ddl, mode))
                made.append(f"DROP {'INDEX' if one.kind == 'index' else 'VIEW'} {quoted(one.name)}")
    except ViewkeeperError:
        for text in reversed(made):
            db.execute(text)
        raise
