"""Advice for people: a table of the queries, what is wrong with some, the cost of each table, the statements."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from viewkeeper.analysis.advice import Advice, Advised, TableCost, table_one
from viewkeeper.analysis.report import SHORT, costs_lines, storage_text
from viewkeeper.analysis.verdict import LEVELS

WIDTH = 80
"""Where prose is broken. Statements are not, so that they can be copied."""


def advice_text(advice: Advice) -> str:
    """All of it, a paragraph for each part that there is something to say of."""
    return "\n\n".join("\n".join(part) for part in _parts(advice))


def _parts(advice: Advice) -> Iterator[list[str]]:
    yield list(_queries(advice))
    legend = list(_legend(advice))
    if legend:
        yield legend
    yield from (list(_wrong(one)) for one in advice.queries if not one.is_good)
    costs = list(costs_lines({table: (cost.total, cost.new) for table, cost in advice.tables.items()}))
    if costs:
        yield costs
    if advice.ddl:
        yield ["to be created:", *(f"  {text};" for text in advice.ddl)]
    if advice.notes:
        yield ["not in the mode that was asked for:", *(f"  {text}" for text in advice.notes)]


def _queries(advice: Advice) -> Iterator[str]:
    head = ["query", "level", "operations", "rows"]
    head += ["p99 ms"] if advice.slo is not None else []
    rows: list[list[str]] = [[*head, "stored", "cost of a changed row"]]
    for one in advice.queries:
        first, *more = _costs(one) or [""]
        storage = None if one.verdict is None else one.verdict.storage
        stored = "" if storage is None else storage_text(storage)
        rows.append([*_figures(one, timed=advice.slo is not None), stored, first])
        rows += [[*([""] * len(head)), "", text] for text in more]
    yield from aligned(rows, right=range(2, len(head)))


def _figures(one: Advised, *, timed: bool) -> list[str]:
    verdict = one.verdict
    counts = (None, None) if verdict is None else (verdict.operations_max, verdict.rows_max)
    shown = [one.name, one.level, *("-" if count is None else f"{count:,}" for count in counts)]
    if timed:
        latency = None if verdict is None else verdict.latency
        shown.append("-" if latency is None else f"{latency[1]:.3g}" + "!" * _is_slow(one))
    return shown


def _costs(one: Advised) -> list[str]:
    return [f"{table} {_cost(cost)}" for table, cost in one.costs.items()]


def _cost(cost: TableCost) -> str:
    """Reads and writes; what does not exist yet is marked."""
    if cost.total is None:
        return "any number of r and w"
    shown, new = (f"{reads:,} r {writes:,} w" for reads, writes in (cost.total, cost.new))
    return f"{shown} *" if cost.new == cost.total else f"{shown}, {new} *" if any(cost.new) else shown


def _is_slow(one: Advised) -> bool:
    return one.verdict is not None and one.verdict.latency is not None and one.verdict.meets_slo is False


def _legend(advice: Advice) -> Iterator[str]:
    """What levels and letters of the table mean, as far as they are in it."""
    levels = [f"{level}: {text}" for level, text in SHORT.items() if any(one.level == level for one in advice.queries)]
    if levels:
        yield from textwrap.wrap("; ".join(levels), WIDTH)
    costs = [cost for one in advice.queries for cost in one.costs.values()]
    if costs:
        text = "r, w: reads and writes of indexes and views for a changed row"
        yield f"{text}; *: not there yet" if any(any(cost.new) for cost in costs) else text
    if sum(bool(one.costs) for one in advice.queries) > 1:
        yield "What queries share is counted in each of them, and once in the totals below."
    if any(map(_is_slow, advice.queries)):
        yield "!: slower than asked for"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Texts in columns, two blanks between them.

    >>> list(aligned([["a", "n"], ["bc", "10"]], right=[1]))
    ['a    n', 'bc  10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _wrong(one: Advised) -> Iterator[str]:
    verdict = one.verdict
    where = f" ({one.where})" if one.where else ""
    if verdict is None:
        yield from _prose(f"{one.name} is refused{where}: ", one.error)
        return
    if verdict.latency is not None and _is_slow(one):
        p50, p99 = verdict.latency
        text = f"predicted p50 {p50:.3g} ms, p99 {p99:.3g} ms at its bounds; asked for: {verdict.slo:g} ms."
        yield from _prose(f"{one.name} is too slow{where}: ", text)
    if verdict.level == LEVELS[-1]:
        yield from _prose(f"{one.name} is unbounded{where}: ", verdict.reason)
    if verdict.suggestions:
        yield "  what would bound it:"
        for suggestion in verdict.suggestions:
            yield f"    {suggestion.text} ({suggestion.level})"


def _prose(begin: str, text: str) -> Iterator[str]:
    """A text in lines of a width that can be read, those behind the first moved in. What it quotes stays as it is."""
    for number, line in enumerate((begin + text).splitlines()):
        if line.startswith("    "):
            yield line
            continue
        indent = "  " if number else ""
        yield from textwrap.wrap(
            line.strip(),
            WIDTH,
            initial_indent=indent,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        )


def levels_text(advice: Advice) -> str:
    """How many queries have a level, and for each invariant and level whether it is independent of the data's size."""
    levels = [level for level in LEVELS if any(one.level == level for one in advice.queries)]
    count = [str(sum(one.level == level for one in advice.queries)) for level in levels]
    rows = [["", *levels], ["queries", *count]]
    for invariant, marks in table_one(advice).items():
        rows.append([invariant, *(marks.get(level, "") for level in levels)])
    told = "I: independent of the size of the data, D: dependent on it, -: not needed"
    return "\n".join([*aligned(rows, right=range(1, len(levels) + 1)), "", told])
