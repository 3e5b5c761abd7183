"""The delta rules by example: rules/*.txt. Each file says what a rule is, and shows it at work.

    file     := "# " what the rule is … case ("\\n====\\n" case)*
    case     := section+             a line with its name and a colon, then what it holds, indented
    view     := the view, over  T (id BIGINT PRIMARY KEY, g STRING, n BIGINT, t STRING, at TIMESTAMP)
    below    := a view that it reads, if it reads one
    rows     := what T holds when the view is filled
    changes  := one transaction: rows that go have weight −1, rows that come +1
    plan     := the delta plan of the view
    change   := its change table, in stored order: what goes and what comes; behind | are columns that nobody sees;
                0 is a row that looks as before, while what is kept beside it has changed
    values   := weights that its pre-aggregations have afterwards

The last three are checked. `python -m tests.views.rules` writes them anew; read the difference before you keep it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import viewkeeper as vk
from tests.views.deltatext import show_delta
from tests.views.kept import check_views
from viewkeeper.delta.tables import STATE, WEIGHT
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Kind, Row, Type
from viewkeeper.model.values import present
from viewkeeper.sql.sources import source_of
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import BoundView, bound_views

FOLDER = Path(__file__).parent / "rules"
TABLE = "CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING, n BIGINT, t STRING, at TIMESTAMP)"
COLUMNS = ("id", "g", "n", "t", "at")
BETWEEN = "\n====\n"
CHECKED = ("plan", "change", "values")

Case = dict[str, list[str]]
"""Sections by name."""


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def read(file: Path) -> tuple[list[str], list[Case]]:
    """What a file says about its rule, and its cases."""
    lines = file.read_text(encoding="utf-8").splitlines()
    about = [line for line in lines if line.startswith("#")]
    rest = "\n".join(line for line in lines if not line.startswith("#"))
    return about, [_sections(case) for case in rest.split(BETWEEN)]


def _sections(text: str) -> Case:
    case: Case = {}
    name = ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            name = line[:-1]
            case[name] = []
        elif line.strip():
            case[name].append(line.removeprefix("  "))
    return case


def written(about: list[str], cases: Iterable[Case]) -> str:
    texts = [
        "".join(f"{name}:\n" + "".join(f"  {line}".rstrip() + "\n" for line in lines) for name, lines in case.items())
        for case in cases
    ]
    return "\n".join(about) + "\n\n" + BETWEEN.lstrip("\n").join(texts)


def run(case: Case) -> Case:
    """What the checked sections of a case have to be; on the way, the view is compared with the oracle."""
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "db", durability="os") as db:
        db.execute(TABLE)
        _write(db, [(1, row) for _, row in _table(case.get("rows", []))])
        for text in (*case.get("below", []), *case["view"]):
            db.execute(f"CREATE {text}")
        db.maintain()
        store = db._shared
        view = max(store.catalog().views.values(), key=lambda view: view.id)
        _write(db, _table(case["changes"]))
        bound = bound_views(store)
        one = bound.views[view.id]
        group = store.view_tables.group_of(view.id)
        assert group is not None
        state = store.view_tables.groups()[group]
        batch = batch_by_rows(store, bound, group, state, store.offset(store.head()), Timing())
        found = {
            "plan": show_delta(one.program, *_source(store, one)).splitlines(),
            "change": list(_change(one, batch.objects.get(view.id))),
            "values": list(_values(store, one, batch.objects)),
        }
        db.maintain()
        assert check_views(store, lambda position: _base(store, position)) == len(store.catalog().views)
        return {name: lines for name, lines in found.items() if lines}


def _source(store: EmbeddedStore, one: BoundView) -> tuple[str, list[str]]:
    catalog = store.catalog()
    found = catalog.tables.get(one.leaves[0].object) or catalog.views[one.leaves[0].object]
    if one.leaves[0].object in catalog.views:
        return found.name, [column.name for column in catalog.views[one.leaves[0].object].layout.columns]
    return found.name, [column.name for column in source_of(found).columns]


def _base(store: EmbeddedStore, position: int) -> list[Row]:
    codec = store.catalog().codec("T")
    return [row for part in store.snapshot(store.position(position)).scan(codec, ALL) for row in part]


def _table(lines: list[str]) -> list[tuple[int, dict[str, Any]]]:
    """Weighted rows of a text table; its first line names the columns, "-" is NULL, "_" stands for a space."""
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
    if name in ("id", "n"):
        return int(text)
    return datetime.fromisoformat(f"2024-05-01T{text}+00:00") if name == "at" else text.replace("_", " ")


def _write(db: vk.Database, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """Rows that go, then rows that come, in one transaction."""
    with db.transaction() as tx:
        for weight, row in rows:
            if weight < 0:
                assert tx.get("T", row["id"]) is not None
                tx.delete("T", row["id"])
        for weight, row in rows:
            if weight > 0:
                tx.put("T", {**dict.fromkeys(COLUMNS), **row})


def _change(one: BoundView, changes: ObjectChanges | None) -> Iterator[str]:
    layout = one.view.layout
    hidden = [column.name for column in layout.columns[layout.visible :] if column.name not in (STATE, WEIGHT)]
    head = [
        "weight",
        *(column.name for column in layout.columns[: layout.visible]),
        *(["|", *hidden] if hidden else []),
    ]
    lines: list[list[str]] = []
    for _, (before, after) in [] if changes is None else sorted(changes.changes.items()):
        assert changes is not None
        pair = [(sign, changes.codec.decode(row)) for sign, row in ((-1, before), (1, after)) if row is not None]
        texts = [(sign, _shown(changes.codec, cells, layout.visible, len(hidden))) for sign, cells in pair]
        if len(texts) == 2 and texts[0][1] == texts[1][1]:
            lines.append(["0", *texts[0][1]])
        else:
            lines += [[f"{sign:+d}".replace("-", "−"), *text] for sign, text in texts]
    yield from _aligned([head, *lines])


def _shown(codec: RowCodec, cells: Row, visible: int, hidden: int) -> list[str]:
    texts = [_text(cell, column.type) for cell, column in zip(cells, codec.table.columns, strict=True)]
    return [*texts[:visible], *(["|", *texts[visible : visible + hidden]] if hidden else [])]


def _text(cell: Any, type: Type) -> str:
    if cell is None:
        return "-"
    if type.kind is Kind.BINARY:
        return "…"
    if type.kind is Kind.TIMESTAMP:
        return f"{present(cell, type):%H:%M:%S}"
    return str(present(cell, type)).replace(" ", "_")


def _values(store: EmbeddedStore, one: BoundView, objects: Mapping[int, ObjectChanges]) -> Iterator[str]:
    for stage in one.program.tables.stages:
        for values in stage.values:
            changes = objects.get(values.id)
            if changes is None or not changes.changes:
                continue
            head = ["weight", *(f"group{place}" for place in range(len(values.columns) - 2)), "value"]
            lines = []
            with store.view_tables.reading([values.id]) as reading:
                for key, (_, after) in sorted(changes.changes.items()):
                    stored = after or reading.get(values.id, key)
                    assert stored is not None
                    *cells, weight = changes.codec.decode(stored)
                    types = [column.type for column in values.columns]
                    shown = [_text(cell, type) for cell, type in zip(cells, types, strict=False)]
                    lines.append(["0" if after is None else str(weight), *shown])
            yield from _aligned([head, *lines])


def _aligned(lines: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


if __name__ == "__main__":
    for file in files():
        about, cases = read(file)
        for case in cases:
            for name in CHECKED:
                case.pop(name, None)
            case.update(run(case))
        file.write_text(written(about, cases), encoding="utf-8")
