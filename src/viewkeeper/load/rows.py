"""Rows that name their columns themselves: dicts of Python, objects of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from viewkeeper.errors import BadDefinition, MissingColumn, UnknownColumn
from viewkeeper.load.bad import Fault, short
from viewkeeper.load.batch import Origin
from viewkeeper.load.block import Block, Converted, Lost
from viewkeeper.load.from_objects import from_objects
from viewkeeper.load.target import Target, match_columns
from viewkeeper.model.arrow import to_cells
from viewkeeper.model.schema import Column, Table

Convert = Callable[[Sequence[Any], Column], Converted]


@dataclass(frozen=True, slots=True)
class Rows:
    """A stretch of rows with their numbers; `raw` gives row i as the source has it."""

    rows: list[dict[str, Any]]
    numbers: Sequence[int]
    raw: Callable[[int], str]
    lost: list[Lost] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Turns rows with any columns into blocks whose rows have the same columns.

    A column that a row does not give keeps its value in a row that is there already, so rows that give different
    columns cannot share a block.
    """

    table: Table
    name: str
    unit: str
    convert: Convert
    ignore_unknown: bool
    seen: dict[tuple[str, ...], tuple[tuple[str, ...], Target] | Fault] = field(default_factory=dict)

    def blocks(self, given: Rows) -> Iterator[Block]:
        """At most one block per set of columns, unless a key comes again with other columns: then the blocks so far
        are closed first, so that rows of one key stay in their order.
        """
        lost = list(given.lost)
        places: list[int] = []
        shapes: list[tuple[tuple[str, ...], Target]] = []
        for place, row in enumerate(given.rows):
            shape = self._shape(tuple(row))
            if isinstance(shape, Fault):
                lost.append(Lost(given.numbers[place], shape, given.raw(place)))
            else:
                places.append(place)
                shapes.append(shape)
        if not places:
            if lost:
                yield self._block((), Target((), ()), [], given, lost)
            return
        if all(shape is shapes[0] for shape in shapes):
            yield self._block(*shapes[0], places, given, lost)
            return
        for groups in _in_order(places, shapes, self._keys(places, shapes, given)):
            for names, target, members in groups:
                yield self._block(names, target, members, given, lost)
                lost = []

    def _shape(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], Target] | Fault:
        """What rows with these names fill: one object for one set of names, whatever their order."""
        shape = self.seen.get(names)
        if shape is None:
            ordered = tuple(sorted(names, key=str))
            shape = self.seen.get(ordered) or self._match(ordered)
            self.seen[names] = self.seen[ordered] = shape
        return shape

    def _match(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], Target] | Fault:
        strange = [name for name in names if not isinstance(name, str)]
        if strange:
            return Fault(reason=f"{short(strange[0])} is no column name", failure=UnknownColumn)
        try:
            return names, match_columns(self.table, names, "the row", ignore_unknown=self.ignore_unknown)
        except (UnknownColumn, MissingColumn) as error:
            return Fault(reason=error.message, detail=error.detail, hint=error.hint, failure=type(error))
        except BadDefinition as error:
            return Fault(reason=error.message, detail=error.detail)

    def _keys(self, places: list[int], shapes: list[tuple[tuple[str, ...], Target]], given: Rows) -> list[Any]:
        """The key of each row as cells: two texts may name one key."""
        columns: list[list[Any]] = []
        for number in self.table.key_ids:
            column = self.table.columns[number]
            values = [
                given.rows[place][names[target.places[target.columns.index(column)]]]
                for place, (names, target) in zip(places, shapes, strict=True)
            ]
            columns.append(to_cells(self.convert(values, column)[0], column.type))
        return list(zip(*columns, strict=True))

    def _block(
        self, names: tuple[str, ...], target: Target, places: Sequence[int], given: Rows, lost: list[Lost]
    ) -> Block:
        converted: list[Converted] = []
        for column, name_place in zip(target.columns, target.places, strict=True):
            name = names[name_place]
            converted.append(self.convert([given.rows[place][name] for place in places], column))
        return Block(
            columns=target.columns,
            converted=converted,
            origin=Origin(self.name, self.unit, lambda row: given.numbers[places[row]]),
            raw=lambda row: given.raw(places[row]),
            lost=lost,
        )


_Group = tuple[tuple[str, ...], Target, list[int]]


def _in_order(
    places: list[int], shapes: list[tuple[tuple[str, ...], Target]], keys: list[Any]
) -> Iterator[list[_Group]]:
    """Rows grouped by shape, in as few rounds as keep every key to one group a round."""
    groups: dict[int, _Group] = {}
    homes: dict[Any, int] = {}
    for place, shape, key in zip(places, shapes, keys, strict=True):
        if homes.setdefault(key, id(shape)) != id(shape):
            yield list(groups.values())
            groups, homes = {}, {key: id(shape)}
        group = groups.get(id(shape))
        if group is None:
            group = groups[id(shape)] = (*shape, [])
        group[2].append(place)
    yield list(groups.values())


def blocks_of_rows(rows: Iterable[Any], table: Table, size: int, *, ignore_unknown: bool) -> Iterator[Block]:
    """Blocks of Python rows, `size` rows read at a time."""
    grouping = Grouping(table, "", "row", from_objects, ignore_unknown)
    source = iter(rows)
    first = 1
    while taken := list(islice(source, size)):
        good: list[dict[str, Any]] = []
        numbers: list[int] = []
        lost: list[Lost] = []
        for number, row in enumerate(taken, first):
            if isinstance(row, Mapping):
                good.append(row if type(row) is dict else dict(row))
                numbers.append(number)
            else:
                reason = f"a row is a dict, found {type(row).__name__} {short(row)}"
                lost.append(Lost(number, Fault(reason=reason), repr(row)))
        yield from grouping.blocks(Rows(good, numbers, _reprs(good), lost))
        first += len(taken)


def _reprs(rows: list[dict[str, Any]]) -> Callable[[int], str]:
    return lambda place: repr(rows[place])
