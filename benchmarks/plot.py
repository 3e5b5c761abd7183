"""Bar charts, and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.shapes import COLOURS, GAP, LEFT, PLOT, TOP, drawing, legend, line, number, step, text

PANEL = 300
BELOW = 74
"""Room under the bars: their names, the names of their groups, the legend."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; its values are stacked, the first at the bottom."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Bars that stand together."""

    label: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Groups on one axis of their own, which begins at zero."""

    title: str
    groups: tuple[Group, ...]

    @property
    def greatest(self) -> float:
        return max((sum(bar.values) for group in self.groups for bar in group.bars), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Panels side by side. `parts` names the stacked values; `name` is that of the file, `text` what it shows."""

    name: str
    text: str
    unit: str
    parts: tuple[str, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that stands behind the figures, with a line of what it shows."""

    text: str
    rows: tuple[tuple[str, ...], ...]
    """The first is the heading."""

    def markdown(self) -> str:
        lines = ["| " + " | ".join(row) + " |" for row in self.rows]
        lines.insert(1, "|" + "---|" * len(self.rows[0]))
        return f"{self.text}\n\n" + "\n".join(lines)


def svg(chart: Chart) -> str:
    """The chart as a file of its own."""
    width = LEFT + len(chart.panels) * (PANEL + GAP) + LEFT
    height = TOP + PLOT + BELOW
    shapes: list[str] = []
    for place, panel in enumerate(chart.panels):
        shapes += _panel(panel, LEFT + GAP + place * (PANEL + GAP), chart.unit)
    return drawing(chart.text, width, height, [*shapes, *legend(chart.parts, height - 14)])


def _panel(panel: Panel, left: float, unit: str) -> Iterator[str]:
    each = step(panel.greatest)
    top = each * max(1, math.ceil(panel.greatest / each - 1e-9))
    floor = TOP + PLOT
    yield text(left + PANEL / 2, TOP - 22, panel.title, size=12)
    yield text(left - 8, TOP - 10, unit, anchor="end")
    for tick in range(round(top / each) + 1):
        y = floor - PLOT * tick * each / top
        yield line(left, y, left + PANEL, y, 0.35 if tick else 1)
        yield text(left - 8, y + 4, number(tick * each), anchor="end")
    count = sum(len(group.bars) + 1 for group in panel.groups)
    slot = PANEL / max(1, count)
    x = left + slot / 2
    for group in panel.groups:
        yield text(x + slot * len(group.bars) / 2, floor + 34, group.label, size=12)
        for bar in group.bars:
            yield from _bar(bar, x, slot, floor, PLOT / top)
            x += slot
        x += slot


def _bar(bar: Bar, x: float, slot: float, floor: float, scale: float) -> Iterator[str]:
    y = floor
    for value, colour in zip(bar.values, COLOURS, strict=False):
        y -= value * scale
        yield (
            f'<rect x="{x + slot * 0.1:.1f}" y="{y:.1f}" width="{slot * 0.8:.1f}" height="{value * scale:.1f}" '
            f'fill="{colour}"/>'
        )
    yield text(x + slot / 2, y - 4, number(sum(bar.values)), size=10)
    yield text(x + slot / 2, floor + 16, bar.label, size=10)
