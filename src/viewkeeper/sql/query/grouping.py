"""GROUP BY: what is grouped by, and the grouping sets.

A set says which of the expressions a row is grouped by; the others are NULL in its groups. The grouping id tells the
sets apart, since a NULL that a set makes is not a NULL of the data: bit n - 1 - i is 1 where expression i is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from sqlglot import exp

from viewkeeper.model.types import BIGINT, BOOLEAN, INT
from viewkeeper.plan.expr import Call, Case, Expr, Input, Literal
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query import refused
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query_syntax import RETAIN

MAX_SETS = 256
"""Grouping sets of one view: a row is in a group of each."""

MAX_IN_SETS = 62
"""Expressions of grouping sets: the grouping id has a bit for each."""

Set = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """`id_place` is the input that stands for the grouping id in expressions over groups."""

    exprs: tuple[Expr, ...]
    sets: tuple[Set, ...]
    id_place: int

    @property
    def has_sets(self) -> bool:
        """Whether groups of several sets stand side by side."""
        return len(self.sets) > 1

    @property
    def repeats(self) -> bool:
        """Whether a set is there twice, so that its groups are too, and the grouping id does not tell them apart."""
        return len(set(map(self.id_of, self.sets))) < len(self.sets)

    def id_of(self, members: Set) -> int:
        count = len(self.exprs)
        return sum(1 << (count - 1 - place) for place in range(count) if place not in members)


@dataclass(slots=True)
class GroupBinder:
    """Reads the items of GROUP BY. `value` binds one; the place of each different one is its place in `exprs`."""

    context: Context
    value: Callable[[exp.Expr], Expr]
    exprs: list[Expr] = field(default_factory=list)
    retained: list[tuple[Expr, exp.Expr]] = field(default_factory=list)
    """What RETAIN stands behind, and its duration."""

    def sets(self, items: Iterable[exp.Expr]) -> list[Set]:
        """The grouping sets that the items make together: each set of one with each set of the others."""
        choices = [self._sets(item) for item in items]
        count = 1
        for sets in choices:
            count *= len(sets)
            if count > MAX_SETS:
                raise self.context.bad(
                    next(iter(items)),
                    f"GROUP BY makes more than {MAX_SETS} grouping sets",
                    hint="Write the sets that are wanted in GROUPING SETS (…).",
                )
        return [_joined(combination) for combination in product(*choices)]

    def _sets(self, item: exp.Expr) -> list[Set]:
        retain = item.meta.get(RETAIN)
        match item:
            case exp.Cube():
                members = [self._members(part) for part in item.expressions]
                self._check_width(item, 1 << len(members))
                sizes = range(len(members), -1, -1)
                found = [_joined(chosen) for size in sizes for chosen in combinations(members, size)]
            case exp.Rollup():
                members = [self._members(part) for part in item.expressions]
                found = [_joined(members[:size]) for size in range(len(members), -1, -1)]
            case exp.GroupingSets():
                found = [members for part in item.expressions for members in self._sets(part)]
            case _:
                found = [self._members(item)]
        if retain is not None:
            if len(found) != 1 or len(found[0]) != 1:
                raise self.context.refusal(retain, refused.RETAIN)
            self.retained.append((self.exprs[found[0][0]], retain))
        return found

    def _check_width(self, item: exp.Expr, count: int) -> None:
        if count > MAX_SETS:
            raise self.context.bad(
                item,
                f"CUBE of {len(item.expressions)} makes {count:,} grouping sets, more than {MAX_SETS}",
                hint="Write the sets that are wanted in GROUPING SETS (…).",
            )

    def _members(self, item: exp.Expr) -> Set:
        """The expressions of one item: several in parentheses, or one."""
        node = bare(item)
        parts = node.expressions if isinstance(node, exp.Tuple) else [node]
        return _joined([(self._place(part),) for part in parts])

    def _place(self, node: exp.Expr) -> int:
        if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets):
            raise self.context.bad(node, "grouping sets inside CUBE or ROLLUP", hint="Write them in GROUPING SETS (…).")
        found = self.value(node)
        if isinstance(found, Literal):
            raise self.context.refuse(
                node,
                "a constant in GROUP BY",
                detail="All rows would be in one group.",
                hint="Leave it out; a whole number stands for a column of SELECT.",
            )
        if found not in self.exprs:
            self.exprs.append(found)
        return self.exprs.index(found)


def _joined(members: Sequence[Set]) -> Set:
    return tuple(dict.fromkeys(place for part in members for place in part))


def grouping_call(name: str, args: Sequence[Expr], node: exp.Expr, grouping: Grouping, context: Context) -> Expr:
    """GROUPING(expr): 1 where the row's set leaves it out. GROUPING_ID(expr, …): those as bits; of all without any."""
    places = [_grouped(arg, node, grouping, context) for arg in args]
    if name == "GROUPING":
        if len(places) != 1:
            raise context.wrong_type(node, f"function GROUPING takes one argument, found {len(places)}")
        ids = sorted({grouping.id_of(members) for members in grouping.sets if places[0] not in members})
        return _when(ids, grouping)
    if not places or places == list(range(len(grouping.exprs))):
        return Input(grouping.id_place, BIGINT) if grouping.has_sets else Literal(0, BIGINT)
    branches = []
    for members in grouping.sets:
        bits = sum(1 << (len(places) - 1 - bit) for bit, place in enumerate(places) if place not in members)
        is_set = Call("=", (Input(grouping.id_place, BIGINT), Literal(grouping.id_of(members), BIGINT)), BOOLEAN)
        branches.append((is_set, Literal(bits, BIGINT)))
    if not grouping.has_sets:
        return branches[0][1]
    return Case(tuple(dict.fromkeys(branches[:-1])), branches[-1][1], BIGINT)


def _when(ids: list[int], grouping: Grouping) -> Expr:
    if not ids or not grouping.has_sets:
        return Literal(1 if ids else 0, INT)
    listed = tuple(Literal(number, BIGINT) for number in ids)
    condition = Call("in", (Input(grouping.id_place, BIGINT), *listed), BOOLEAN)
    return Case(((condition, Literal(1, INT)),), Literal(0, INT), INT)


def _grouped(arg: Expr, node: exp.Expr, grouping: Grouping, context: Context) -> int:
    if arg not in grouping.exprs:
        raise context.bad(node, "the argument of GROUPING is not in GROUP BY", hint="Write it as GROUP BY has it.")
    return grouping.exprs.index(arg)
