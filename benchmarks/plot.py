"""Bar charts as SVG, by hand: plain shapes, and greys that can be read on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

INK = "#808080"
COLOURS = ("#3b82c4", "#e08a2c", "#4aa564", "#b65fb0")
PANEL, PLOT, GAP = 300, 190, 64
LEFT, TOP = 16, 64
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
    shapes = [_text(LEFT, 20, chart.text, size=14, anchor="start")]
    for number, panel in enumerate(chart.panels):
        shapes += _panel(panel, LEFT + GAP + number * (PANEL + GAP), chart.unit)
    shapes += _legend(chart.parts, height - 14)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(chart.text)}">'
    )
    return "\n".join([head, f"<title>{escape(chart.text)}</title>", *shapes, "</svg>"]) + "\n"


def _panel(panel: Panel, left: float, unit: str) -> Iterator[str]:
    step = _step(panel.greatest)
    top = step * max(1, math.ceil(panel.greatest / step - 1e-9))
    floor = TOP + PLOT
    yield _text(left + PANEL / 2, TOP - 22, panel.title, size=12)
    yield _text(left - 8, TOP - 10, unit, anchor="end")
    for number in range(round(top / step) + 1):
        y = floor - PLOT * number * step / top
        yield _line(left, y, left + PANEL, y, 0.35 if number else 1)
        yield _text(left - 8, y + 4, _number(number * step), anchor="end")
    count = sum(len(group.bars) + 1 for group in panel.groups)
    slot = PANEL / max(1, count)
    x = left + slot / 2
    for group in panel.groups:
        yield _text(x + slot * len(group.bars) / 2, floor + 34, group.label, size=12)
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
    yield _text(x + slot / 2, y - 4, _number(sum(bar.values)), size=10)
    yield _text(x + slot / 2, floor + 16, bar.label, size=10)


def _legend(parts: tuple[str, ...], y: float) -> Iterator[str]:
    x = float(LEFT + GAP)
    for part, colour in zip(parts, COLOURS, strict=False):
        yield f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 15, y, part, anchor="start")
        x += 40 + 7 * len(part)


def _step(greatest: float) -> float:
    """Between ticks: 1, 2 or 5 times a power of ten, so that there are four to nine.

    >>> _step(83.0), _step(0.4), _step(0)
    (20.0, 0.1, 0.25)
    """
    if greatest <= 0:
        return 0.25
    power = 10.0 ** math.floor(math.log10(greatest / 4))
    return max(power * factor for factor in (1, 2, 5) if power * factor <= greatest / 4 * (1 + 1e-9))


def _number(value: float) -> str:
    """As short as it can be read.

    >>> _number(1234.5), _number(12.34), _number(3.21), _number(0.046), _number(0)
    ('1,234', '12', '3.2', '0.05', '0')
    """
    if value == 0 or value >= 10:
        return f"{value:,.0f}"
    return f"{value:.2f}".rstrip("0").rstrip(".") if value < 1 else f"{value:.1f}".removesuffix(".0")


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{INK}" stroke-width="1" '
        f'stroke-opacity="{opacity}"/>'
    )
