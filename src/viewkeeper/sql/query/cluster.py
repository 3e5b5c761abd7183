"""Inner joins that stand side by side, as one: inputs, and conditions over all of them.

Inner joins, products and semi-joins may be computed in any order, so nested ones are taken together:

    a JOIN (b JOIN c ON …) ON … WHERE …      inputs a, b, c; the conditions of both ON and of WHERE

What an equality between two inputs says connects them. A condition on one input that cannot fail is a filter below the
join, anything else one above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.plan.expr import Expr, Input, inputs, rewrite
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.join import Equality, InnerJoin, PartnerKind, inputs_read, starts_of
from viewkeeper.plan.relation import Relation
from viewkeeper.sql.query import refused_joins
from viewkeeper.sql.query.columns import Columns, moved
from viewkeeper.sql.query.conjuncts import Conjunct, filtered
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.matching import partner_join
from viewkeeper.sql.query.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """A semi- or anti-join that is not built yet.

    The conjuncts are over `width` fields of the rows that need a partner, then over those of `right`; the former
    begin at `start` of the cluster.
    """

    kind: PartnerKind
    right: Relation
    conjuncts: tuple[Conjunct, ...]
    width: int
    start: int = 0

    def reads(self) -> list[int]:
        """The fields of the cluster that it looks at."""
        return [place + self.start for one in self.conjuncts for place in inputs(one.expr) if place < self.width]

    def on(self, left: Relation, first: int) -> Relation:
        """The rows of `left`, which are those of the cluster from `first` on, that have a partner or have none."""
        width = len(left.fields)

        def place(column: Input) -> Expr:
            if column.index < self.width:
                return Input(column.index + self.start - first, column.type)
            return Input(column.index - self.width + width, column.type)

        conjuncts = [replace(one, expr=rewrite(one.expr, place)) for one in self.conjuncts]
        return partner_join(self.kind, left, self.right, conjuncts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """`nodes` are where the inputs stand in the text."""

    inputs: tuple[Relation, ...]
    nodes: tuple[exp.Expr, ...]
    columns: Columns
    conjuncts: tuple[Conjunct, ...] = ()
    partners: tuple[Partner, ...] = ()

    @classmethod
    def of(cls, relation: Relation, columns: Columns, node: exp.Expr) -> Cluster:
        return cls(inputs=(relation,), nodes=(node,), columns=columns)

    @property
    def width(self) -> int:
        return self.columns.width

    def beside(self, right: Cluster, columns: Columns) -> Cluster:
        """All combinations of rows of the two; `columns` are those of both."""
        return Cluster(
            inputs=(*self.inputs, *right.inputs),
            nodes=(*self.nodes, *right.nodes),
            columns=columns,
            conjuncts=(*self.conjuncts, *(one.moved(self.width) for one in right.conjuncts)),
            partners=(*self.partners, *(replace(one, start=one.start + self.width) for one in right.partners)),
        )

    def where(self, conjuncts: Sequence[Conjunct]) -> Cluster:
        return replace(self, conjuncts=(*self.conjuncts, *conjuncts))

    def with_partner(self, partner: Partner) -> Cluster:
        return replace(self, partners=(*self.partners, partner))

    def build(self, context: Context) -> Rows:
        """The relation of the cluster; Unsupported if its equalities leave an input alone."""
        builder = _Builder(self, context)
        return Rows(relation=builder.build(), columns=self.columns)


class _Builder:
    def __init__(self, cluster: Cluster, context: Context) -> None:
        self._cluster = cluster
        self._context = context
        self._inputs = list(cluster.inputs)
        self._starts = starts_of(cluster.inputs)
        self._equalities: dict[Equality, None] = {}
        self._own: list[list[Expr]] = [[] for _ in cluster.inputs]
        self._above: list[Expr] = []

    def build(self) -> Relation:
        for one in self._cluster.conjuncts:
            self._sort(one)
        self._inputs = [filtered(input, own) for input, own in zip(self._inputs, self._own, strict=True)]
        partners = [one for one in self._cluster.partners if not self._on_input(one)]
        if len(self._inputs) == 1:
            relation = self._inputs[0]
        else:
            self._check_connected()
            relation = filtered(InnerJoin(tuple(self._inputs), tuple(self._equalities)), self._above)
        for partner in partners:
            relation = partner.on(relation, 0)
        return relation

    def _sort(self, one: Conjunct) -> None:
        """A conjunct to where it belongs."""
        if one.is_true:
            return
        reads = inputs_read(one.expr, self._starts)
        if len(self._inputs) == 1:
            self._own[0].append(one.expr)
        elif len(reads) == 1 and one.never_fails:
            (number,) = reads
            self._own[number].append(moved(one.expr, -self._starts[number]))
        elif (equality := self._equality(one)) is not None:
            self._equalities[equality] = None
        else:
            self._above.append(one.expr)

    def _equality(self, one: Conjunct) -> Equality | None:
        """An equality between two inputs, the earlier one first."""
        between = self._between(one)
        if one.sides is None or between is None or any(map(can_fail, one.sides)):
            return None
        left, right = one.sides
        return (left, right) if between[0] < between[1] else (right, left)

    def _between(self, one: Conjunct) -> tuple[int, int] | None:
        """The two inputs that a conjunct compares; None if it is not an equality of one side with another."""
        if one.sides is None:
            return None
        left, right = (inputs_read(side, self._starts) for side in one.sides)
        if len(left) != 1 or len(right) != 1 or left == right:
            return None
        return next(iter(left)), next(iter(right))

    def _on_input(self, partner: Partner) -> bool:
        """Puts a partner on the one input that it looks at, if it is one."""
        numbers = {number for place in partner.reads() for number in inputs_read(self._field(place), self._starts)}
        if len(numbers) != 1:
            return False
        (number,) = numbers
        self._inputs[number] = partner.on(self._inputs[number], self._starts[number])
        return True

    def _field(self, place: int) -> Input:
        return self._cluster.columns.input(place)

    def _check_connected(self) -> None:
        linked = _reached(
            [(self._number(left), self._number(right)) for left, right in self._equalities], len(self._inputs)
        )
        alone = next((number for number in range(len(self._inputs)) if number not in linked), None)
        if alone is None:
            return
        node = self._cluster.nodes[alone]
        what = f"a join of {self._name(0)} and {self._name(alone)} without an equality"
        crossing = [one for one in self._cluster.conjuncts if self._crosses(one, linked)]
        refusal = refused_joins.NO_EQUALITY
        if crossing:
            node, refusal = crossing[0].node, refused_joins.FAILING_EQUALITY
        raise self._context.refusal(node, refusal, what)

    def _crosses(self, one: Conjunct, linked: set[int]) -> bool:
        """Whether a conjunct is an equality that would connect the inputs if its sides could not fail."""
        between = self._between(one)
        return between is not None and (between[0] in linked) != (between[1] in linked)

    def _number(self, expr: Expr) -> int:
        return next(iter(inputs_read(expr, self._starts)))

    def _name(self, number: int) -> str:
        source, _ = self._cluster.columns.fields[self._starts[number]]
        return "a sub-query" if source is None else f'"{source}"'


def _reached(pairs: Sequence[tuple[int, int]], count: int) -> set[int]:
    """The inputs that equalities connect with the first one, directly or through others."""
    found = {0}
    for _ in range(count):
        found |= {one for pair in pairs if not found.isdisjoint(pair) for one in pair}
    return found
