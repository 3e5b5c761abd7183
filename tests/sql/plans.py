"""Texts that make views, and what they are bound to: plans/*.txt.

    case  := text "\\n=>\\n" report "\\n"
    file  := case ("\\n====\\n" case)*

The statements before the last one of a text make what it reads. `python -m tests.sql.plans` writes the reports anew;
read the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.sql.tables import catalog
from viewkeeper.plan.show import show
from viewkeeper.sql.statements import CreateView

FOLDER = Path(__file__).parent / "plans"
_BETWEEN = "\n====\n"
_GIVES = "\n=>\n"


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def cases(file: Path) -> list[tuple[str, str]]:
    """The texts of a file, each with the report that it has to give."""
    pairs = (case.strip("\n").partition(_GIVES) for case in file.read_text(encoding="utf-8").split(_BETWEEN))
    return [(text, expected) for text, _, expected in pairs]


def report_of(text: str) -> str:
    *_, statement = catalog().run(text)
    assert isinstance(statement, CreateView)
    return "\n".join(_report(statement))


def _report(view: CreateView) -> Iterator[str]:
    """Only what is not the default is named, but for the columns and the plan."""
    columns = [str(column) + " APPROXIMATE" * (place in view.approximate) for place, column in enumerate(view.visible)]
    yield f"{view.kind} {view.name} ({', '.join(columns)})"
    if view.key:
        yield f"key {', '.join(view.visible[place].name + ' DESC' * down for place, down in view.key)}"
    if str(view.maintain) != "DEFERRED":
        yield f"maintain {view.maintain}"
    if view.retain is not None:
        yield f"retain {view.retain}"
    yield f"text {view.text}"
    yield show(view.plan)


if __name__ == "__main__":
    for file in files():
        written = (f"{text}{_GIVES}{report_of(text)}\n" for text, _ in cases(file))
        file.write_text(_BETWEEN.join(written), encoding="utf-8")
