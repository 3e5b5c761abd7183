"""A query while it is put together, as texts for us and for SQLite."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.analysis.worlds import Column, Source, World

LISTED = 3

Texts = tuple[str, str]
"""The same for us and for SQLite."""


@dataclass(slots=True)
class Asking:
    """`inner` are the aliases of `sources` whose rows are never made of NULLs."""

    rng: Random
    world: World
    from_items: list[Texts] = field(default_factory=list)
    sources: list[tuple[str, Source]] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    where: list[Texts] = field(default_factory=list)
    params: dict[str, tuple[str, int]] = field(default_factory=dict)

    def parameter(self, type: str, kind: int = 0) -> str:
        """A new one, or one of that type again; `kind` 1 is a list, 2 a pattern, 3 a word."""
        alike = [name for name, one in self.params.items() if one == (type, kind)]
        if alike and kind == 0 and self.rng.random() < 0.3:
            return f":{self.rng.choice(alike)}"
        name = f"p{len(self.params)}"
        self.params[name] = type, kind
        return f":{name}"

    def operand(self, type: str) -> str:
        """A parameter, or now and then what is computed from one."""
        given = self.parameter(type)
        if self.rng.random() < 0.75:
            return given
        if type in ("INT", "BIGINT"):
            more = f" + CAST({self.parameter(type)} AS {type}) % 2" if self.rng.random() < 0.3 else ""
            return f"(CAST({given} AS {type}) % 3{more})"
        return f"LOWER({given})" if type == "STRING" else given

    def source(self) -> Source:
        return self.rng.choice([*self.world.tables, *self.world.tables, *self.world.views])

    def column(self, alias: str | None = None) -> tuple[str, Column]:
        chosen = [(a, s) for a, s in self.sources if alias in (None, a)]
        alias, source = self.rng.choice(chosen)
        keys = [one for one in source.columns if one.name in source.key]
        return alias, self.rng.choice([*source.columns, *keys])

    def both(self, text: str) -> None:
        self.where.append((text, text))

    def body(self) -> Texts:
        ours, theirs = (self._body(place) for place in (0, 1))
        return ours, theirs

    def _body(self, place: int) -> str:
        text = " FROM " + " ".join(one[place] for one in self.from_items)
        if self.where:
            text += " WHERE " + " AND ".join(one[place] for one in self.where)
        return text
