"""Query plans by hand over a small network of people, and what they should give: computed over whole tables."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import viewkeeper as vk
from tests.read.moving import store_of
from viewkeeper.execute.evaluate import evaluate
from viewkeeper.execute.ordering import in_order
from viewkeeper.execute.rows.parameters import parameters
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, BOOLEAN, STRING, Row, Type
from viewkeeper.model.view import View
from viewkeeper.plan.access import Access, AccessKind, Found, Operand, QueryPlan
from viewkeeper.plan.expr import Call, Expr, Input, Parameter
from viewkeeper.plan.filling import ANY_LENGTH
from viewkeeper.plan.relation import Field, Relation, Scan, scans
from viewkeeper.read.consistency import Asked, Consistency
from viewkeeper.read.moments import Moments
from viewkeeper.read.planned import Planned
from viewkeeper.read.rows import Rows
from viewkeeper.store.interface import ALL

TABLES = """
CREATE TABLE Users (id BIGINT PRIMARY KEY, town STRING, age INT);
CREATE TABLE Follows (owner BIGINT, target BIGINT, since INT, PRIMARY KEY (owner, target));
CREATE TABLE Posts (author BIGINT, n INT, text STRING, PRIMARY KEY (author, n));
"""
TOWNS = ["Rome", "Oslo", "Rom", None, ""]


def fill(db: vk.Database, chance: random.Random, writes: int) -> None:
    """Writes by chance, some of them several in a transaction."""
    for _ in range(writes):
        user = chance.randrange(8)
        with db.transaction() as tx:
            match chance.randrange(6):
                case 0:
                    tx.delete("Users", user)
                case 1:
                    tx.put("Follows", {"owner": user, "target": chance.randrange(8), "since": chance.randrange(3)})
                case 2:
                    tx.delete("Follows", user, chance.randrange(8))
                case 3:
                    tx.put("Posts", {"author": user, "n": chance.randrange(4), "text": chance.choice("abc")})
                case _:
                    for one in {user, chance.randrange(8)}:
                        age = chance.choice([None, 1, 2, 3])
                        tx.put("Users", {"id": one, "town": chance.choice(TOWNS), "age": age})


def object_id(db: vk.Database, name: str) -> int:
    return store_of(db).catalog().find(name).id


def scan(db: vk.Database, name: str) -> Scan:
    """All stored columns of a table, or all that a view shows."""
    found = store_of(db).catalog().find(name)
    fields = tuple(Field(column.name, column.type) for column in found.columns)
    return Scan(found.id, name, tuple(range(len(fields))), fields, is_view=isinstance(found, View))


def access(db: vk.Database, name: str, leaf: int | None, *equal: Any, most: int = 1000, **rest: Any) -> Access:
    """Each of `equal` is an operand, or several; the bounds are so large that only tests which name them look."""
    columns: list[tuple[Operand, ...]] = [one if isinstance(one, tuple) else (one,) for one in equal]
    return Access(
        kind=AccessKind.INDEX_SCAN,
        object=object_id(db, name),
        name=name,
        leaf=leaf,
        equal=tuple(columns),
        operations=rest.pop("operations", most),
        rows=most,
        **rest,
    )


def plan(relation: Relation, *accesses: Access, **rest: Any) -> QueryPlan:
    columns = tuple(Column(name=f"c{place}", type=field.type) for place, field in enumerate(relation.fields))
    return QueryPlan(accesses=accesses, relation=relation, columns=rest.pop("columns", columns), **rest)


def found(access: int, column: int, type: Type = BIGINT) -> Found:
    return Found(access=access, column=column, type=type)


def equals(place: int, type: Type, other: Expr) -> Expr:
    return Call("=", (Input(place, type), other), BOOLEAN)


def both(*conditions: Expr) -> Expr:
    return conditions[0] if len(conditions) == 1 else Call("and", conditions, BOOLEAN)


def town(key: str = "town", element: int | None = None) -> Parameter:
    return Parameter(key, STRING, element)


def number(key: str = "n", type: Type = BIGINT, element: int | None = None) -> Parameter:
    return Parameter(key, type, element)


def run(
    db: vk.Database,
    made: QueryPlan,
    consistency: Consistency = None,
    moments: Moments | None = None,
    /,
    **values: Any,
) -> Rows:
    """A plan that is compiled and run; a list is given for the places of one parameter."""
    catalog = store_of(db).catalog()
    planned = Planned(made, catalog)
    moment = (moments or Moments(db._reads)).now(catalog, planned.objects, Asked(consistency=consistency))
    return planned.run(moment, given(values))


def given(values: Mapping[str, Any]) -> dict[tuple[str | int, int | None], Any]:
    cells: dict[tuple[str | int, int | None], Any] = {}
    for key, value in values.items():
        if isinstance(value, list):
            cells.update({(key, place): one for place, one in enumerate(value)})
            cells[key, ANY_LENGTH] = tuple(value)
        else:
            cells[key, None] = value
    return cells


def cells(rows: Rows) -> list[Row]:
    """The cells of an answer, which are Python values here."""
    return [tuple(row.values()) for row in rows]


def expected(db: vk.Database, made: QueryPlan, at: vk.Position, **values: Any) -> list[Row]:
    """The answer over all rows of the tables as of a position; views are not among the scans."""
    store = store_of(db)
    catalog, snapshot = store.catalog(), store.snapshot(at)
    whole = [
        [row for chunk in snapshot.scan(catalog.codecs[one.object], ALL) for row in chunk]
        for one in scans(made.relation)
    ]
    with parameters(given(values)):
        rows = in_order(evaluate(made.relation, whole), made.order)
    return [row[: len(made.columns)] for row in rows]
