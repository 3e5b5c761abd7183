"""The parameters of one query while it is bound, each with the type that it takes from what it stands beside.

A query is bound up to twice: where nothing beside a parameter says its type, as in `:p IS NULL`, another place of the
same parameter may, and then the types of the first time are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from viewkeeper.errors import WrongType
from viewkeeper.model.types import BIGINT, INT, STRING, Type
from viewkeeper.plan.expr import Parameter
from viewkeeper.plan.filling import ANY_LENGTH
from viewkeeper.sql.constructs import start_of
from viewkeeper.sql.params import shown
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import at

Key = str | int
Element = int | None

_SAME_CELLS = ({INT, BIGINT},)
"""Types of which a value that fits both is the same cell in both."""


@dataclass(slots=True, kw_only=True)
class Parameters:
    """`known` are types found before, `types` those found now, `unknown` where one was missed.

    `lists` are the declared lengths of lists; of one that is declared twice, the shorter one.
    """

    parsed: Parsed
    known: Mapping[Key, Type] = field(default_factory=dict)
    types: dict[Key, Type] = field(default_factory=dict)
    unknown: dict[Key, exp.Expr] = field(default_factory=dict)
    lists: dict[Key, int] = field(default_factory=dict)
    _used: dict[tuple[Key, Element], tuple[int, int]] = field(default_factory=dict)
    _are_lists: dict[Key, bool] = field(default_factory=dict)

    def key(self, node: exp.Expr) -> Key:
        return self.parsed.parameters[node.meta["start"]]

    def use(self, key: Key, element: Element, type: Type, node: exp.Expr) -> Parameter:
        """The parameter at a place that takes a value of this type; WrongType if another place takes another one."""
        start = start_of(node, self.parsed.start)
        before = self.types.get(key, type)
        if before != type and {before, type} not in _SAME_CELLS:
            raise WrongType(
                f"parameter {shown(key)} is {before} and {type}, {at(self.parsed.source, start)}",
                detail="It stands beside values of both types, and has one value.",
                hint="Write two parameters, or convert what it is compared with, CAST(… AS type).",
            )
        if self._are_lists.setdefault(key, element is not None) is (element is None):
            raise WrongType(
                f"parameter {shown(key)} is a list and a single value, {at(self.parsed.source, start)}",
                hint="Write two parameters.",
            )
        self.types[key] = INT if INT in (before, type) else type
        self._used.setdefault((key, element), (start, element or 0))
        return Parameter(key, type, element)

    def use_list(self, node: exp.Expr, most: int | None) -> list[Element]:
        """The places of a list of at most so many values; one place for all of it if nobody says how many."""
        if most is None:
            return [ANY_LENGTH]
        key = self.key(node)
        self.lists[key] = min(most, self.lists.get(key, most))
        return list(range(most))

    def alone(self, key: Key, element: Element, node: exp.Expr) -> Parameter:
        """A parameter where nothing says its type: that of its other places, if there are any."""
        if key in self.known:
            return self.use(key, element, self.known[key], node)
        self.unknown.setdefault(key, node)
        return Parameter(key, STRING, element)

    def used(self) -> tuple[Parameter, ...]:
        """All of them in order of appearance, with the narrower type where there are two."""
        keys = sorted(self._used, key=lambda key: self._used[key])
        return tuple(Parameter(key, self.types[key], element) for key, element in keys)

    def missed(self) -> WrongType | None:
        """The error for a parameter of the text that no place gives a type; None if there is none."""
        for start, key in sorted(self.parsed.parameters.items()):
            if key not in self.types:
                node = self.unknown.get(key)
                where = start if node is None else start_of(node, start)
                return WrongType(
                    f"the type of parameter {shown(key)} is not known, {at(self.parsed.source, where)}",
                    detail="A parameter takes the type of the column or value that it is compared with.",
                    hint=f"Write CAST({shown(key) if isinstance(key, str) else '?'} AS type).",
                )
        return None
