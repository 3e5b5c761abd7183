"""The text of a view's definition: short names of its sources, names of its columns, the CREATE statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from viewkeeper.analysis.block import Block, Source, SourceKind, aliases
from viewkeeper.analysis.sqltext import quoted, sql
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Kind, Type
from viewkeeper.plan.expr import Expr, Input, inputs

EVERY = "1 MINUTE"
"""How often a view is refreshed that a query needs."""


@dataclass(frozen=True, slots=True)
class ViewText:
    """How the sources of a block are written. `windows` are the texts of queries in FROM, by number of source."""

    block: Block
    windows: Mapping[int, str]

    @property
    def short(self) -> list[str]:
        return aliases([source.name for source in self.block.sources])

    def source_of(self, place: int) -> int:
        return next(number for number, one in enumerate(self.block.sources) if one.has(place))

    def name(self, column: Input) -> str:
        """The name of an attribute by itself."""
        return self.column(column).name

    def column(self, column: Input) -> Column:
        source = self.block.sources[self.source_of(column.index)]
        return column_of(source, column.index - source.start)

    def expr(self, expr: Expr) -> str:
        """An expression, every column with the short name of its source."""
        short = self.short

        def name(column: Input) -> str:
            return f"{short[self.source_of(column.index)]}.{quoted(self.name(column))}"

        return sql(expr, name)

    def names(self, exprs: Sequence[Expr]) -> list[str]:
        """Names of columns: their own, with the short name of the source in front where several have one."""
        plain = [self._own(expr) for expr in exprs]
        found: list[str] = []
        for expr, own in zip(exprs, plain, strict=True):
            name = own
            if isinstance(expr, Input) and plain.count(own) > 1:
                name = f"{self.short[self.source_of(expr.index)]}{own}"
            found.append(free_name(name, found))
        return found

    def _own(self, expr: Expr) -> str:
        if isinstance(expr, Input):
            return self.name(expr)
        return "epoch" if expr.type.kind is Kind.TIMESTAMP else "value"

    def columns(self, exprs: Sequence[Expr], names: Sequence[str]) -> list[Column]:
        found = []
        for expr, name in zip(exprs, names, strict=True):
            if isinstance(expr, Input):
                found.append(replace(self.column(expr), name=name))
            else:
                temporal = self.is_temporal(expr) and expr.type.kind is Kind.TIMESTAMP
                found.append(Column(name=name, type=expr.type, temporal=temporal))
        return found

    def is_temporal(self, expr: Expr) -> bool:
        """Whether an expression is of a column whose values grow with time."""
        return any(self.column(Input(place, expr.type)).temporal for place in inputs(expr))

    def is_approximate(self, expr: Expr) -> bool:
        """Whether an expression comes from sums of DOUBLE."""
        for place in inputs(expr):
            source = self.block.sources[self.source_of(place)]
            if source.stored is not None and place - source.start in source.stored.approximate:
                return True
        return False

    def shown(self, exprs: Sequence[Expr], names: Sequence[str]) -> list[str]:
        """Items of SELECT."""
        found = []
        for expr, name in zip(exprs, names, strict=True):
            text = self.expr(expr)
            found.append(text if text.endswith(f".{quoted(name)}") else f"{text} AS {quoted(name)}")
        return found

    def tests(self) -> list[str]:
        """What EXISTS and NOT EXISTS ask."""
        return [
            f"{'NOT ' * (source.kind is SourceKind.ANTI)}EXISTS (SELECT 1 FROM {quoted(source.name)} AS {alias}"
            f" WHERE {' AND '.join(map(self.expr, source.on))})"
            for source, alias in zip(self.block.sources, self.short, strict=True)
            if source.kind in (SourceKind.SEMI, SourceKind.ANTI)
        ]

    def ddl(self, name: str, key: Sequence[str], items: Sequence[str], where: Sequence[str], tail: str = "") -> str:
        """The CREATE statement; of a view with windows, one that is refreshed whole."""
        sources = [
            f"{self.windows.get(number) or quoted(source.name)} AS {alias}"
            for number, (source, alias) in enumerate(zip(self.block.sources, self.short, strict=True))
            if source.kind is SourceKind.INNER
        ]
        text = f"CREATE MATERIALIZED VIEW {quoted(name)}"
        text += f" KEY ({', '.join(key)})" if key else ""
        text += f" MAINTAIN PERIODIC {EVERY}" if self.windows else ""
        text += f" AS SELECT {', '.join(items)} FROM {', '.join(sources)}"
        return text + (f" WHERE {' AND '.join(where)}" if where else "") + tail


def column_of(source: Source, place: int) -> Column:
    """A column of a source by its place."""
    if source.stored is not None:
        return source.stored.columns[place]
    assert source.derived is not None
    field = source.derived.relation.fields[place]
    return Column(name=field.name, type=field.type)


def type_of(block: Block, place: int) -> Type:
    source = next(one for one in block.sources if one.has(place))
    return column_of(source, place - source.start).type


def free_name(name: str, taken: Sequence[str]) -> str:
    """A name that none of these has, compared without case."""
    lowered = {one.lower() for one in taken}
    wanted, count = name, 1
    while wanted.lower() in lowered:
        count += 1
        wanted = f"{name}{count}"
    return wanted
