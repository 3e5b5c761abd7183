"""A relation to its normal form: the sources and conditions of its joins and filters, gathered.

What is not taken apart, such as a query in FROM with groups or a limit of its own, is one source, which is taken apart
by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viewkeeper.analysis.block import WORD, Block, Derived, NotAnalysed, Source, SourceKind, conjuncts_of, equality
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.expr import Call, Expr, Input, substitute
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind, UnionAll
from viewkeeper.plan.relation import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Project,
    Relation,
    Scan,
    Tokens,
    scans,
)
from viewkeeper.plan.whole import Single, TopN, Window


def block_of(relation: Relation, schema: Schema, first_leaf: int = 0) -> Block:
    """The normal form of a relation; NotAnalysed if it has none."""
    return _Flattening(schema, first_leaf).block(relation)


class _Flattening:
    """One SELECT while it is taken apart."""

    def __init__(self, schema: Schema, leaf: int) -> None:
        self.schema = schema
        self.leaf = leaf
        self.width = 0
        self.factor = 1
        self.sources: list[Source] = []
        self.conjuncts: list[Expr] = []

    def block(self, relation: Relation) -> Block:
        rest, distinct = (relation.input, True) if isinstance(relation, Distinct) else (relation, False)
        if isinstance(rest, TopN) and not distinct:
            return self._cut(rest)
        exprs: tuple[Expr, ...] | None = None
        names = tuple(field.name for field in relation.fields)
        if isinstance(rest, Project):
            exprs, rest = rest.exprs, rest.input
        having: list[Expr] = []
        under = rest
        while isinstance(under, Filter):
            having += conjuncts_of(under.condition)
            under = under.input
        if isinstance(under, Aggregate):
            return self._grouped(relation, under, exprs, names, tuple(having), distinct)
        fields = self.rows(rest)
        outputs = fields if exprs is None else tuple(substitute(expr, fields) for expr in exprs)
        if distinct:
            # Each different row is a group.
            shown = tuple(Input(place, expr.type) for place, expr in enumerate(outputs))
            return self._made(relation, shown, names, group=outputs)
        return self._made(relation, outputs, names)

    def _cut(self, relation: TopN) -> Block:
        inner = self.block(relation.input)
        if inner.limit is not None or inner.order:
            fields = self._restarted().derived(relation.input)
            return self._made(relation, fields, tuple(field.name for field in relation.fields), cut=relation)
        return Block(
            **{name: getattr(inner, name) for name in inner.__slots__ if name not in ("relation", *_CUT)},
            relation=relation,
            order=relation.order,
            limit=relation.limit,
            limit_max=relation.limit,
            offset=relation.offset,
        )

    def _restarted(self) -> _Flattening:
        self.leaf -= sum(1 for source in self.sources for _ in _leaves(source))
        self.width, self.sources, self.conjuncts = 0, [], []
        return self

    def _grouped(
        self,
        relation: Relation,
        node: Aggregate,
        exprs: tuple[Expr, ...] | None,
        names: tuple[str, ...],
        having: tuple[Expr, ...],
        distinct: bool,
    ) -> Block:
        fields = self.rows(node.input)
        shown = exprs or tuple(Input(place, field.type) for place, field in enumerate(node.fields))
        return self._made(
            relation,
            shown,
            names,
            group=tuple(fields[place] for place in node.group),
            calls=node.calls,
            arguments=tuple(None if call.argument is None else fields[call.argument] for call in node.calls),
            having=having,
            distinct=distinct,
        )

    def _made(
        self,
        relation: Relation,
        outputs: tuple[Expr, ...],
        names: tuple[str, ...],
        *,
        group: tuple[Expr, ...] | None = None,
        calls: tuple[AggregateCall, ...] = (),
        arguments: tuple[Expr | None, ...] = (),
        having: tuple[Expr, ...] = (),
        distinct: bool = False,
        cut: TopN | None = None,
    ) -> Block:
        return Block(
            relation=relation,
            sources=tuple(self.sources),
            conjuncts=tuple(self.conjuncts),
            outputs=outputs,
            names=names,
            factor=self.factor,
            group=group,
            calls=calls,
            arguments=arguments,
            having=having,
            distinct=distinct,
            order=() if cut is None else cut.order,
            limit=None if cut is None else cut.limit,
            limit_max=None if cut is None else cut.limit,
            offset=0 if cut is None else cut.offset,
        )

    def rows(self, relation: Relation) -> tuple[Expr, ...]:
        """What the fields of a part of FROM and WHERE are; its sources and conditions are added."""
        match relation:
            case Scan():
                return self.scan(relation)
            case Single():
                return ()
            case Filter(input, condition):
                fields = self.rows(input)
                self.conjuncts += conjuncts_of(substitute(condition, fields))
                return fields
            case Project(input, exprs, _):
                fields = self.rows(input)
                return tuple(substitute(expr, fields) for expr in exprs)
            case Tokens(input, text, _):
                fields = self.rows(input)
                return (*fields, Call(WORD, (substitute(text, fields),), text.type))
            case Expand(input, projections, _):
                fields = self.rows(input)
                self.factor *= len(projections)
                shown = [[substitute(expr, fields) for expr in row] for row in projections]
                return tuple(_one_of(exprs) for exprs in zip(*shown, strict=True))
            case InnerJoin(parts, equalities):
                fields = tuple(field for part in parts for field in self.rows(part))
                self.conjuncts += [equality(substitute(a, fields), substitute(b, fields)) for a, b in equalities]
                return fields
            case PartnerJoin():
                return self.partners(relation)
            case _:
                return self.derived(relation)

    def scan(self, scan: Scan) -> tuple[Expr, ...]:
        stored = self.schema[scan.object]
        start = self._add(scan.name, len(stored.columns), stored=stored)
        self.leaf += 1
        return tuple(Input(start + column, stored.columns[column].type) for column in scan.columns)

    def partners(self, join: PartnerJoin) -> tuple[Expr, ...]:
        kinds = {
            PartnerKind.LEFT: SourceKind.LEFT,
            PartnerKind.SEMI: SourceKind.SEMI,
            PartnerKind.ANTI: SourceKind.ANTI,
        }
        if join.kind not in kinds:
            raise NotAnalysed("FULL JOIN shows all rows of both sides")
        left = self.rows(join.left)
        outside, self.conjuncts, before = self.conjuncts, [], len(self.sources)
        right = self.rows(join.right)
        if len(self.sources) != before + 1:
            raise NotAnalysed("the right side of an outer join, of EXISTS or of IN has several tables")
        if join.kind is PartnerKind.LEFT and not all(isinstance(expr, Input) for expr in right):
            raise NotAnalysed("the right side of an outer join computes something")
        fields = (*left, *right)
        on = [*self.conjuncts, *(equality(substitute(a, fields), substitute(b, fields)) for a, b in join.equalities)]
        if join.condition is not None:
            on += conjuncts_of(substitute(join.condition, fields))
        self.conjuncts = outside
        last = self.sources.pop()
        self.sources.append(
            Source(
                start=last.start,
                leaf=last.leaf,
                width=last.width,
                name=last.name,
                stored=last.stored,
                derived=last.derived,
                kind=kinds[join.kind],
                on=tuple(on),
            )
        )
        return fields if join.kind.shows_pairs else left

    def derived(self, relation: Relation) -> tuple[Expr, ...]:
        """A query in FROM, and what else is not taken apart."""
        first = self.leaf
        match relation:
            case Aggregate() | TopN() | Distinct():
                inner = block_of(relation, self.schema, first)
                found = Derived(relation=relation, parts=(inner,), outputs=_passed(inner))
            case UnionAll(parts):
                blocks = []
                for part in parts:
                    blocks.append(block_of(part, self.schema, first))
                    first += sum(1 for _ in scans(part))
                found = Derived(relation=relation, parts=tuple(blocks))
            case Window(input):
                found = Derived(relation=relation, parts=(block_of(input, self.schema, first),))
            case _:
                raise NotAnalysed(f"{type(relation).__name__} is not taken apart")
        start = self._add("query", len(relation.fields), derived=found)
        self.leaf += sum(1 for _ in scans(relation))
        return tuple(Input(start + place, field.type) for place, field in enumerate(relation.fields))

    def _add(self, name: str, width: int, stored: Stored | None = None, derived: Derived | None = None) -> int:
        start = self.width
        self.sources.append(Source(start=start, leaf=self.leaf, width=width, name=name, stored=stored, derived=derived))
        self.width += width
        return start


_CUT = ("order", "limit", "limit_max", "offset")


def _one_of(exprs: Sequence[Expr]) -> Expr:
    """What a column is that is shown in several ways."""
    return exprs[0] if len(set(exprs)) == 1 else Call("one of", tuple(exprs), exprs[0].type)


def _leaves(source: Source) -> Iterator[Scan | None]:
    return iter([None]) if source.derived is None else scans(source.derived.relation)


def _passed(block: Block) -> tuple[Expr | None, ...]:
    """What the fields of a query are, where they are columns of one row below; None where a row is shown several times,
    each time otherwise.
    """
    if block.factor > 1:
        return (None,) * len(block.outputs)
    if block.group is None:
        return tuple(block.outputs)
    return tuple(
        block.group[expr.index] if isinstance(expr, Input) and expr.index < len(block.group) else None
        for expr in block.outputs
    )
