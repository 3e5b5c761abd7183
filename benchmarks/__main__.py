"""Run the benchmarks and print, or write, their table."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks.harness import Figure, machine, note

MODULES = {
    "load": "benchmarks.store_load",
    "put": "benchmarks.store_put",
    "read": "benchmarks.store_read",
    "backlog": "benchmarks.views_backlog",
    "fresh": "benchmarks.views_fresh",
    "scale": "benchmarks.views_scale",
    "joins": "benchmarks.views_joins",
}
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run: {', '.join(MODULES)}; all if none is named")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in MODULES]
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; there are {', '.join(MODULES)}")
    for name in arguments.names or MODULES:
        note(f"== {name}")
        figures = list(importlib.import_module(MODULES[name]).run())
        table = _table(figures)
        print(table, flush=True)
        if arguments.write:
            _write(name, table)
    return 0


def _table(figures: list[Figure]) -> str:
    rows = [("question", "viewkeeper", "reference", "ratio", "wanted", "met")]
    rows += [
        (f.question, f.ours, f.reference, f"{f.ratio:.2f}", f.target, "yes" if f.met else "**no**") for f in figures
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|---|---|---|---|---|---|")
    return "\n".join(lines)


def _write(name: str, table: str) -> None:
    """Replace the part of the page between the markers of this benchmark."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    PAGE.write_text(f"{head}{begin}\nMeasured on {machine()}.\n\n{table}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
