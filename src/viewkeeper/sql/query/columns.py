"""The names of columns in one query, and what each of them stands for.

A column that is added to a source later must not change what a name means, or make it mean two things. So where a query
has several sources, or stands inside another one, a name without a source is written out with it in the kept text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.errors import UnknownColumn
from viewkeeper.model.types import Type
from viewkeeper.plan.expr import Expr, Input, inputs, rewrite
from viewkeeper.sql.names import written
from viewkeeper.sql.query import refused_joins
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.out_of_sight import out_of_sight

HIDDEN = ""
"""The name of a field that no text can name, such as a grouping id of a sub-query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumn:
    """A column that a query can name. `approximate`: its value depends on the order of additions."""

    name: str
    type: Type
    nullable: bool = True
    temporal: bool = False
    approximate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """What a name without a source stands for: a column, or what USING makes of several.

    `text` is how it is written so that it means the same whatever columns are added.
    """

    name: str
    expr: Expr
    text: str

    @property
    def is_column(self) -> bool:
        return isinstance(self.expr, Input)

    def moved(self, by: int) -> Alone:
        return replace(self, expr=moved(self.expr, by))


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The fields, each with the source that may stand before its dot, None if nothing may.

    `alone` are those that a name without a source finds, in the order of *. Inside of a query, which is then `outer`,
    the fields of that query come first; its names are looked up where there is none of that name here.
    """

    fields: tuple[tuple[str | None, RowColumn], ...]
    alone: tuple[Alone, ...]
    outer: Columns | None = None

    @classmethod
    def of(cls, source: str | None, columns: Iterable[RowColumn], hidden: Iterable[Type] = ()) -> Columns:
        """Those of one source; hidden fields come behind them."""
        fields = [*columns, *(RowColumn(name=HIDDEN, type=type) for type in hidden)]
        found = [_alone(source, column, place) for place, column in enumerate(fields) if column.name != HIDDEN]
        return cls(fields=tuple((source, column) for column in fields), alone=tuple(found))

    @property
    def width(self) -> int:
        return len(self.fields)

    @property
    def _first(self) -> int:
        """Where the fields of this query begin."""
        return 0 if self.outer is None else self.outer.width

    @property
    def sources(self) -> list[str]:
        """The names of the sources, in the order of the text."""
        return list(dict.fromkeys(source for source, _ in self.fields[self._first :] if source is not None))

    @property
    def is_joined(self) -> bool:
        return len({source for source, _ in self.fields[self._first :]}) > 1

    def column(self, place: int) -> RowColumn:
        return self.fields[place][1]

    def input(self, place: int) -> Input:
        return Input(place, self.column(place).type)

    def text(self, place: int) -> str:
        """A field as a text names it, with its source where there are several."""
        source, column = self.fields[place]
        return _alone(source, column, place).text if self.is_joined else written(column.name)

    def is_approximate(self, place: int) -> bool:
        return self.column(place).approximate

    def beside(self, right: Columns) -> Columns:
        """These and then those of another source."""
        alone = (*self.alone, *(one.moved(self.width) for one in right.alone))
        return Columns(fields=(*self.fields, *right.fields), alone=alone)

    def as_nullable(self, places: Iterable[int]) -> Columns:
        """The same, where rows may be missing on the side of these fields."""
        missing = set(places)
        fields = (
            (source, replace(column, nullable=True) if place in missing else column)
            for place, (source, column) in enumerate(self.fields)
        )
        return replace(self, fields=tuple(fields))

    def inside(self, outer: Columns) -> Columns:
        """The columns of a sub-query that sees the query around it."""
        alone = tuple(one.moved(outer.width) for one in self.alone)
        return Columns(fields=(*outer.fields, *self.fields), alone=alone, outer=outer)

    def has(self, name: str) -> bool:
        return any(_same(one.name, name) for one in self.alone)

    def has_source(self, name: str) -> bool:
        return any(_same(source, name) for source in self.sources)

    def alone_as(self, name: str) -> list[Alone]:
        """What a name without a source may stand for."""
        return [one for one in self.alone if _same(one.name, name)]

    def spread(self, source: str = "") -> list[Alone]:
        """What * or source.* stands for; nothing if there is no such source."""
        return [_alone(*self.fields[place], place) for place in self._of(source)] if source else list(self.alone)

    def find(self, node: exp.Column, context: Context, *, hint: str = "") -> Expr:
        """What a node names. UnknownColumn, with `hint`, if nothing; BadDefinition if it may be several."""
        if not isinstance(node.this, exp.Identifier) or node.args.get("db") or node.args.get("join_mark"):
            raise context.refuse(
                node, f'the column "{node.sql()}"', detail="Columns are top-level.", hint="Write its name."
            )
        found = self._here(node, context)
        if found is None and self.outer is not None and not (node.table and self.has_source(node.table)):
            found = self._outside(node, self.outer, context)
        if found is None:
            raise self._unknown(node, context, hint)
        return found

    def _here(self, node: exp.Column, context: Context) -> Expr | None:
        found = self._named(node)
        if len(found) > 1:
            shown = f"{node.table}.{node.name}" if node.table else node.name
            hint = f"Write {' or '.join(one.text for one in found)}."
            raise context.bad(node, f'column "{shown}" is in several sources', hint=hint)
        if not found:
            return None
        if not node.table and self.is_joined:
            _write_out(node, found[0], context)
        return found[0].expr

    def _outside(self, node: exp.Column, outer: Columns, context: Context) -> Expr | None:
        """What a name of the query around this one stands for; None if there is none."""
        found = outer._here(node, context)
        if found is None or node.table:
            return found
        (one,) = outer.alone_as(node.name)
        sources = {outer.fields[place][0] for place in inputs(one.expr)}
        if None in sources:
            raise context.refusal(
                node, refused_joins.UNNAMED, f'the column "{node.name}" of a sub-query without a name'
            )
        if any(self.has_source(source) for source in sources if source is not None):
            raise context.refuse(
                node,
                f'the column "{node.name}" of a source outside that has a namesake inside',
                detail="Nothing could be written in front of it to say which of the two is meant.",
                hint="Write AS and another name behind one of the sources.",
            )
        _write_out(node, one, context)
        return found

    def _named(self, node: exp.Column) -> list[Alone]:
        if not node.table:
            return self.alone_as(node.name)
        places = [place for place in self._of(node.table) if _same(self.column(place).name, node.name)]
        return [_alone(*self.fields[place], place) for place in places]

    def _of(self, source: str) -> list[int]:
        own = range(self._first, self.width)
        return [place for place in own if _same(self.fields[place][0], source) and self.column(place).name != HIDDEN]

    def _unknown(self, node: exp.Column, context: Context, hint: str) -> Exception:
        shown = f"{node.table}.{node.name}" if node.table else node.name
        for around, refusal in reversed(context.around):
            if around._named(node):
                return context.refusal(node, refusal)
        if node.table and not self.has_source(node.table):
            return out_of_sight(node, self.sources, context) or context.refuse(
                node,
                f'the qualifier "{node.table}"',
                detail=f"The query reads {self._shown_sources()}, and a sub-query sees nothing outside of it.",
                hint=self._other_source(node.name),
            )
        own = [field for field in self.fields[self._first :] if field[1].name != HIDDEN]
        names = (f"{source}.{column.name}" if self.is_joined else column.name for source, column in own)
        return UnknownColumn(
            f'column "{shown}" is not in {self._shown_sources()}, {context.at(node)}',
            detail=f"The columns are {', '.join(names)}.",
            hint=hint,
        )

    def _other_source(self, name: str) -> str:
        """What to write in place of a column whose source is not there."""
        if not self.is_joined:
            return "Write the name of the column alone."
        places = [place for place in range(self._first, self.width) if _same(self.column(place).name, name)]
        if places:
            return f"Write {' or '.join(map(self.text, places))}."
        return f"Write {' or '.join(map(written, self.sources))} in front of the dot."

    def _shown_sources(self) -> str:
        return " and ".join(f'"{name}"' for name in self.sources) or "the sub-query"


def moved(expr: Expr, by: int) -> Expr:
    """An expression over fields that now begin at another place."""
    return rewrite(expr, lambda column: Input(column.index + by, column.type))


def same_names(one: Columns, other: Columns) -> Sequence[str]:
    """The sources that both have."""
    return [name for name in other.sources if one.has_source(name)]


def _alone(source: str | None, column: RowColumn, place: int) -> Alone:
    text = written(column.name) if source is None else f"{written(source)}.{written(column.name)}"
    return Alone(name=column.name, expr=Input(place, column.type), text=text)


def _write_out(node: exp.Column, found: Alone, context: Context) -> None:
    """The kept text names the source, and keeps the case in which the column is written."""
    text = found.text
    if found.is_column:
        text = text[: -len(written(found.name))] + written(node.name)
    context.edits.setdefault(node.this.meta["start"], (node.this.meta["end"] + 1, text))


def _same(one: str | None, other: str) -> bool:
    return one is not None and one.lower() == other.lower()
