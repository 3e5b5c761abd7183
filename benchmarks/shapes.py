"""What charts are drawn with: SVG by hand, in plain shapes and in colours that can be read on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape

INK = "#808080"
COLOURS = ("#3b82c4", "#e08a2c", "#4aa564", "#b65fb0")
PLOT, GAP = 190, 64
"""How high a panel is, and what is left of each: the numbers of its axis."""
LEFT, TOP = 16, 64


def drawing(title: str, width: float, height: float, shapes: Iterable[str]) -> str:
    """A file of its own, with its title in the upper left."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(title)}">'
    )
    shown = text(LEFT, 20, title, size=14, anchor="start")
    return "\n".join([head, f"<title>{escape(title)}</title>", shown, *shapes, "</svg>"]) + "\n"


def legend(names: Iterable[str], y: float) -> Iterator[str]:
    x = float(LEFT + GAP)
    for name, colour in zip(names, COLOURS, strict=False):
        yield f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" fill="{colour}"/>'
        yield text(x + 15, y, name, anchor="start")
        x += 40 + 7 * len(name)


def text(x: float, y: float, said: str, *, size: int = 11, anchor: str = "middle", colour: str = INK) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{INK}" stroke-width="1" '
        f'stroke-opacity="{opacity}"/>'
    )


def step(greatest: float) -> float:
    """Between ticks: 1, 2 or 5 times a power of ten, so that there are four to nine.

    >>> step(83.0), step(0.4), step(0)
    (20.0, 0.1, 0.25)
    """
    if greatest <= 0:
        return 0.25
    power = 10.0 ** math.floor(math.log10(greatest / 4))
    return max(power * factor for factor in (1, 2, 5) if power * factor <= greatest / 4 * (1 + 1e-9))


def number(value: float) -> str:
    """As short as it can be read.

    >>> number(1234.5), number(12.34), number(3.21), number(0.046), number(0.001), number(0)
    ('1,234', '12', '3.2', '0.05', '0.001', '0')
    """
    if value == 0 or value >= 10:
        return f"{value:,.0f}"
    if value < 0.01:
        return f"{value:.1g}"
    return f"{value:.2f}".rstrip("0").rstrip(".") if value < 1 else f"{value:.1f}".removesuffix(".0")
