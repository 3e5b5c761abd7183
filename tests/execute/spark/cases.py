"""Plans over one small table, each for one thing that the first stage of a plan may have to do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from viewkeeper.execute.changetable import Weighted
from viewkeeper.model.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Field, Filter, Project, Relation, Scan, Tokens

TYPES = (BIGINT, STRING, BIGINT, decimal(10, 2), DOUBLE, STRING, TIMESTAMP, INT, decimal(30, 4))
NAMES = ("id", "kind", "n", "price", "x", "text", "ts", "i", "wide")
MINUTE = 60_000_000
ROWS: list[Weighted] = [
    ((1, "a", 5, 125, 0.0, "red fish", 90 * MINUTE, 2**31 - 1, 10**30 - 1), 1),
    ((1, "a", 5, 125, -0.0, "Red, red FISH", 90 * MINUTE, -(2**31), 10**30 - 1), 1),
    ((2, "a", 0, None, math.nan, None, None, None, None), -1),
    ((3, None, 2**63 - 1, -250, math.nan, "", 91 * MINUTE, 7, -(10**29)), 1),
    ((4, None, -(2**63), 10**10 - 1, math.inf, "blue", -MINUTE, 0, 0), -1),
    ((5, "b", None, 0, -math.inf, "one fish two fish", 0, 1, 1), 3),
    ((6, "b", 1, 1, 1e308, "x", 1, 1, 1), 1),
    ((6, "b", 1, 1, 1e308, "x", 1, 1, 1), -1),
]


def scan(*names: str) -> Scan:
    places = tuple(map(NAMES.index, names))
    return Scan(1, "T", places, tuple(Field(NAMES[place], TYPES[place]) for place in places))


def aggregate(input: Relation, group: Sequence[int], *calls: tuple[AggregateKind, int | None]) -> Aggregate:
    found = []
    for kind, argument in calls:
        type = result_type(kind, None if argument is None else input.fields[argument].type)
        assert type is not None
        found.append(AggregateCall(kind, argument, type))
    return Aggregate(input, tuple(group), tuple(found), tuple(f"c{place}" for place in range(len(group) + len(found))))


def call(name: str, type: Type, *args: Expr) -> Call:
    return Call(name, args, type)


def doubled(depth: int) -> Relation:
    """x + x, of that the same, and so on: 2 ** depth operations, if written out."""
    relation: Relation = scan("n")
    for _ in range(depth):
        relation = Project(relation, (call("+", BIGINT, Input(0, BIGINT), Input(0, BIGINT)),), ("n",))
    return relation


N = Input(0, BIGINT)
KIND = AggregateKind
# A percentile is computed whole, and not from changes.
EVERYTHING = [(kind, 1) for kind in KIND if kind not in (KIND.COUNT_ROWS, KIND.PERCENTILE)]
QUOTIENT = call("div", BIGINT, Literal(10, BIGINT), N)
EPOCH = call(
    "epoch-", TIMESTAMP, Input(0, TIMESTAMP), call("epoch%", BIGINT, Input(0, TIMESTAMP), Literal(60_000, BIGINT))
)
EARLIER = call("epoch-", TIMESTAMP, EPOCH, Literal(30_000, BIGINT))
COUNTED = aggregate(scan("kind"), [0], (KIND.COUNT_ROWS, None))

CASES: dict[str, Relation] = {
    "COUNT(*) alone reads no column": aggregate(scan(), [], (KIND.COUNT_ROWS, None)),
    "everything of BIGINT": aggregate(scan("kind", "n"), [0], *EVERYTHING),
    "everything of DECIMAL": aggregate(scan("kind", "price"), [0], *EVERYTHING),
    "everything of wide DECIMAL": aggregate(scan("kind", "wide"), [0], *EVERYTHING),
    "everything of DOUBLE": aggregate(scan("kind", "x"), [0], *EVERYTHING),
    "everything of INT": aggregate(scan("kind", "i"), [0], *EVERYTHING),
    "everything of everything": aggregate(scan("kind", "n"), [], *EVERYTHING),
    "doubles as groups": aggregate(scan("x", "n"), [0], (KIND.SUM, 1), (KIND.MIN, 0)),
    "the same column as group and argument": aggregate(scan("n"), [0, 0], (KIND.SUM, 0), (KIND.MAX, 0)),
    "a constant as argument": aggregate(
        Project(scan("kind"), (Input(0, STRING), Literal(2, INT)), ("k", "one")), [0], (KIND.SUM, 1)
    ),
    "DISTINCT": Distinct(scan("kind", "x")),
    "HAVING": Filter(COUNTED, call(">", BOOLEAN, Input(1, BIGINT), Literal(1, BIGINT))),
    "an aggregate of an aggregate": aggregate(COUNTED, [1], (KIND.COUNT_ROWS, None)),
    "GROUPING SETS": aggregate(
        Expand(
            scan("n", "kind"),
            (
                (N, Input(1, STRING), Literal(0, INT)),
                (Literal(None, BIGINT), Input(1, STRING), Literal(1, INT)),
                (Literal(None, BIGINT), Literal(None, STRING), Literal(2, INT)),
            ),
            ("n", "kind", "set"),
        ),
        [0, 1, 2],
        (KIND.COUNT_ROWS, None),
        (KIND.MIN, 1),
        (KIND.SUM, 0),
    ),
    "epochs that overlap": aggregate(
        Expand(scan("ts", "n"), ((EPOCH, Input(1, BIGINT)), (EARLIER, Input(1, BIGINT))), ("epoch", "n")),
        [0],
        (KIND.COUNT_ROWS, None),
        (KIND.SUM, 1),
    ),
    "a branch that keeps fewer rows": aggregate(
        Filter(
            Expand(scan("n"), ((N, Literal(0, INT)), (QUOTIENT, Literal(1, INT))), ("n", "branch")),
            call("<", BOOLEAN, N, Literal(6, BIGINT)),
        ),
        [1],
        (KIND.COUNT_ROWS, None),
    ),
    "an argument that fails": aggregate(Project(scan("n"), (QUOTIENT,), ("q",)), [], (KIND.SUM, 0)),
    "what fails behind a selection does not count": aggregate(
        Project(Filter(scan("n"), call("<>", BOOLEAN, N, Literal(0, BIGINT))), (QUOTIENT,), ("q",)), [], (KIND.SUM, 0)
    ),
    "a selection that fails": Filter(scan("n"), call(">", BOOLEAN, QUOTIENT, Literal(1, BIGINT))),
    "what is projected away still fails": Project(
        Project(scan("n", "kind"), (QUOTIENT, Input(1, STRING)), ("q", "k")), (Input(1, STRING),), ("k",)
    ),
    "a selection of nothing": Filter(scan("n"), Literal(None, BOOLEAN)),
    "several selections": Filter(
        Filter(scan("n", "kind"), call("is_null", BOOLEAN, Input(1, STRING))), call(">", BOOLEAN, N, Literal(0, BIGINT))
    ),
    "rows as they are": scan(*NAMES),
    "rows in branches": Expand(
        scan("n"), ((N, Literal(0.0, DOUBLE)), (QUOTIENT, Literal(-0.0, DOUBLE))), ("n", "zero")
    ),
    "TOKENS": Tokens(scan("text", "n"), Input(0, STRING), "word"),
    "TOKENS behind what fails": Tokens(
        Project(
            scan("text", "n"),
            (Input(0, STRING), call("div", BIGINT, Literal(10, BIGINT), Input(1, BIGINT))),
            ("text", "q"),
        ),
        Input(0, STRING),
        "word",
    ),
    "words counted": aggregate(
        Tokens(scan("text", "price"), Input(0, STRING), "word"),
        [2],
        (KIND.COUNT_ROWS, None),
        (KIND.SUM, 1),
        (KIND.MIN, 0),
    ),
    "too large an expression": aggregate(doubled(14), [], (KIND.SUM, 0)),
    "a function that runs in Python": aggregate(
        Project(scan("x"), (Cast(Input(0, DOUBLE), decimal(20, 3)),), ("d",)), [0], (KIND.COUNT, 0)
    ),
}
