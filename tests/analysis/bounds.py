"""One random case: what the analysis says of a query, against what happens when it is run and when tables change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import viewkeeper as vk
from tests.analysis.answers import Question, Sqlite, check, plain
from tests.analysis.asking import arguments, ask
from tests.analysis.counting import cost_of_write
from tests.analysis.worlds import Source, World, change_one, fill, put_one
from tests.views.kept import finish, maintainer
from viewkeeper.analysis.verdict import Verdict

Note = Callable[[str], object]
ASKED = 5


class Case:
    """A database of a random world, and what was seen while it was tried."""

    def __init__(self, path: Path, world: World, rng: Random, note: Note) -> None:
        self.world = world
        self.rng = rng
        self.note = note
        self.seen: Counter[str] = Counter()
        self.db = vk.open(path, durability="os")
        for text in world.statements:
            note(text)
            self.db.execute(text)

    def maintain(self) -> None:
        finish(maintainer(self.db._shared))

    def try_query(self) -> None:
        question = ask(self.rng, self.world)
        try:
            verdict = self.db.explain(question.ours)
        except vk.Unsupported:
            self.seen["refused"] += 1
            return
        self.note(question.ours)
        # What is to be made over a view that is itself unbounded is not made.
        if not verdict.is_bounded or (verdict.needs and verdict.level == "unbounded"):
            self.seen["unbounded"] += 1
            assert verdict.reason
            return
        self.note(str(verdict))
        if verdict.level == "SI-3":
            # What is refreshed is computed on Spark.
            self.seen["SI-3"] += 1
            return
        prepared = self._prepared(question, verdict)
        self.seen[prepared.verdict.level] += 1
        fill(self.rng, self.db, self.world, self.rng.choice([0, 6, 25]))
        self._ask(question, prepared, "while views lag")
        self._check_latest(question, prepared)
        self.maintain()
        self._check_all(question, prepared, prepared.verdict)
        # More rows, on the same few values, do not make it more work.
        fill(self.rng, self.db, self.world, 60)
        self.maintain()
        self._check_all(question, prepared, prepared.verdict)

    def _prepared(self, question: Question, verdict: Verdict) -> Any:
        mode = self.rng.choice([None, "SYNC", "LAZY"]) if verdict.needs else None
        self.note(f"-- made as {mode}")
        try:
            prepared = self.db.prepare(question.ours, create=True, maintain=mode)
        except vk.Unsupported as error:
            if "cannot be SYNC over" not in str(error):
                raise
            prepared = self.db.prepare(question.ours, create=True)
        now = prepared.verdict
        assert not now.needs, f"still to be made: {now.needs}"
        assert now.is_bounded
        assert now.operations_max <= verdict.operations_max, "it was promised for fewer"
        return prepared

    def _ask(self, question: Question, prepared: Any, when: str) -> list[tuple[dict[str, Any], list[Any]]]:
        found = []
        for _ in range(ASKED):
            params = arguments(self.rng, question)
            self.note(f"{when} {params}")
            rows = prepared(consistency="any", **params)
            given = [tuple(map(plain, row.values())) for row in rows]
            verdict = prepared.verdict
            assert rows.meta.operations <= verdict.operations_max, f"{rows.meta}, at most {verdict.operations_max}"
            assert rows.meta.rows <= verdict.rows_max, f"{rows.meta}, at most {verdict.rows_max}"
            found.append((params, given))
        return found

    def _check_all(self, question: Question, prepared: Any, verdict: Verdict) -> None:
        theirs = Sqlite(self.db, self.world)
        for params, given in self._ask(question, prepared, "with"):
            self.note(f"{params}")
            check(question, params, given, theirs.rows(question, params))
            self.seen["with rows"] += bool(given)
        self._check_storage(verdict, theirs)

    def _check_latest(self, question: Question, prepared: Any) -> None:
        """What is pending is folded in, if it is little."""
        theirs = Sqlite(self.db, self.world)
        for _ in range(2):
            params = arguments(self.rng, question)
            self.note(f"latest {params}")
            try:
                rows = list(prepared(consistency="latest", **params))
            except vk.ViewBehind:
                self.seen["behind"] += 1
                continue
            given = [tuple(map(plain, row.values())) for row in rows]
            check(question, params, given, theirs.rows(question, params))
            self.seen["latest"] += 1

    def _check_storage(self, verdict: Verdict, theirs: Sqlite) -> None:
        """Of several views each has no more rows than is said; where that is of several tables, of all of these."""
        if verdict.storage is None or verdict.level == "unbounded":
            return
        factor, named = verdict.storage
        rows = 1 if named == "one row" else sum(theirs.count(table) for table in named.strip("()").split(" + "))
        for view in self.db.views():
            if view.name in verdict.uses and not view.in_base:
                with self.db._shared.view_tables.reading([view.id]) as reading:
                    # A total is one row, also of none.
                    most = max(1, factor * rows)
                    assert reading.rows(view.id) <= most, f"{view.name} has more than {factor} × {named} ({rows})"

    def check_views(self) -> None:
        """The views of the world have the rows that SQLite finds for them."""
        self.maintain()
        theirs = Sqlite(self.db, self.world)
        for view in self.world.views:
            found = [tuple(map(plain, row.values())) for row in self.db.scan(view.name)]
            assert Counter(found) == Counter(theirs.shown(view)), view.name

    def try_writes(self) -> None:
        """What a changed row costs, put, changed and deleted."""
        self.maintain()
        for table in self.world.tables:
            most = self._most(table)
            if most is None:
                continue
            for write in (self._put(table), self._put(table), *[self._change(table)] * 3, self._delete(table)):
                self.note(f"-- a write to {table.name}, at most {most}")
                cost = cost_of_write(self.db, write, table.name)
                assert cost.reads <= most[0], f"{cost} for a row of {table.name}, at most {most}"
                assert cost.writes <= most[1], f"{cost} for a row of {table.name}, at most {most}"
                self.seen["writes"] += cost.writes > 0

    def _most(self, table: Source) -> tuple[int, int] | None:
        """Reads and writes of a changed row at most; None if a view of it has no bound."""
        key = " AND ".join(f"{name} = :{name}" for name in table.key)
        found: Verdict = self.db.explain(f"SELECT * FROM {table.name} WHERE {key}")
        if any(one.level == "unbounded" for one in self.db.status()):
            return None
        return found.maintenance[table.name]

    def _put(self, table: Source) -> Callable[[], object]:
        return lambda: put_one(self.rng, self.db, table)

    def _change(self, table: Source) -> Callable[[], object]:
        rows = list(self.db.scan(table.name))
        if not rows:
            return lambda: None
        return lambda: change_one(self.rng, self.db, table, self.rng.choice(rows))

    def _delete(self, table: Source) -> Callable[[], object]:
        rows = list(self.db.scan(table.name))
        if not rows:
            return lambda: None
        row = self.rng.choice(rows)
        return lambda: self.db.delete(table.name, *(row[name] for name in table.key))
