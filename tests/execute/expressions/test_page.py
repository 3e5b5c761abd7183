"""docs/functions.md lists exactly the functions, says when they fail, and its examples are true."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.execute.expressions.both import in_rows
from tests.execute.expressions.notation import Example, examples, shown
from tests.execute.expressions.random_cells import TYPES
from tests.repo.tree import ROOT, fences, section
from viewkeeper.model.types import Kind
from viewkeeper.plan.casts import can_cast, cast_can_fail
from viewkeeper.plan.functions import FUNCTIONS, Nulls

PAGE = ROOT / "docs" / "functions.md"
_EXAMPLE = re.compile(r"`([^`]+)` is `([^`]+)`")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: one function."""

    name: str
    nulls: str
    fails: str
    examples: tuple[Example, ...]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _lines() -> list[Line]:
    rows = [_cells(line) for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return [
        Line(row[0].strip("`"), row[3], row[4], tuple(Example(*found) for found in _EXAMPLE.findall(row[5])))
        for row in rows
        if len(row) == 6
    ]


LINES = _lines()
FENCED = examples("\n".join(fences(section(PAGE, "CASE and conversions"))))


def test_page_lists_every_function_and_no_other() -> None:
    names = [line.name for line in LINES]
    assert sorted(names) == sorted(FUNCTIONS)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_page_says_what_null_does_and_whether_it_fails(line: Line) -> None:
    function = FUNCTIONS[line.name]
    assert (line.fails != "never") == function.can_fail
    assert (line.nulls == "gives NULL") == (function.nulls is Nulls.PROPAGATE)
    assert line.examples


@pytest.mark.parametrize(
    "example", [each for line in LINES for each in line.examples] + FENCED, ids=lambda each: each.text
)
def test_examples_are_true(example: Example) -> None:
    outcome = in_rows(example.expr, ())
    assert ("fails" if outcome.failed else shown(outcome.value, example.expr.type)) == example.gives


def test_page_lists_every_conversion_and_whether_it_fails() -> None:
    rows = [_cells(line) for line in section(PAGE, "CASE and conversions").splitlines() if line.startswith("| ")]
    listed: dict[tuple[str, str], bool] = {}
    for sources, targets, _, fails in rows[1:]:
        pairs = [(a, b) for a in re.findall("[A-Z]+", sources) for b in re.findall("[A-Z]+", targets) if a != b]
        if "DECIMAL" in sources and "DECIMAL" in targets:
            pairs.append(("DECIMAL", "DECIMAL"))
        assert not set(pairs) & set(listed)
        listed |= dict.fromkeys(pairs, fails != "never")
    wanted: dict[tuple[str, str], bool] = {}
    for source in TYPES:
        for target in TYPES:
            if source != target and can_cast(source, target):
                pair = str(source.kind), str(target.kind)
                wanted[pair] = wanted.get(pair, False) or cast_can_fail(source, target)
    # INT becomes BIGINT without failing, in a line of conversions that can.
    wanted[Kind.INT, Kind.BIGINT] = True
    assert listed == wanted
