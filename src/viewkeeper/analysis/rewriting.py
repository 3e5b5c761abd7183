"""A block and a view over attributes of the same names: what the expressions of one are in the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from viewkeeper.analysis.block import Block, NotAnalysed, Source
from viewkeeper.analysis.conditions import Conditions, core, equal_pair
from viewkeeper.analysis.paths import Definition
from viewkeeper.analysis.schema import Stored
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter, inputs, rewrite


class Rewriting:
    """A block, a view, and for each source of the view the number of the source of the block that it stands for."""

    def __init__(self, block: Block, view: Stored, known: Definition, chosen: tuple[int, ...]) -> None:
        self.block = block
        self.view = view
        self.known = known
        self.chosen = chosen
        self.conditions = Conditions(block.conjuncts)
        self.starts = {
            inner.start: block.sources[n].start for inner, n in zip(known.block.sources, chosen, strict=True)
        }

        self.inside = Conditions(self.outside(one) for one in known.block.conjuncts)

    def outside(self, expr: Expr) -> Expr:
        """An expression of the view over the attributes of the block."""

        def moved(one: Input) -> Input:
            source = next(source for source in self.known.block.sources if source.has(one.index))
            place = one.index - source.start
            if source.derived is not None:
                place = self._in_window(source, place)
            return Input(place + self.starts[source.start], one.type)

        return rewrite(expr, moved)

    def _in_window(self, source: Source, place: int) -> int:
        """The field of the block's window that shows what one of the view's window shows; NotAnalysed if none does."""
        at = self.starts[source.start]
        other = next(one for one in self.block.sources if one.start == at)
        assert source.derived is not None
        assert other.derived is not None
        wanted = source.derived.outputs[place]
        for number, shown in enumerate(other.derived.outputs):
            if wanted is not None and shown == wanted:
                return number
        raise NotAnalysed("the window does not show a column")

    def is_implied(self) -> bool:
        return all(self.conditions.implies(self.outside(one)) for one in self.known.block.conjuncts)

    def within_view(self, conjunct: Expr) -> bool:
        """Whether an equality holds for all rows of the view."""
        pair = equal_pair(conjunct)
        return pair is not None and self.inside.equates(*pair)


def place_of(expr: Expr, shown: Mapping[int, Expr], same: Conditions | None) -> int | None:
    """Which of some expressions one is, or is equal to by conditions; constants are themselves."""
    if not reads_columns(expr):
        return None
    wanted = core(expr)
    members = {wanted} if same is None else same.same(wanted)
    return next((place for place, one in shown.items() if core(one) in members), None)


def lacking(_: Input) -> Input:
    """Says that the view does not show a column."""
    raise NotAnalysed("the view lacks a column")


def rebuilt(expr: Expr, translate: Callable[[Expr], Expr], leaf: Callable[[Input], Expr]) -> Expr:
    """An expression with its parts translated."""
    match expr:
        case Input():
            return leaf(expr)
        case Literal() | Parameter():
            return expr
        case Call(name, args, type):
            return Call(name, tuple(map(translate, args)), type)
        case Cast(arg, type):
            return Cast(translate(arg), type)
        case Case(branches, otherwise, type):
            pairs = tuple((translate(condition), translate(result)) for condition, result in branches)
            return Case(pairs, translate(otherwise), type)


def reads_columns(expr: Expr) -> bool:
    return any(True for _ in inputs(expr))
