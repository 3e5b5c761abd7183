"""Random conditions, as texts for us and for SQLite: with parameters in queries, without in views."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.analysis.querytext import LISTED, Asking
from tests.analysis.worlds import Column, Source

Named = tuple[str, Column]
"""A column, and how a text names it."""

BARE = ("compare", "null", "null", "itself", "coalesce", "either")


def literal(rng: Random, type: str) -> str | None:
    """One of the values that rows have most often; None of a type without such a text."""
    if type in ("INT", "BIGINT"):
        return rng.choice(["0", "0", "1", "2"])
    return rng.choice(["''", "'wo'", "'word x'"]) if type == "STRING" else None


def bare_condition(rng: Random, columns: list[Named]) -> str:
    """A condition without parameters."""
    text = _bare(rng, columns, lambda column: literal(rng, column.type))
    return text or f"{rng.choice(columns)[0]} IS NOT NULL"


def _bare(rng: Random, columns: list[Named], operand: Callable[[Column], str | None]) -> str | None:
    """None if that kind of condition needs another type of column."""
    name, column = rng.choice(columns)
    kind = rng.choice(BARE)
    if kind == "null":
        return f"{name} {rng.choice(['IS NULL', 'IS NOT NULL'])}"
    if kind == "itself":
        return f"{name} {rng.choice(['=', '=', '<='])} {name}"
    if kind == "either":
        return _either(rng, columns, operand)
    if kind == "coalesce":
        constant = literal(rng, column.type)
        return constant and f"COALESCE({name}, {constant}) = {constant}"
    value = operand(column)
    return value and f"{name} {rng.choice(['=', '=', '<>', '<', '>='])} {value}"


def _either(rng: Random, columns: list[Named], operand: Callable[[Column], str | None]) -> str | None:
    """One or the other, often of different columns."""
    parts = []
    for _ in range(2):
        name, column = rng.choice(columns)
        value = operand(column) if rng.random() < 0.7 else None
        parts.append(f"{name} IS NULL" if value is None else f"{name} = {value}")
    return f"({' OR '.join(parts)})"


def conditions(asking: Asking) -> None:
    """Often on the first columns of a key, or on another one, so that many have a bound; now and then as in a view."""
    rng = asking.rng
    alias, source = asking.sources[0]
    names: tuple[str, ...] = ()
    chosen = rng.random()
    if chosen < 0.5:
        names = source.key[: rng.randint(1, len(source.key))]
    elif chosen < 0.75:
        names = (rng.choice(source.columns).name,)
    for name in names:
        column = next(one for one in source.columns if one.name == name)
        asking.both(f"{alias}.{name} = {asking.operand(column.type)}")
    for alias, source in asking.sources:
        for text in asking.world.kept.get(source.name, []):
            if rng.random() < 0.5:
                asking.both(text.replace("@", alias))
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        condition(asking)


def condition(asking: Asking) -> None:
    rng = asking.rng
    alias, column = asking.column()
    kinds = [_equal, _equal, _equal, _literal, _listed, _listed, _range, _between, _other, _other]
    if column.type == "STRING":
        kinds += [_like, _word, _words]
    rng.choice(kinds)(asking, f"{alias}.{column.name}", column)


def _equal(asking: Asking, name: str, column: Column) -> None:
    asking.both(f"{name} = {asking.operand(column.type)}")


def _literal(asking: Asking, name: str, column: Column) -> None:
    if column.type in ("INT", "BIGINT"):
        asking.both(f"{name} {asking.rng.choice(['=', '=', '>', '<='])} {asking.rng.choice([0, 1])}")


def _listed(asking: Asking, name: str, column: Column) -> None:
    word, most = asking.rng.choice(["IN", "IN", "NOT IN"]), asking.rng.choice([f" MAX {LISTED}"] * 3 + [""])
    asking.both(f"{name} {word} {asking.parameter(column.type, 1)}{most}")


def _range(asking: Asking, name: str, column: Column) -> None:
    for _ in range(asking.rng.choice([1, 1, 2])):
        asking.both(f"{name} {asking.rng.choice(['<', '<=', '>', '>='])} {asking.operand(column.type)}")


def _between(asking: Asking, name: str, column: Column) -> None:
    asking.both(f"{name} BETWEEN {asking.parameter(column.type)} AND {asking.parameter(column.type)}")


def _other(asking: Asking, name: str, column: Column) -> None:
    """What views may say, too; here values may be parameters."""

    def operand(of: Column) -> str | None:
        return asking.parameter(of.type) if asking.rng.random() < 0.5 else literal(asking.rng, of.type)

    others = [asking.column() for _ in range(2)]
    text = _bare(asking.rng, [(name, column), *((f"{alias}.{one.name}", one) for alias, one in others)], operand)
    if text is not None:
        asking.both(text)


def _like(asking: Asking, name: str, column: Column) -> None:
    pattern = asking.parameter("STRING", 2) if asking.rng.random() < 0.5 else "'wo%'"
    asking.both(f"{name} LIKE {pattern}")


def _word(asking: Asking, name: str, column: Column) -> None:
    word = asking.parameter("STRING", 3)
    asking.where.append((f"TOKENS({name}) = {word}", f"HAS_WORD({name}, {word})"))


def _words(asking: Asking, name: str, column: Column) -> None:
    pattern = asking.parameter("STRING", 2)
    asking.where.append((f"TOKENS({name}) LIKE {pattern}", f"HAS_WORD_LIKE({name}, {pattern})"))


def behind_a_row(asking: Asking) -> list[tuple[str, bool]]:
    """Two or three columns compared with a row; what an order by them would begin with, and whether each descends."""
    rng = asking.rng
    alias, source = rng.choice(asking.sources)
    names = [rng.choice(source.columns).name, *(name for name in source.key if rng.random() < 0.8)][
        : rng.choice([2, 3])
    ]
    columns = [next(one for one in source.columns if one.name == name) for name in dict.fromkeys(names)]
    down = [rng.random() < 0.5] * len(columns)
    if rng.random() < 0.3:
        down = [rng.random() < 0.5 for _ in columns]
    shown = [f"{alias}.{one.name}" for one in columns]
    values = [asking.operand(one.type) for one in columns]
    signs = ["<" if (one if rng.random() < 0.95 else not one) else ">" for one in down]
    last = "=" * (rng.random() < 0.3)
    if len(set(signs)) == 1 and rng.random() < 0.6:
        asking.both(f"({', '.join(shown)}) {signs[0]}{last} ({', '.join(values)})")
    else:
        asking.both(_behind([*zip(shown, signs, values, strict=True)], last, nested=rng.random() < 0.5))
    return [(name, one) for name, one in zip(shown, down, strict=True) if rng.random() < 0.95]


def _behind(columns: list[tuple[str, str, str]], last: str, *, nested: bool) -> str:
    """The same as one column after the other."""
    if nested:
        (name, sign, value), *others = columns
        if not others:
            return f"{name} {sign}{last} {value}"
        return f"({name} {sign} {value} OR {name} = {value} AND {_behind(others, last, nested=True)})"
    sides = []
    for place, (name, sign, value) in enumerate(columns):
        same = [f"{one} = {given}" for one, _, given in columns[:place]]
        sides.append(" AND ".join([*same, f"{name} {sign}{last * (place == len(columns) - 1)} {value}"]))
    return f"({' OR '.join(sides)})"


def semi_joins(asking: Asking) -> None:
    """One or two, often of what is LEFT-joined."""
    for number in range(asking.rng.choice([1, 1, 2])):
        _semi_join(asking, f"e{number}")


def _compared(asking: Asking, e: str, source: Source) -> list[str]:
    """A column, most often one of the key, that lies on one side of a column outside, or between two of them."""
    rng = asking.rng
    keys = [one for one in source.columns if one.name in source.key]
    column = rng.choice([*source.columns, *keys, *keys])
    found = []
    for _ in range(rng.choice([1, 1, 2])):
        alias, outside = asking.column()
        if outside.type == column.type or {outside.type, column.type} == {"INT", "BIGINT"}:
            sides = [f"{e}.{column.name}", f"{alias}.{outside.name}"]
            rng.shuffle(sides)
            found.append(f"{sides[0]} {rng.choice(['<', '<=', '>', '>='])} {sides[1]}")
    return found


def _semi_join(asking: Asking, e: str) -> None:
    rng = asking.rng
    source = asking.source()
    outer = [alias for alias, _ in asking.sources if alias not in asking.inner]
    alias, column = asking.column(rng.choice(outer) if outer and rng.random() < 0.5 else None)
    theirs = source.of_type(column.type)
    if not theirs:
        return
    keys = [one for one in theirs if one.name in source.key]
    inside = rng.choice(keys or theirs) if rng.random() < 0.7 else rng.choice(theirs)
    more = ""
    if rng.random() < 0.6:
        other = next(one for one in source.columns if one.name in source.key)
        more = f"{e}.{other.name} = {asking.parameter(other.type)}"
    if rng.random() < 0.4:
        more = " AND ".join(filter(None, [more, *_compared(asking, e, source)]))
    if rng.random() < 0.4:
        where = f" WHERE {more}" if more else ""
        asking.both(f"{alias}.{column.name} IN (SELECT {e}.{inside.name} FROM {source.name} {e}{where})")
        return
    on = f"{e}.{inside.name} = {alias}.{column.name}" + (f" AND {more}" if more else "")
    asking.both(f"{rng.choice(['EXISTS', 'NOT EXISTS'])} (SELECT 1 FROM {source.name} {e} WHERE {on})")
