"""What the conditions of a block say: which expressions are equal, which lie in a range, which are one of several.

Equality is an equivalence: a = :p and b = :p make a and b equal. A conversion that keeps all values is looked through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from viewkeeper.analysis.block import WORD, conjuncts_of
from viewkeeper.model.types import STRING
from viewkeeper.plan.casts import keeps_all
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, Parameter
from viewkeeper.plan.filling import ANY_LENGTH
from viewkeeper.plan.likes import Wild, like_parts

Constant = Literal | Parameter
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
INEQUALITIES = frozenset(_FLIPPED)
_WORDS = {"has_word": "word", "has_word_like": "word starts"}


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on one expression: `op` is one of <, <=, >, >=, in, starts, word, word starts."""

    op: str
    subject: Expr
    operands: tuple[Constant, ...]
    conjunct: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTest:
    """`(a, b) < (:x, :y)`, as `a < :x OR a = :x AND b < :y`. The columns need not all be compared alike.

    `is_less`: for each whether it is compared by < or <=. `inclusive`: whether the row itself is meant, too.
    """

    subjects: tuple[Expr, ...]
    is_less: tuple[bool, ...]
    operands: tuple[Constant, ...]
    inclusive: bool
    conjunct: Expr


def core(expr: Expr) -> Expr:
    """What an expression is a conversion of that keeps all values."""
    while isinstance(expr, Cast) and keeps_all(expr.arg.type, expr.type):
        expr = expr.arg
    return expr


def is_constant(expr: Expr) -> bool:
    return isinstance(expr, Literal | Parameter)


class Conditions:
    """The conjuncts of a block, sorted by what they say."""

    def __init__(self, conjuncts: Iterable[Expr]) -> None:
        self.conjuncts = tuple(dict.fromkeys(conjuncts))
        self.tests: list[Test] = []
        self.rows: list[RowTest] = []
        self.other: list[Expr] = []
        self.equalities: list[tuple[Expr, Expr, Expr]] = []
        self._classes: dict[Expr, set[Expr]] = {}
        for conjunct in self.conjuncts:
            self._add(conjunct)

    def _add(self, conjunct: Expr) -> None:
        pair = equal_pair(conjunct)
        if pair is not None:
            self.equalities.append((*pair, conjunct))
            self._unite(*pair)
            return
        test = _test(conjunct)
        if test is None:
            row = _row_test(conjunct)
            if row is not None:
                self.rows.append(row)
            self.other.append(conjunct)
        else:
            self.tests.append(test)

    def _unite(self, left: Expr, right: Expr) -> None:
        joined = self._classes.get(left, {left}) | self._classes.get(right, {right})
        for member in joined:
            self._classes[member] = joined

    def same(self, expr: Expr) -> frozenset[Expr]:
        """All that has the value of an expression, itself included."""
        return frozenset(self._classes.get(core(expr), {core(expr)}))

    def are_equal(self, left: Expr, right: Expr) -> bool:
        return core(right) in self.same(left)

    def classes(self) -> list[list[Expr]]:
        """The classes, members in the order in which the conditions name them."""
        order: dict[Expr, None] = {}
        for left, right, _ in self.equalities:
            order |= {left: None, right: None}
        found: dict[int, list[Expr]] = {}
        for expr in order:
            found.setdefault(id(self._classes[expr]), []).append(expr)
        return list(found.values())

    def constants(self, expr: Expr) -> list[Constant]:
        """The constants and parameters that an expression equals; literals first."""
        found = [one for one in self.same(expr) if isinstance(one, Literal | Parameter)]
        return sorted(found, key=lambda one: (isinstance(one, Parameter), repr(one)))

    def tests_of(self, expr: Expr, ops: Iterable[str] | None = None) -> Iterator[Test]:
        """The tests of an expression, or of one that is equal to it."""
        members = self.same(expr)
        for test in self.tests:
            if test.subject in members and (ops is None or test.op in ops):
                yield test

    def compared(self, expr: Expr) -> Iterator[tuple[str, Expr, Expr]]:
        """What an expression is compared with by inequality and is no constant: the sign, that, and the condition."""
        members = self.same(expr)
        for conjunct in self.other:
            match conjunct:
                case Call(op, (left, right), _) if op in _FLIPPED:
                    if core(left) in members:
                        yield op, core(right), conjunct
                    if core(right) in members:
                        yield _FLIPPED[op], core(left), conjunct

    def implies(self, condition: Expr) -> bool:
        """Whether a condition holds wherever the conjuncts do; only what is plain to see."""
        pair = equal_pair(condition)
        if pair is not None and self.equates(*pair):
            return True
        match condition:
            case Call("not", (Call("is_null", (expr,), _),), _) if self._is_compared(expr):
                return True
        return condition in self.conjuncts

    def equates(self, left: Expr, right: Expr) -> bool:
        """Whether `left = right` is TRUE wherever the conjuncts are; `a = a` is not where a is NULL."""
        return self._is_compared(left) if core(left) == core(right) else self.are_equal(left, right)

    def _is_compared(self, expr: Expr) -> bool:
        return len(self.same(expr)) > 1 or any(True for _ in self.tests_of(expr))


def equal_pair(conjunct: Expr) -> tuple[Expr, Expr] | None:
    """The sides of an equality; None if it is none, or if both are constants."""
    match conjunct:
        case Call("=" | "in", (left, right), _):
            sides = core(left), core(right)
            return None if all(map(is_constant, sides)) or _is_list(sides[1]) else sides
    return None


def excluded_by(conjunct: Expr, *, turned: bool = False) -> tuple[Input | None, tuple[Expr, ...]]:
    """A column, and what a condition says that it is none of: `a <> :x`, `a NOT IN (1, 2)`; with `turned`, `:x <> a`.

    None if it says no such thing, or if how many there are is not known.
    """
    others: tuple[Expr, ...]
    match conjunct:
        case Call("<>", (left, right), _) | Call("not", (Call("=", (left, right), _),), _):
            subject, others = (core(right), (left,)) if turned else (core(left), (right,))
        case Call("not", (Call("in", (left, *rest), _),), _) if not turned:
            subject, others = core(left), tuple(rest)
        case _:
            return None, ()
    if not isinstance(subject, Input) or any(map(_is_list, others)):
        return None, ()
    return subject, others


def says_beginning(pattern: Parameter) -> bool:
    """Whether a pattern may say how a text begins, and no more.

    One that is given may, and so may `:word || '%'`; `'%' || :word || '%'` cannot.
    """
    if not isinstance(pattern.expr, Call) or pattern.expr.name != "concat":
        return True
    texts = [part.value if isinstance(part, Literal) else None for part in pattern.expr.args]
    written = "".join("x" if text is None else str(text) for text in texts) + "%" * (texts[-1] is None)
    parts = like_parts(written)
    return parts is not None and len(parts) == 2 and parts[1] is Wild.ANY


def _is_list(expr: Expr) -> bool:
    """Whether a parameter is a list of which the length is not known."""
    return isinstance(expr, Parameter) and expr.element == ANY_LENGTH


def _any_of(alternatives: Iterable[Expr], conjunct: Expr) -> Test | None:
    """`a = 1 OR a = 2` is `a IN (1, 2)`; None for anything else that OR joins."""
    subjects: set[Expr] = set()
    found: list[Constant] = []
    for one in alternatives:
        match one:
            case Call("=", (Literal() | Parameter() as value, subject), _):
                test = Test("in", core(subject), (value,), one)
            case Call("=" | "in" | "or", (_, _, *_), _):
                inner = _test(replace(one, name="in") if one.name == "=" else one)
                if inner is None or inner.op != "in":
                    return None
                test = inner
            case _:
                return None
        subjects.add(test.subject)
        found += test.operands
    if len(subjects) != 1 or any(map(is_constant, subjects)) or any(map(_is_list, found)):
        return None
    return Test("in", subjects.pop(), tuple(dict.fromkeys(found)), conjunct)


def _test(conjunct: Expr) -> Test | None:
    match conjunct:
        case Call("in", (subject, *values), _) if all(map(is_constant, values)):
            constants = tuple(value for value in values if isinstance(value, Literal | Parameter))
            return Test("in", core(subject), constants, conjunct)
        case Call("or", alternatives, _):
            return _any_of(alternatives, conjunct)
        case Call(op, (left, right), _) if op in _FLIPPED:
            left, right = core(left), core(right)
            if isinstance(left, Literal | Parameter):
                left, right, op = right, left, _FLIPPED[op]
            if isinstance(right, Literal | Parameter) and not is_constant(left):
                return Test(op, left, (right,), conjunct)
        case Call("like", (subject, Literal(str() as pattern, _) as literal), _):
            parts = like_parts(pattern)
            if parts is not None and len(parts) == 2 and parts[1] is Wild.ANY and isinstance(parts[0], str):
                return Test("starts", core(subject), (literal,), conjunct)
        case Call("like", (subject, Parameter() as pattern), _) if says_beginning(pattern):
            return Test("starts", core(subject), (pattern,), conjunct)
        case Call(name, (text, Literal() | Parameter() as value), _) if name in _WORDS:
            return Test(_WORDS[name], Call(WORD, (core(text),), STRING), (value,), conjunct)
    return None


def _row_test(conjunct: Expr) -> RowTest | None:
    found = _columns_of([[conjunct]])
    if found is None or len(found) < 2:
        return None
    return RowTest(
        subjects=tuple(test.subject for test in found),
        is_less=tuple(test.op in ("<", "<=") for test in found),
        operands=tuple(test.operands[0] for test in found),
        inclusive=found[-1].op in ("<=", ">="),
        conjunct=conjunct,
    )


def _columns_of(sides: list[list[Expr]]) -> list[Test] | None:
    """The comparison of each column, given the sides of OR, each as the conditions that AND joins."""
    sides = [list(part) for side in sides for part in _alternatives(side)]
    alone = [side for side in sides if len(side) == 1]
    test = _test(alone[0][0]) if len(alone) == 1 else None
    if test is None or test.op not in INEQUALITIES or not keeps_all(test.operands[0].type, test.subject.type):
        return None
    if len(sides) == 1:
        return [test]
    behind = []
    for side in sides:
        if side is not alone[0]:
            rest = [one for one in side if equal_pair(one) not in _either_way(test)]
            if not rest or len(rest) == len(side):
                return None
            behind.append(rest)
    others = _columns_of(behind) if test.op in ("<", ">") else None
    return None if others is None else [test, *others]


def _alternatives(side: list[Expr]) -> Iterator[Iterable[Expr]]:
    if len(side) == 1 and isinstance(side[0], Call) and side[0].name == "or":
        for one in side[0].args:
            yield from _alternatives([*conjuncts_of(one)])
    else:
        yield side


def _either_way(test: Test) -> tuple[tuple[Expr, Expr], ...]:
    return (test.subject, test.operands[0]), (test.operands[0], test.subject)
