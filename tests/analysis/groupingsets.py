"""Grouping sets, which SQLite does not have: there they are a union."""

from __future__ import annotations

from random import Random

from tests.analysis.querytext import Texts


def grouping_sets(rng: Random, named: list[tuple[str, str]], calls: str, rest: str) -> Texts:
    """Groups by all columns, and by some of them; `named` are expressions and what they are called.

    A total of no rows is no row for us.
    """
    texts = [text for text, _ in named]
    if rng.random() < 0.5:
        sets = [texts[:width] for width in range(len(texts), -1, -1)]
        by = f"ROLLUP({', '.join(texts)})"
    else:
        sets = [texts, rng.choice([texts[:1], texts[1:]])]
        each = [f"({', '.join(one)})" for one in sets]
        by = f"GROUPING SETS ({', '.join(each)})"
    shown = ", ".join(f"{text} AS {name}" for text, name in named)
    ours = f"SELECT {shown}, {calls}{rest} GROUP BY {by}"
    return ours, " UNION ALL ".join(_of_one(named, one, calls, rest) for one in sets)


def _of_one(named: list[tuple[str, str]], chosen: list[str], calls: str, rest: str) -> str:
    shown = ", ".join(f"{text if text in chosen else 'NULL'} AS {name}" for text, name in named)
    by = f" GROUP BY {', '.join(chosen)}" if chosen else " HAVING COUNT(*) > 0"
    return f"SELECT {shown}, {calls}{rest}{by}"
