"""Line charts: what was measured, as dots, over a size that grows on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.shapes import COLOURS, GAP, LEFT, PLOT, TOP, drawing, legend, line, number, step, text

PANEL, BESIDE = 360, 56
"""How wide a panel is, and what is left beside it for the last values."""
BELOW = 72
"""Room under the panels: the numbers of the axis, what it counts, the legend."""
APART = 13
"""Between the values behind two lines that end close to each other."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Logarithmic, or linear; the ticks lie within it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool

    def share(self, value: float) -> float:
        """Where a value stands: 0 is the beginning, 1 the end."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Lines:
    """A panel: for each line of the chart its values, one for each place along the axis."""

    title: str
    values: tuple[tuple[float, ...], ...]
    is_log: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Panels side by side. `parts` names the lines; `places` are the sizes that were measured, `counted` of what."""

    name: str
    text: str
    unit: str
    counted: str
    parts: tuple[str, ...]
    places: tuple[float, ...]
    panels: tuple[Lines, ...]


def svg(chart: LineChart) -> str:
    """The chart as a file of its own."""
    width = LEFT + len(chart.panels) * (GAP + PANEL + BESIDE)
    height = TOP + PLOT + BELOW
    shapes: list[str] = []
    for place, panel in enumerate(chart.panels):
        shapes += _panel(chart, panel, LEFT + GAP + place * (PANEL + BESIDE + GAP))
    return drawing(chart.text, width, height, [*shapes, *legend(chart.parts, height - 14)])


def logarithmic(values: Sequence[float], beyond: float = 2.0) -> Axis:
    """From half the least value to somewhat beyond the greatest; farther, if that has less than two powers of ten.

    >>> logarithmic([20, 2_000]).ticks, logarithmic([3, 4]).ticks, logarithmic([20, 40]).low
    ((10.0, 100.0, 1000.0), (1.0, 10.0), 10.0)
    """
    low, high = min(values) / 2, max(values) * beyond
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last <= first:
        first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
        low, high = 10.0**first, 10.0**last
    return Axis(low, high, tuple(10.0**power for power in range(first, last + 1)), is_log=True)


def linear(values: Sequence[float]) -> Axis:
    """From zero.

    >>> linear([7, 83]).ticks
    (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    """
    each = step(max(values))
    count = max(1, math.ceil(max(values) / each - 1e-9))
    return Axis(0, each * count, tuple(each * tick for tick in range(count + 1)), is_log=False)


def _panel(chart: LineChart, panel: Lines, left: float) -> Iterator[str]:
    floor = TOP + PLOT
    values = [value for line in panel.values for value in line]
    along, up = logarithmic(chart.places, 1.1), logarithmic(values) if panel.is_log else linear(values)
    yield text(left + PANEL / 2, TOP - 22, panel.title, size=12)
    yield text(left - 8, TOP - 10, chart.unit, anchor="end")
    yield line(left, floor, left + PANEL, floor, 1)
    for tick in up.ticks:
        y = floor - PLOT * up.share(tick)
        yield line(left, y, left + PANEL, y, 0.35)
        yield text(left - 8, y + 4, number(tick), anchor="end")
    for tick in along.ticks:
        x = left + PANEL * along.share(tick)
        yield line(x, floor, x, floor + 5, 1)
        yield text(x, floor + 18, number(tick))
    yield text(left + PANEL / 2, floor + 34, chart.counted, size=12)
    ends = []
    for measured, colour in zip(panel.values, COLOURS, strict=False):
        dots = [
            (left + PANEL * along.share(place), floor - PLOT * up.share(value))
            for place, value in zip(chart.places, measured, strict=True)
        ]
        yield from _line(dots, colour)
        ends.append((dots[-1][1], number(measured[-1]), colour))
    yield from _ends(ends, left + PANEL + 6)


def _line(dots: list[tuple[float, float]], colour: str) -> Iterator[str]:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>'
    for x, y in dots:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def _ends(ends: list[tuple[float, str, str]], x: float) -> Iterator[str]:
    """The last value of each line beside the panel, as high as its dot; of two that are close the upper gives way."""
    below = math.inf
    for y, said, colour in sorted(ends, reverse=True):
        below = min(y, below - APART)
        yield text(x, below + 4, said, anchor="start", colour=colour)
