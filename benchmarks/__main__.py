"""Run the benchmarks and print, or write, their table."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from benchmarks import lines, plot
from benchmarks.harness import SMALL, Figure, machine, note
from benchmarks.lines import LineChart
from benchmarks.plot import Chart, Table

MODULES = {
    "load": "benchmarks.store_load",
    "put": "benchmarks.store_put",
    "read": "benchmarks.store_read",
    "backlog": "benchmarks.views_backlog",
    "fresh": "benchmarks.views_fresh",
    "scale": "benchmarks.views_scale",
    "joins": "benchmarks.views_joins",
    "reads": "benchmarks.reads_levels",
    "sync": "benchmarks.writes_sync",
    "lazy": "benchmarks.lazy_talk",
    "advise": "benchmarks.advise_tpcw",
    "twotags": "benchmarks.twotags",
    "tpcw": "benchmarks.tpcw",
    "mixes": "benchmarks.tpcw_mixes",
}
SIZED = {"reads", "sync", "lazy", "twotags", "tpcw", "mixes"}
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run: {', '.join(MODULES)}; all if none is named")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    parser.add_argument("--small", action="store_true", help=f"only to see them run: {', '.join(sorted(SIZED))}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in MODULES]
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; there are {', '.join(MODULES)}")
    if arguments.small:
        if arguments.write or not arguments.names or not SIZED.issuperset(arguments.names):
            parser.error(f"--small is for {', '.join(sorted(SIZED))}, and its figures are not worth writing down")
        os.environ[SMALL] = "1"
    for name in arguments.names or MODULES:
        note(f"== {name}")
        module = importlib.import_module(MODULES[name])
        found = list(module.run())
        parts = [_table([one for one in found if isinstance(one, Figure)])]
        parts += [one.markdown() for one in found if isinstance(one, Table)]
        charts = [one for one in found if isinstance(one, Chart | LineChart)]
        print("\n\n".join(parts), flush=True)
        if arguments.write:
            parts += [_drawn(chart) for chart in charts]
            _write(name, str(module.__doc__).split("\n\n")[0], "\n\n".join(parts))
    return 0


def _drawn(chart: Chart | LineChart) -> str:
    """Write a chart beside the page; what shows it there."""
    file = PAGE.parent / "plots" / f"{chart.name}.svg"
    file.parent.mkdir(exist_ok=True)
    shapes = plot.svg(chart) if isinstance(chart, Chart) else lines.svg(chart)
    file.write_text(shapes, encoding="utf-8")
    return f"![{chart.text}](plots/{file.name})"


def _table(figures: list[Figure]) -> str:
    rows = [("question", "viewkeeper", "reference", "ratio", "wanted", "met")]
    rows += [
        (f.question, f.ours, f.reference, f"{f.ratio:.2f}", f.target, "yes" if f.met else "**no**") for f in figures
    ]
    printed = ["| " + " | ".join(row) + " |" for row in rows]
    printed.insert(1, "|---|---|---|---|---|---|")
    return "\n".join(printed)


def _write(name: str, question: str, table: str) -> None:
    """Replace the part of the page between the markers of this benchmark; behind the last, if there are none yet."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if begin not in text:
        text = f"{text.rstrip()}\n\n{question}\n\n{begin}\n{end}\n"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    PAGE.write_text(f"{head}{begin}\nMeasured on {machine()}.\n\n{table}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
