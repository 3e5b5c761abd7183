"""Where an access looks: the keys that its operands stand for, each of them once.

The operands of one key that are columns of the rows of an earlier access are of the same row. Where they are of the
rows of several accesses, these are rows that belong together, as read/together.py says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from viewkeeper.execute.rows.parameters import ParameterKey
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row, Type
from viewkeeper.plan.access import Access, Beyond, Found, Operand
from viewkeeper.plan.expr import Literal, Parameter
from viewkeeper.read.bykey import on_from, range_interval, up_to
from viewkeeper.read.operands import Convert, beginning, bound, converter, lowered
from viewkeeper.read.region import Region
from viewkeeper.read.together import Kept, Links
from viewkeeper.sql.statements import KeyRange
from viewkeeper.store.interface import Interval

Values: TypeAlias = Mapping[ParameterKey, Cell]
"""What was given for the parameters."""


class Keys:
    """The keys of one access, whose operands are compiled once; `links` has all accesses before it."""

    def __init__(self, access: Access, codec: RowCodec, links: Links) -> None:
        self._codec = codec
        self._width = len(access.equal)
        self._ends = _Ends(access, codec)
        types = codec.key.types
        columns = [
            [*_choices(operands, type, place in access.words)]
            for place, (operands, type) in enumerate(zip(access.equal, types, strict=False))
        ]
        columns += [[*_choices((operand,), None, self._width in access.words)] for operand in self._ends.operands]
        self._patterns = [_Pattern(choices, links) for choices in product(*columns)]
        self.may_overlap = any(isinstance(operand, Found) for operand in self._ends.operands)
        """Whether one row may be found by several keys."""

    def prefixes(self, values: Values, kept: Kept) -> dict[bytes, Row]:
        """By their code, the values of the first key columns; nothing is compared with those behind."""
        encode = self._codec.key.encode_key
        return {encode(cells): cells for pattern in self._patterns for cells in pattern.cells(values, kept)}

    def regions(self, values: Values, kept: Kept) -> list[Region]:
        """The stretches of keys; none of them is there twice, nor empty."""
        if self._ends.is_open:
            return [Region(Interval.of_prefix(code), cells) for code, cells in self.prefixes(values, kept).items()]
        width, found = self._width, {}
        for pattern in self._patterns:
            for cells in pattern.cells(values, kept):
                interval = self._ends.interval(cells[:width], cells[width:], values)
                if interval is not None and not interval.is_empty:
                    found[interval.lower, interval.upper] = Region(interval, cells[:width])
        return list(found.values())


@dataclass(frozen=True, slots=True)
class _Constants:
    """Values that need no row."""

    operands: tuple[tuple[Literal | Parameter, Convert | None], ...]

    def cells(self, values: Values) -> Iterable[Cell]:
        found: dict[Cell, None] = {}
        for operand, convert in self.operands:
            cell = _given(operand, values)
            if convert is not None:
                cell = convert(cell)
            if cell is not None:
                found[cell] = None
        return found


_Choice: TypeAlias = _Constants | tuple[Found, Convert | None]


def _choices(operands: Sequence[Operand], type: Type | None, is_word: bool = False) -> Iterator[_Choice]:
    """The constants among the values that a key column may have, and each that is not one; unconverted without type."""

    def made(source: Type) -> Convert | None:
        if is_word:
            return lowered
        return None if type is None else converter(source, type)

    constants = tuple((one, made(one.type)) for one in operands if not isinstance(one, Found))
    if constants:
        yield _Constants(constants)
    yield from ((one, made(one.type)) for one in operands if isinstance(one, Found))


class _Pattern:
    """Which kind of value each column of a key has."""

    def __init__(self, choices: Sequence[_Choice], links: Links) -> None:
        self._constants = [(place, one) for place, one in enumerate(choices) if isinstance(one, _Constants)]
        rows = [(place, *one) for place, one in enumerate(choices) if not isinstance(one, _Constants)]
        self._found = _found([(found, convert) for _, found, convert in rows], links)
        behind = [place for place, _ in self._constants]
        behind += [place for place, _, _ in rows]
        # Of the values as they are put together below, which one each column has.
        self._order = picker([behind.index(place) for place in range(len(behind))])

    def cells(self, values: Values, kept: Kept) -> Iterator[Row]:
        """The values of the columns, never NULL."""
        parts: list[Iterable[Row]] = [[(cell,) for cell in one.cells(values)] for _, one in self._constants]
        if self._found is not None:
            parts.append(self._found(kept))
        if len(parts) == 1:
            yield from map(self._order, parts[0])
            return
        for combination in product(*parts):
            yield self._order(sum(combination, ()))


def _found(columns: Sequence[tuple[Found, Convert | None]], links: Links) -> Callable[[Kept], Iterable[Row]] | None:
    """The different values that some columns have in rows that belong together, converted; without those in which one
    is NULL. None for no columns.
    """
    accesses = [found.access for found, _ in columns]
    if not accesses:
        return None
    converts = [(place, convert) for place, (_, convert) in enumerate(columns) if convert is not None]
    only, pick = accesses[0], picker([found.column for found, _ in columns])
    several = links.together([(found.access, found.column) for found, _ in columns]) if {*accesses} > {only} else None

    def distinct(kept: Kept) -> Iterable[Row]:
        found: Iterable[Row] = dict.fromkeys(map(pick, kept[only])) if several is None else several(kept)
        if converts:
            found = map(converted, found)
        return [row for row in found if None not in row]

    def converted(row: Row) -> Row:
        cells = list(row)
        for place, convert in converts:
            cells[place] = convert(cells[place])
        return tuple(cells)

    return distinct


class _Ends:
    """What the key column behind the fixed ones is compared with: a beginning, or bounds."""

    def __init__(self, access: Access, codec: RowCodec) -> None:
        self._codec = codec
        self._starts = access.starts is not None
        ends = [(access.lower, True), (access.upper, False)]
        given = [(*end, is_lower) for end, is_lower in ends if end is not None]
        self.operands = [operand for operand, _, _ in given] if access.starts is None else [access.starts]
        if access.starts is not None and given:
            raise ValueError("a key column begins with something, or lies between bounds")
        self._bounds = []
        for operand, inclusive, is_lower in given:
            type = codec.key.types[len(access.equal)]
            self._bounds.append((bound(operand.type, type, inclusive=inclusive, is_lower=is_lower), is_lower))
        self._beyond, self._not_null = access.beyond, access.not_null
        behind = codec.key.types[len(access.equal) :]
        self._values = [
            (one, converter(one.type, type))
            for one, type in zip(() if access.beyond is None else access.beyond.values, behind, strict=False)
        ]

    @property
    def is_open(self) -> bool:
        return not self.operands and self._beyond is None and not self._not_null

    def interval(self, prefix: Row, given: Row, values: Values) -> Interval | None:
        """The codes of the keys; None if no value lies within."""
        if self._starts:
            text = beginning(given[0])
            # Without what ends a text, so that whatever begins with it lies within, in either direction.
            return None if text is None else Interval.of_prefix(self._codec.key.encode_key((*prefix, text))[:-2])
        ends: dict[str, Any] = {}
        for (bound_of, is_lower), cell in zip(self._bounds, given, strict=True):
            end = bound_of(cell)
            if end is None:
                return None
            name = "lower" if is_lower else "upper"
            ends[name], ends[f"{name}_inclusive"] = end
        interval = range_interval(self._codec, KeyRange(prefix=prefix, not_null=True, **ends))
        return interval if self._beyond is None else self._on_side(interval, prefix, self._beyond, values)

    def _on_side(self, interval: Interval, prefix: Row, beyond: Beyond, values: Values) -> Interval | None:
        cells = list(prefix)
        for operand, convert in self._values:
            cell = _given(operand, values)
            if cell is None:
                break
            cells.append(cell if convert is None else convert(cell))
        if len(cells) == len(prefix):
            return None
        inclusive = beyond.inclusive and len(cells) == len(prefix) + len(self._values)
        code = self._codec.key.encode_key(tuple(cells))
        side = up_to(code, inclusive=inclusive) if beyond.before else on_from(code, inclusive=inclusive)
        return interval.intersect(side)


def _given(operand: Literal | Parameter, values: Values) -> Cell:
    return operand.value if isinstance(operand, Literal) else values[operand.key, operand.element]
