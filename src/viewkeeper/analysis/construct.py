"""The view from which a query could be answered by reading one stretch of it.

    A_eq      what is compared with a parameter by equality: the first columns of the key
    A_ineq    what is compared with a parameter by inequality: at most one, next
    A_order   ORDER BY, which has to begin with it
    then the primary keys of all tables; a column only if nothing that equals it is there already

Conditions without parameters stay in the view, and so does what parameters make equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from viewkeeper.analysis.block import Block, Source, SourceKind, equality
from viewkeeper.analysis.build import placed, relation_of
from viewkeeper.analysis.conditions import INEQUALITIES, Conditions, core, is_constant
from viewkeeper.analysis.schema import Stored
from viewkeeper.analysis.sqltext import quoted, sql
from viewkeeper.analysis.viewtext import ViewText, type_of
from viewkeeper.plan.expr import Expr, Input, Literal, Parameter, inputs, rewrite
from viewkeeper.plan.filling import parameters_in
from viewkeeper.plan.relation import Relation, below
from viewkeeper.plan.whole import Window

INEXACT = (
    "and the last digits of that depend on the order of additions. Sum an exact type: SUM(CAST(… AS DECIMAL(38,6)))"
)


class Refused(Exception):
    """No view can be made of a query; the text says why, and which columns it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constructed:
    """A view that does not exist yet, and its definition as a block: the conditions are those of the view."""

    stored: Stored
    block: Block
    predicates: tuple[str, ...]
    a_eq: tuple[str, ...]
    a_ineq: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """The inner sources of a block, and which expressions are compared with parameters.

    With `keeps_all`, what is in a list of constants, or asked by EXISTS without parameters, stays in the view as other
    conditions do; else the first is in its key, and the second is looked up behind it.
    """

    block: Block
    inner: Block
    conditions: Conditions
    text: ViewText
    a_eq: tuple[Expr, ...]
    a_ineq: tuple[Expr, ...]
    keeps_all: bool = False

    @property
    def predicates(self) -> list[Expr]:
        """P_view: in each class a chain of equalities over what is no parameter; other conditions without any."""
        found: list[Expr] = []
        for members in self.conditions.classes():
            kept = sorted((one for one in members if not has_parameter(one)), key=is_constant)
            found += [equality(kept[0], other) for other in kept[1:]]
        tests = [test for test in self.conditions.tests if test.op != "in" or self.keeps_all]
        found += [test.conjunct for test in tests if not has_parameter(test.conjunct)]
        return found + [one for one in self.conditions.other if not has_parameter(one)]

    @property
    def rows(self) -> list[Source]:
        """The sources of whose rows the view is made."""
        return [source for source in self.inner.sources if source.kind is SourceKind.INNER]

    def where(self) -> list[str]:
        """The conditions of the view as SQL."""
        return [*map(self.text.expr, self.predicates), *self.text.tests()]

    def shown(self, expr: Expr) -> str:
        return sql(expr, lambda column: self.block.name(column.index))

    def view(self, **changes: object) -> Block:
        """The block of the view: its sources from place 0 on, its predicates, and what else is said of it."""
        sources, moved = placed(self.inner.sources)

        def place(one: Input) -> Input:
            source = next(source for source in self.inner.sources if source.has(one.index))
            return Input(one.index - source.start + moved[source.start], one.type)

        def to_view(expr: Expr | None) -> Expr | None:
            return None if expr is None else rewrite(expr, place)

        sources = [replace(source, on=tuple(rewrite(one, place) for one in source.on)) for source in sources]

        for name in ("outputs", "group", "arguments"):
            given = changes.get(name)
            if isinstance(given, tuple) and not (name == "outputs" and "group" in changes):
                changes[name] = tuple(map(to_view, given))
        plain = {"group": None, "calls": (), "arguments": (), "having": (), "distinct": False}
        cut = {"order": (), "limit": None, "limit_max": None, "offset": 0}
        conjuncts = tuple(rewrite(one, place) for one in self.predicates)
        made = replace(
            self.inner,
            **{**plain, **cut, "sources": tuple(sources), "conjuncts": conjuncts, **changes},  # type: ignore[arg-type]
        )
        return replace(made, relation=relation_of(made))


def construct(
    block: Block,
    name: str,
    number: int,
    *,
    widen: bool = True,
    keeps_all: bool = False,
    windows: Mapping[int, str] | None = None,
) -> Constructed:
    """The view of a block's inner sources; Refused if none would do.

    With `widen` it has all columns that the query reads; else what is missing is looked up. With `windows`, the texts
    of queries in FROM by the number of their source, it is a view that is refreshed whole.
    """
    found = compared(block, windows or {}, keeps_all=keeps_all)
    if block.group is not None:
        from viewkeeper.analysis.groupviews import construct_groups

        return construct_groups(found, name, number)
    _check_adjacent(found)
    columns, width = _columns(found, widen)
    if any(found.text.is_approximate(expr) for expr, _ in columns[:width]):
        raise Refused(f"its rows would be stored by a sum of DOUBLE, {INEXACT}")
    made = made_view(found, name, number, columns, width)
    if made.stored.is_temporal and not windows:
        first = made.stored.columns[0].name
        raise Refused(f"its rows would be stored by {first}, which is TEMPORAL, and all new ones at one end of it")
    return made


def compared(block: Block, windows: Mapping[int, str], *, keeps_all: bool = False) -> Compared:
    """What of a block a view is made of; Refused if it has what no view has."""
    inner = inner_block(block, keeps_tests=keeps_all)
    conditions = Conditions(inner.conjuncts)
    for number, source in enumerate(inner.sources):
        if source.derived is not None and number not in windows:
            if _has_window(source.derived.relation):
                raise Refused("a window function is computed from all rows of its partition, however many there are")
            raise Refused("a query in FROM is not made part of a view")
    if any(test.op in ("word", "word starts") and has_parameter(test.conjunct) for test in conditions.tests):
        raise Refused("none is stored by the words of a text; only an index is")
    if block.factor > 1:
        raise Refused("a view is not made of grouping sets, or of windows that overlap")
    if any(source.stored is not None and source.stored.mode == "LOCAL" for source in inner.sources):
        raise Refused("a LOCAL view is put together when it is read, so no view can be made of it")
    text = ViewText(inner, windows)
    a_eq: list[Expr] = []
    for members in conditions.classes():
        if any(isinstance(one, Parameter) for one in members):
            a_eq += [one for one in members if not is_constant(one)][:1]
    for test in conditions.tests:
        is_kept = keeps_all and not has_parameter(test.conjunct)
        if test.op == "in" and not is_kept and not any(conditions.are_equal(test.subject, one) for one in a_eq):
            a_eq.append(test.subject)
    ranged = [(test.subject, test.operands) for test in conditions.tests if test.op in (*INEQUALITIES, "starts")]
    # Of a row, the columns behind the first one follow in the order of the query or in the key.
    ranged += [(row.subjects[0], row.operands) for row in conditions.rows]
    a_ineq: list[Expr] = []
    for subject, operands in ranged:
        is_known = any(conditions.are_equal(subject, one) for one in (*a_ineq, *a_eq))
        if not is_known and any(map(has_parameter, operands)):
            a_ineq.append(subject)
    # What grows with time comes last, so that new rows are spread.
    a_eq.sort(key=text.is_temporal)
    return Compared(block, inner, conditions, text, tuple(a_eq), tuple(a_ineq), keeps_all)


def has_more_to_keep(block: Block) -> bool:
    """Whether something is one of several constants, or asked by EXISTS, without parameters."""
    has_list = any(test.op == "in" and not has_parameter(test.conjunct) for test in Conditions(block.conjuncts).tests)
    return has_list or any(is_kept_test(block, number) for number in range(len(block.sources)))


def is_kept_test(block: Block, number: int) -> bool:
    """Whether a source is asked for by EXISTS or NOT EXISTS, of inner ones and without parameters."""
    source = block.sources[number]
    if source.kind not in (SourceKind.SEMI, SourceKind.ANTI) or source.stored is None:
        return False
    inner = {n for n, one in enumerate(block.sources) if one.kind is SourceKind.INNER}
    return all(block.reads(one) <= {*inner, number} and not has_parameter(one) for one in source.on)


def _has_window(relation: Relation) -> bool:
    return isinstance(relation, Window) or any(map(_has_window, below(relation)))


def inner_block(block: Block, *, keeps_tests: bool = False) -> Block:
    """A block without the sources that are not joined inside, and without conditions on them.

    With `keeps_tests`, what EXISTS asks without parameters stays.
    """
    inner = [number for number, source in enumerate(block.sources) if source.kind is SourceKind.INNER]
    tests = [number for number in range(len(block.sources)) if keeps_tests and is_kept_test(block, number)]
    return replace(
        block,
        sources=tuple(block.sources[number] for number in sorted({*inner, *tests})),
        conjuncts=tuple(one for one in block.conjuncts if block.reads(one) <= set(inner)),
    )


def has_parameter(expr: Expr) -> bool:
    return any(True for _ in parameters_in(expr))


def _check_adjacent(found: Compared) -> None:
    """The rows of an answer have to stand side by side in the view."""
    block, conditions, a_ineq = found.block, found.conditions, found.a_ineq
    if len(a_ineq) > 1:
        names = " and ".join(map(found.shown, a_ineq))
        raise Refused(
            f"{names} are compared with parameters by inequality, and no order puts what is found for both side by side"
        )
    order = [expr for sort in block.order if not conditions.constants(expr := core(block.outputs[sort.column]))]
    if a_ineq and order and not conditions.are_equal(order[0], a_ineq[0]):
        raise Refused(
            f"ORDER BY begins with {found.shown(order[0])}, and {found.shown(a_ineq[0])} is compared by inequality, so "
            "the first rows may be anywhere among those that are found"
        )


def _columns(found: Compared, widen: bool) -> tuple[list[tuple[Expr, bool]], int]:
    """The columns of the view, each with whether it descends, and how many of them are its key."""
    block, inner, conditions = found.block, found.inner, found.conditions
    columns: list[tuple[Expr, bool]] = []
    covered: set[Expr] = set()

    def add(exprs: Iterable[tuple[Expr, bool]]) -> None:
        for expr, descending in exprs:
            one = core(expr)
            places = set(inputs(one))
            is_inner = all(any(source.has(place) for source in found.rows) for place in places)
            if one not in covered and places and is_inner:
                columns.append((one, descending))
                covered.update(conditions.same(one))

    order = [(core(block.outputs[sort.column]), sort.descending) for sort in block.order]
    add((one, False) for one in found.a_eq)
    add((one, next((d for expr, d in order if conditions.are_equal(expr, one)), False)) for one in found.a_ineq)
    add((expr, down) for expr, down in order if not any(isinstance(c, Literal) for c in conditions.constants(expr)))
    for source in reversed(found.rows):
        if source.stored is not None:
            stored = source.stored
            keys = [number for number in stored.key if number in (stored.unique or ())]
            if any(number >= stored.visible for number in keys):
                raise Refused(f'the rows of "{stored.name}" have no key that it shows')
            add((Input(source.start + number, stored.columns[number].type), False) for number in keys)
        else:
            add((one, False) for one in _window_key(source) or ())
    width = len(columns)
    if widen:
        used = [place for place in sorted(block.used()) if any(source.has(place) for source in found.rows)]
        add((Input(place, type_of(inner, place)), False) for place in used)
    return columns, width


def _window_key(source: Source) -> list[Expr] | None:
    """The key of the table that a window is of; None if the window does not show it: then its rows may repeat."""
    assert source.derived is not None
    (window,) = source.derived.parts[0].sources
    assert window.stored is not None
    found: list[Expr] = []
    for number in window.stored.key:
        wanted = Input(window.start + number, window.stored.columns[number].type)
        if wanted not in source.derived.outputs:
            return None
        found.append(Input(source.start + source.derived.outputs.index(wanted), wanted.type))
    return found


def made_view(found: Compared, name: str, number: int, columns: Sequence[tuple[Expr, bool]], width: int) -> Constructed:
    """The view of rows with these columns, each with whether it descends; the first ones are its key."""
    text, exprs = found.text, [expr for expr, _ in columns]
    names = text.names(exprs)
    repeats = any(source.stored is None and _window_key(source) is None for source in found.inner.sources)
    view = found.view(outputs=tuple(exprs), names=tuple(names))
    key = [quoted(own) + " DESC" * down for own, (_, down) in list(zip(names, columns, strict=True))[:width]]
    where = found.where()
    stored = Stored(
        id=number,
        name=name,
        kind="view",
        columns=tuple(text.columns(exprs, names)),
        visible=len(names),
        key=tuple(range(width)),
        descending=tuple(down for _, down in columns[:width]),
        unique=None if repeats else frozenset(range(width)),
        mode="PERIODIC" if text.windows else "DEFERRED",
        plan=view.relation,
        ddl=text.ddl(name, key, text.shown(exprs, names), where),
    )
    return Constructed(
        stored=stored,
        block=view,
        predicates=tuple(where),
        a_eq=tuple(map(text.expr, found.a_eq)),
        a_ineq=tuple(map(text.expr, found.a_ineq)),
    )
