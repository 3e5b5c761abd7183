"""What joins and unions do, by example: joinrules/*.txt, each table written by hand from what SQL means.

    file       := "# " what it is about … case ("\\n====\\n" case)*
    case       := section+           a line with its name and a colon, then what it holds, indented
    view       := the view, over  A, B and C (id BIGINT PRIMARY KEY, k BIGINT, m BIGINT, s STRING)
    below      := views that it reads, if it reads any
    rows A     := what A holds when the view is filled; B and C likewise
    changes A  := one transaction, with those of B and C: rows that go have weight −1, rows that come +1
    then A     := the next transaction of the same batch
    change     := what readers see go and come; "-" is NULL

A case is run three times: in one batch, with a batch for each transaction, and with the view filled by a maintainer.
Each time what changed is compared with `change`, and what the view holds with the oracle.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.oracle import Cells
from tests.views.kept import check_joins
from tests.views.rules import Case, read
from viewkeeper.pipeline.verify import verify
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL
from viewkeeper.write import views as statements

FOLDER = Path(__file__).parent / "joinrules"
TABLES = ("A", "B", "C")
COLUMNS = ("id", "k", "m", "s")
TRANSACTIONS = ("changes", "then")

Weighted = Counter[tuple[str, ...]]
"""Rows as texts, with their weights."""


def cases() -> Iterator[tuple[str, Case]]:
    """Each case with a name for it."""
    for file in sorted(FOLDER.glob("*.txt")):
        about, found = read(file)
        assert about, f"{file.name} does not say what it is about"
        for number, case in enumerate(found, 1):
            yield f"{file.stem}-{number}", case


def expected(case: Case) -> tuple[list[str], Weighted]:
    """The columns and the rows of `change`."""
    head, *lines = case["change"]
    found: Weighted = Counter()
    for line in lines:
        weight, *cells = line.split()
        found[tuple(cells)] += int(weight.replace("−", "-"))
    return head.split()[1:], found


def run(case: Case, *, apart: bool = False, by_maintainer: bool = False) -> tuple[list[str], Weighted]:
    """What the view's columns are and how it changed. `apart`: with a batch for each transaction."""
    with (
        tempfile.TemporaryDirectory() as folder,
        vk.open(Path(folder) / "db", durability="os") as db,
        pytest.MonkeyPatch.context() as patch,
    ):
        for table in TABLES:
            db.execute(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, k BIGINT, m BIGINT, s STRING)")
        _write(db, case, "rows")
        if by_maintainer:
            patch.setattr(statements, "SMALL", -1)
        for text in (*case.get("below", []), " ".join(case["view"])):
            db.execute(f"CREATE {text}")
        db.maintain()
        _check(db)
        view = max(db._shared.catalog().views.values(), key=lambda view: view.id)
        since = db._shared.head()
        for name in TRANSACTIONS:
            _write(db, case, name)
            if apart:
                db.maintain()
                _check(db)
        db.maintain()
        _check(db)
        found: Weighted = Counter()
        for change in db.changes(view.name, since=since):
            for row, weight in ((change.before, -1), (change.after, 1)):
                if row is not None:
                    found[tuple(map(_text, row.values()))] += weight
        return list(view.column_names), Counter({row: weight for row, weight in found.items() if weight})


def _text(cell: Any) -> str:
    return "-" if cell is None else str(cell)


def _write(db: vk.Database, case: Case, name: str) -> None:
    """Rows that go, then rows that come, in one transaction."""
    rows = [(table, weight, row) for table in TABLES for weight, row in _table(case.get(f"{name} {table}", []))]
    if not rows:
        return
    with db.transaction() as tx:
        for table, weight, row in rows:
            if weight < 0:
                stored = tx.get(table, row["id"])
                assert stored is not None
                assert row.items() <= stored.items(), "a row that goes is not what is there"
                tx.delete(table, row["id"])
        for table, weight, row in rows:
            if weight > 0:
                assert tx.get(table, row["id"]) is None, "a row that comes is already there"
                tx.insert(table, {**dict.fromkeys(COLUMNS), **row})


def _table(lines: list[str]) -> list[tuple[int, dict[str, Any]]]:
    if not lines:
        return []
    names = lines[0].split()
    found = []
    for line in lines[1:]:
        cells: dict[str, Any] = dict(zip(names, line.split(), strict=True))
        weight = int(cells.pop("weight", "+1").replace("−", "-"))
        found.append((weight, {name: _cell(name, text) for name, text in cells.items()}))
    return found


def _cell(name: str, text: str) -> Any:
    if text == "-":
        return None
    return text if name == "s" else int(text)


def _check(db: vk.Database) -> None:
    """All views are whole and what they have to be, also what they keep beside."""
    store = db._shared
    views = store.catalog().views
    assert check_joins(store, lambda table, position: _base(store, table, position)) == len(views)
    for view in views.values():
        assert verify(store, view.name).ok


def _base(store: EmbeddedStore, table: int, position: int) -> list[Cells]:
    codec = store.catalog().codec(store.catalog().tables[table].name)
    return [row for part in store.snapshot(store.position(position)).scan(codec, ALL) for row in part]
