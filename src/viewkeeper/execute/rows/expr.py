"""Expressions as Python functions, one generated function each.

    price + 1 > 9    becomes    def evaluate(row, failures):
                                    c3 = row[3]
                                    if c3 is None:
                                        v1 = None
                                    else:
                                        v1 = c3 + 1
                                        if not -2147483648 <= v1 <= 2147483647:
                                            v1 = None
                                            failures.count += 1
                                    v2 = None if v1 is None else v1 > 9
                                    return v2

An operation that fails on a row gives None and adds one to `failures.count`; what is around it goes on with NULL. Every
argument is evaluated, except that CASE and COALESCE evaluate only what they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from viewkeeper.execute.rows.casts import cast_code
from viewkeeper.execute.rows.code import Code
from viewkeeper.execute.rows.functions import IMPLEMENTATIONS
from viewkeeper.execute.rows.parameters import ParameterKey, given
from viewkeeper.model.types import BOOLEAN, Cell, Row
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter, inputs
from viewkeeper.plan.filling import parameters_in, with_whole_lists
from viewkeeper.plan.functions import FUNCTIONS, Nulls

_MAX_DEPTH = 40
"""Python reads no text that is indented a hundred times; what is deeper becomes a function of its own."""


class Failures:
    """How many operations have failed."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


def compile_expr(expr: Expr) -> Callable[[Row, Failures], Cell]:
    """A function from a row to the value of the expression.

    >>> from viewkeeper.model.types import INT
    >>> divide = compile_expr(Call("div", (Input(0, INT), Input(1, INT)), INT))
    >>> failures = Failures()
    >>> divide((7, 2), failures), divide((7, 0), failures), divide((None, 0), failures), failures.count
    (3, None, None, 1)
    """
    return _compile([expr], lambda values: values[0])


def compile_predicate(expr: Expr) -> Callable[[Row, Failures], bool]:
    """A function from a row to whether the condition is TRUE; neither FALSE nor NULL is."""
    if expr.type != BOOLEAN:
        raise ValueError("a condition is BOOLEAN")
    return _compile([expr], lambda values: f"{values[0]} is True")


def compile_row(exprs: Sequence[Expr]) -> Callable[[Row, Failures], Row]:
    """A function from a row to the values of several expressions, faster than one function each."""
    return _compile(exprs, lambda values: f"({''.join(f'{value}, ' for value in values)})")


_Result = Callable[[list[str]], str]
"""What a function returns, given the names of the values of its expressions."""


def _compile(exprs: Sequence[Expr], result: _Result) -> Callable[[Row, Failures], Any]:
    writer = _Writer()
    writer.define("evaluate", [*map(with_whole_lists, exprs)], result)
    exec(compile("\n".join(writer.source), "<expression>", "exec"), writer.names)
    function: Callable[[Row, Failures], Any] = writer.names["evaluate"]
    return function


@dataclass(slots=True)
class _Writer:
    """The text of a function, and the objects that it names."""

    source: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    count: int = 0
    parameters: dict[ParameterKey, str] = field(default_factory=dict)

    def define(self, name: str, exprs: Sequence[Expr], result: _Result) -> None:
        """Writes a function of (row, failures)."""
        lines, depth = self.lines, self.depth
        self.lines, self.depth = [], 1
        for column in sorted({column for expr in exprs for column in inputs(expr)}):
            self.write(f"c{column} = row[{column}]")
        self.read({(one.key, one.element): None for expr in exprs for one in parameters_in(expr)})
        self.write(f"return {result([self.value(expr) for expr in exprs])}")
        self.source += [f"def {name}(row, failures):", *self.lines]
        self.lines, self.depth = lines, depth

    def read(self, wanted: Iterable[ParameterKey]) -> None:
        """Writes what reads parameters, each into a variable that is the same in all functions of the text."""
        for key in wanted:
            self.names["given"] = given
            name = self.parameters.setdefault(key, f"p{len(self.parameters)}")
            self.write(f"{name} = given.values[{key!r}]")

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def variable(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def bind(self, item: Any) -> str:
        self.count += 1
        self.names[f"k{self.count}"] = item
        return f"k{self.count}"

    def value(self, expr: Expr) -> str:
        """Writes what computes an expression; the name, or constant, that then is its value."""
        match expr:
            case Input(index, _):
                return f"c{index}"
            case Literal(value, _):
                return self.constant(value)
            case Parameter(key, _, element):
                return self.parameters[key, element]
            case Cast(arg, type):
                return self.strict(cast_code(arg.type, type, self.bind), [self.value(arg)])
            case Call("coalesce", args, _):
                return self.outlined(expr, lambda: self.coalesce(args))
            case Call(name, args, _):
                code = IMPLEMENTATIONS[name](expr, self.bind)
                if FUNCTIONS[name].nulls is Nulls.PROPAGATE:
                    return self.strict(code, [self.value(arg) for arg in args])
                return self.checked(code, [self.named(arg) for arg in args], self.variable())
            case Case():
                return self.outlined(expr, lambda: self.case(expr))
        assert_never(expr)

    def constant(self, value: Cell) -> str:
        if value is None or isinstance(value, bool | str | bytes):
            return repr(value)
        if isinstance(value, int):
            return f"({value})" if value < 0 else str(value)
        return self.bind(value)

    def named(self, expr: Expr) -> str:
        """Like value, but never a number or text as such, which Python would warn of beside `is`."""
        value = self.value(expr)
        if value.isidentifier():
            return value
        name = self.variable()
        self.write(f"{name} = {value}")
        return name

    def strict(self, code: Code, values: list[str]) -> str:
        """Writes an operation that is NULL where an argument is."""
        if "None" in values:
            return "None"
        if code.text == "{0}" and code.fits is None:
            return values[0]
        result = self.variable()
        # Of names, only those of bound constants, k1 …, are never None.
        unknown = [value for value in values if value.isidentifier() and not value.startswith("k")]
        if not unknown:
            return self.checked(code, values, result)
        absent = " or ".join(f"{value} is None" for value in dict.fromkeys(unknown))
        if code.fits is None and not code.fallible:
            self.write(f"{result} = None if {absent} else {code.text.format(*values)}")
            return result
        self.write(f"if {absent}:")
        self.write(f"    {result} = None")
        self.write("else:")
        self.depth += 1
        self.checked(code, values, result)
        self.depth -= 1
        return result

    def checked(self, code: Code, values: list[str], result: str) -> str:
        """Writes an operation and the check of its result."""
        self.write(f"{result} = {code.text.format(*values)}")
        wrong = []
        if code.fallible:
            wrong.append(f"{result} is None")
        if code.fits is not None:
            wrong.append(f"not {code.fits.format(v=result)}")
        if wrong:
            self.write(f"if {' or '.join(wrong)}:")
            self.write(f"    {result} = None")
            self.write("    failures.count += 1")
        return result

    def outlined(self, expr: Expr, write: Callable[[], str]) -> str:
        """What `write` writes, here or, where it is indented too deep, in a function of its own."""
        if self.depth < _MAX_DEPTH:
            return write()
        result, name = self.variable(), f"f{self.count}"
        self.define(name, [expr], lambda values: values[0])
        self.write(f"{result} = {name}(row, failures)")
        return result

    def coalesce(self, args: Sequence[Expr]) -> str:
        result = self.variable()
        self.write(f"{result} = {self.value(args[0])}")
        for arg in args[1:]:
            self.write(f"if {result} is None:")
            self.depth += 1
            self.write(f"{result} = {self.value(arg)}")
            self.depth -= 1
        return result

    def case(self, expr: Case) -> str:
        """Branches in a row, not one inside the other, so that their number does not indent."""
        result, decided = self.variable(), self.variable()
        self.write(f"{decided} = False")
        for number, (condition, value) in enumerate(expr.branches):
            if number:
                self.write(f"if not {decided}:")
                self.depth += 1
            self.write(f"if {self.value(condition)}:")
            self.depth += 1
            self.write(f"{result} = {self.value(value)}")
            self.write(f"{decided} = True")
            self.depth -= 2 if number else 1
        self.write(f"if not {decided}:")
        self.depth += 1
        self.write(f"{result} = {self.value(expr.otherwise)}")
        self.depth -= 1
        return result
