"""The charts of the benchmarks."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks import __main__, lines, plot, shapes
from benchmarks.lines import LineChart, Lines
from benchmarks.plot import Bar, Chart, Group, Panel

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*values: tuple[float, ...], is_log: bool = True) -> ET.Element:
    chart = LineChart(
        name="chart",
        text="Two lines & a title",
        unit="ms",
        counted="rows",
        parts=("one", "other"),
        places=(100, 1_000, 10_000),
        panels=(Lines("a panel", values, is_log),),
    )
    return ET.fromstring(lines.svg(chart))


def dots(image: ET.Element) -> list[tuple[float, float]]:
    return [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in image.iter(f"{SVG}circle")]


def texts(image: ET.Element) -> dict[str | None, float]:
    """How far down each text stands."""
    return {shape.text: float(shape.attrib["y"]) for shape in image.iter(f"{SVG}text")}


@pytest.mark.parametrize("module", [lines, shapes], ids=["lines", "shapes"])
def test_examples_of_charts_are_true(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed


def test_powers_of_ten_are_as_far_apart_on_both_logarithmic_axes() -> None:
    [(x1, y1), (x2, y2), (x3, y3)] = dots(drawn((2, 20, 200)))
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.2)
    assert x1 < x2
    assert y1 > y2


def test_a_linear_axis_begins_at_zero() -> None:
    image = drawn((10, 20, 40), is_log=False)
    zero = texts(image)["0"] - 4
    low, middle, high = (zero - y for _, y in dots(image))
    assert (middle, high) == (pytest.approx(2 * low, abs=0.2), pytest.approx(4 * low, abs=0.2))


def test_last_values_stand_beside_their_dots_but_not_on_each_other() -> None:
    apart = texts(drawn((2, 20, 300), (2, 3, 4)))
    assert apart["300"] < apart["4"] - 50
    close = texts(drawn((2, 20, 301), (2, 20, 300)))
    assert close["300"] - close["301"] == pytest.approx(lines.APART)


def test_a_chart_is_a_file_that_names_its_lines() -> None:
    image = drawn((2, 20, 200), (1, 1, 1))
    assert {"Two lines & a title", "a panel", "ms", "rows", "one", "other", "100", "1,000", "10,000"} <= set(
        texts(image)
    )
    assert len(dots(image)) == 6


def test_a_bar_is_as_high_as_its_value() -> None:
    bars = (Bar("a", (10.0, 5.0)), Bar("b", (20.0, 0.0)))
    chart = Chart(name="c", text="c", unit="ms", parts=("x", "y"), panels=(Panel("p", (Group("g", bars),)),))
    shown = re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)"', plot.svg(chart))
    ten, five, twenty, none = map(float, shown[:4])
    assert (twenty, five, none) == (pytest.approx(2 * ten, abs=0.2), pytest.approx(ten / 2, abs=0.2), 0)


def test_charts_are_written_beside_the_page_that_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(__main__, "PAGE", tmp_path / "page.md")
    grown = LineChart(
        name="grown",
        text="grown",
        unit="",
        counted="",
        parts=("a",),
        places=(1, 10),
        panels=(Lines("", ((1, 2),), True),),
    )
    bars = Chart(name="bars", text="bars", unit="", parts=("a",), panels=(Panel("", (Group("", (Bar("", (1.0,)),)),)),))
    for chart, shape in ((grown, "<circle"), (bars, "<rect")):
        assert __main__._drawn(chart) == f"![{chart.text}](plots/{chart.name}.svg)"
        assert shape in (tmp_path / "plots" / f"{chart.name}.svg").read_text(encoding="utf-8")
