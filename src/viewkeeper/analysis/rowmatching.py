"""A view of joined rows in place of some sources of a block; what it lacks is looked up by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from viewkeeper.analysis.block import Block, NotAnalysed, Source, SourceKind, equality
from viewkeeper.analysis.build import placed
from viewkeeper.analysis.conditions import Conditions, core
from viewkeeper.analysis.rewriting import Rewriting, place_of, rebuilt
from viewkeeper.plan.expr import Cast, Expr, Input, children


class RowRewriting(Rewriting):
    """With a view of rows."""

    def rows(self, *, keeps: bool = False) -> Block | None:
        """A view of joined rows in place of the sources that it has.

        With `keeps`, what it lacks is joined outside, so that LIMIT may stop the scan of the view: no row is dropped,
        since each row of the view has rows of all its tables at the same position. None if that changes nothing.
        """
        if not self.is_implied():
            return None
        shown = self._shown()
        gone = [self.block.sources[number] for number in self.chosen]
        missing = self._missing(gone, shown)
        if missing is None:
            return None
        view = Source(start=-1, leaf=0, width=len(self.view.columns), name=self.view.name, stored=self.view)
        stay = [source for number, source in enumerate(self.block.sources) if number not in self.chosen]
        if keeps:
            if not missing or any(source.kind is SourceKind.INNER for source in stay):
                return None
            missing = [replace(source, kind=SourceKind.LEFT) for source in missing]
        sources, moved = placed([view, *missing, *stay])
        start = moved[-1]
        back = {source.start for source in missing}

        def column(expr: Expr, same: Conditions | None) -> Expr | None:
            place = place_of(expr, shown, same)
            if place is None:
                return None
            inner = Input(start + place, self.view.columns[place].type)
            return inner if inner.type == expr.type else Cast(inner, expr.type)

        def stays(one: Input) -> Expr:
            return self._stays(one, moved, back)

        def translate(expr: Expr) -> Expr:
            """What is equal in the query is as good, since its conditions stay."""
            return column(expr, self.inside) or column(expr, self.conditions) or rebuilt(expr, translate, stays)

        def strictly(expr: Expr) -> Expr:
            """A condition: only what is equal in all rows of the view is as good."""
            return column(expr, self.inside) or rebuilt(expr, strictly, stays)

        on_view: list[Expr] = []
        for conjunct in self.block.conjuncts:
            if self.within_view(conjunct) or conjunct in self.inside.conjuncts:
                continue
            on_view.append(strictly(conjunct))
        looked_up = {
            moved[source.start]: tuple(self._lookups(source, shown, start, moved[source.start])) for source in missing
        }
        kept = [replace(source, on=tuple(map(translate, source.on)) if source.on else ()) for source in sources]
        if keeps:
            kept = [replace(source, on=looked_up.get(source.start, source.on)) for source in kept]
        else:
            on_view += [one for pairs in looked_up.values() for one in pairs]
        block = self.block
        return replace(
            block,
            sources=tuple(kept),
            conjuncts=tuple(dict.fromkeys(on_view)),
            outputs=tuple(map(translate, block.outputs)) if block.group is None else block.outputs,
            group=None if block.group is None else tuple(map(translate, block.group)),
            arguments=tuple(None if one is None else translate(one) for one in block.arguments),
        )

    def _shown(self) -> dict[int, Expr]:
        """What the columns of the view are over the attributes of the block, as far as it has such."""
        found: dict[int, Expr] = {}
        for place, expr in enumerate(self.known.columns):
            if expr is not None:
                with suppress(NotAnalysed):
                    found[place] = self.outside(expr)
        return found

    def _missing(self, gone: list[Source], shown: Mapping[int, Expr]) -> list[Source] | None:
        """The sources of which something is read that the view does not show; None if they cannot be looked up."""
        found = []
        exprs = list(shown.values())
        for source in gone:
            lacks = [
                place for place in self._read() if source.has(place) and not any(self._is(place, one) for one in exprs)
            ]
            if not lacks:
                continue
            if source.stored is None or source.stored.unique is None:
                return None
            keys = source.stored.unique
            if not all(any(self._is(source.start + key, one) for one in exprs) for key in keys):
                return None
            found.append(source)
        return found

    def _read(self) -> frozenset[int]:
        """The attributes that are read, but by what the view sees to, or by what it has as it is."""
        whole = {core(expr) for expr in self._shown().values()}

        def needed(expr: Expr) -> Iterator[int]:
            if core(expr) in whole or any(self.conditions.are_equal(core(expr), one) for one in whole):
                return
            if isinstance(expr, Input):
                yield expr.index
            for child in children(expr):
                yield from needed(child)

        block = self.block
        implied = {self.outside(one) for one in self.known.block.conjuncts}
        exprs: list[Expr] = [one for one in block.conjuncts if one not in implied and not self.within_view(one)]
        exprs += [one for source in block.sources for one in source.on]
        exprs += (
            block.outputs if block.group is None else [*block.group, *(a for a in block.arguments if a is not None)]
        )
        return frozenset(place for expr in exprs for place in needed(expr))

    def _is(self, place: int, expr: Expr) -> bool:
        return isinstance(expr, Input) and (expr.index == place or self._same_place(place, expr))

    def _same_place(self, place: int, expr: Input) -> bool:
        return any(isinstance(one, Input) and one.index == place for one in self.conditions.same(expr))

    def _stays(self, column: Input, moved: Mapping[int, int], back: set[int]) -> Input:
        source = self.block.sources[self.block.source_at(column.index)]
        if source.start not in moved or (
            self.block.source_at(column.index) in self.chosen and source.start not in back
        ):
            raise NotAnalysed("the view lacks a column")
        return Input(column.index - source.start + moved[source.start], column.type)

    def _lookups(self, source: Source, shown: Mapping[int, Expr], start: int, at: int) -> Iterator[Expr]:
        """The equalities by which the rest of a source's row is looked up."""
        assert source.stored is not None
        for key in source.stored.key:
            if key in (source.stored.unique or ()):
                place = next(place for place, one in shown.items() if self._is(source.start + key, one))
                type = source.stored.columns[key].type
                yield equality(Input(start + place, self.view.columns[place].type), Input(at + key, type))
