"""Dependencies between the attributes of a block, and how many rows they allow.

    key → columns                 1    a key is of one row
    given → counted               K    CARDINALITY (counted, K)
    a ↔ b                         1    a = b
    ∅ → a                         1    a = literal
    text → a word of it           W    CARDINALITY (TOKENS(text), W)

A set of attributes that reaches others by such steps allows at most the product of the weights of the steps as many
combinations of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from viewkeeper.analysis.block import WORD, Block, Source, SourceKind
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.plan.expr import Call, Expr, Input, Literal, children, inputs

MOST = 10
"""Steps with a weight above 1 of which all combinations are tried."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """For one combination of `given` there are at most `weight` of `found`."""

    given: frozenset[Expr]
    found: frozenset[Expr]
    weight: int = 1


def dependencies(block: Block, conditions: Conditions | None = None) -> list[Dependency]:
    """All that hold for the rows of a block, the trivial ones left out."""
    known = conditions or Conditions(block.conjuncts)
    found: list[Dependency] = []
    for source in block.sources:
        found += of_source(source)
    for left, right, _ in known.equalities:
        if isinstance(left, Literal) or isinstance(right, Literal):
            value = right if isinstance(left, Literal) else left
            found.append(Dependency(frozenset(), frozenset({value})))
        elif not any(is_given(side) for side in (left, right)):
            found.append(Dependency(frozenset({left}), frozenset({right})))
            found.append(Dependency(frozenset({right}), frozenset({left})))
    for source in block.sources:
        if source.kind is SourceKind.LEFT:
            found += _of_partners(source)
    return found


def _of_partners(source: Source) -> Iterator[Dependency]:
    """What ON says: a partner has what it is compared with. Whether there is one takes all that ON reads of the row."""
    given = frozenset(one for conjunct in source.on for one in _columns(conjunct) if not source.has(one.index))
    for left, right, _ in Conditions(source.on).equalities:
        for one in (left, right):
            if isinstance(one, Input) and source.has(one.index):
                yield Dependency(given, frozenset({one}))


def _columns(expr: Expr) -> Iterator[Input]:
    if isinstance(expr, Input):
        yield expr
    for child in children(expr):
        yield from _columns(child)


def is_given(expr: Expr) -> bool:
    return not any(True for _ in inputs(expr))


def of_source(source: Source) -> list[Dependency]:
    """What keys and declared limits say of one source."""
    stored = source.stored
    if stored is None:
        return []

    def attributes(columns: Iterable[int]) -> frozenset[Expr]:
        return frozenset(Input(source.start + number, stored.columns[number].type) for number in columns)

    found: list[Dependency] = []
    if stored.unique is not None:
        rest = set(range(len(stored.columns))) - stored.unique
        if rest:
            found.append(Dependency(attributes(stored.unique), attributes(rest)))
    # Beside the rows that a limit over the whole table allows there is that of NULLs, where there is no partner.
    alone = source.kind is SourceKind.LEFT
    found += [
        Dependency(attributes(one.given), attributes(one.counted), one.limit + (alone and not one.given))
        for one in stored.limits
    ]
    for number, most in stored.words.items():
        (text,) = attributes([number])
        found.append(Dependency(frozenset({text}), frozenset({Call(WORD, (text,), text.type)}), most))
    return found


@dataclass(frozen=True, slots=True)
class Reached:
    """What a set of attributes reaches; `factor` is how many combinations there are at most."""

    attributes: frozenset[Expr]
    factor: int
    used: tuple[Dependency, ...] = ()


def closure(start: Iterable[Expr], steps: Sequence[Dependency]) -> frozenset[Expr]:
    """All that some attributes reach. What is computed from attributes that are reached is reached."""
    reached = set(start)
    wanted = {expr for step in steps for expr in (*step.given, *step.found)}
    grew = True
    while grew:
        before = len(reached)
        for step in steps:
            if step.given <= reached:
                reached |= step.found
        reached |= {expr for expr in wanted if _is_computed(expr, reached)}
        grew = len(reached) > before
    return frozenset(reached)


def _is_computed(expr: Expr, reached: set[Expr]) -> bool:
    if isinstance(expr, Input) or (isinstance(expr, Call) and expr.name == WORD):
        return False
    return all(any(isinstance(one, Input) and one.index == place for one in reached) for place in inputs(expr))


def covers(reached: frozenset[Expr], targets: Iterable[Expr]) -> bool:
    """Whether all targets are reached, or computed from what is."""
    return all(target in reached or _is_computed(target, set(reached)) for target in targets)


def reach(start: Iterable[Expr], targets: Sequence[Expr], steps: Sequence[Dependency]) -> Reached | None:
    """How some attributes reach others, with the least factor; None if they do not."""
    plain = [step for step in steps if step.weight == 1]
    weighted = sorted((step for step in steps if step.weight > 1), key=lambda step: step.weight)
    begin = frozenset(start)
    if not covers(closure(begin, steps), targets):
        return None
    if len(weighted) > MOST:
        return Reached(closure(begin, steps), prod(step.weight for step in weighted), tuple(weighted))
    best: Reached | None = None
    for count in range(len(weighted) + 1):
        for chosen in combinations(weighted, count):
            factor = prod(step.weight for step in chosen)
            if best is not None and factor >= best.factor:
                continue
            reached = closure(begin, [*plain, *chosen])
            if covers(reached, targets):
                best = Reached(reached, factor, chosen)
        if best is not None and count and best.factor <= prod(step.weight for step in weighted[: count + 1]):
            break
    return best


def unreached(start: Iterable[Expr], targets: Sequence[Expr], steps: Sequence[Dependency]) -> list[Expr]:
    """The targets that are not reached."""
    reached = closure(frozenset(start), steps)
    return [target for target in targets if not covers(reached, [target])]
