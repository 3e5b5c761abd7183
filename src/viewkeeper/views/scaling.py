"""A database as the analysis sees it: its tables, and its views with what they are defined as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from viewkeeper.analysis.levels import view_level
from viewkeeper.analysis.schema import Schema, Stored, stored_table
from viewkeeper.analysis.verdict import ChangeCost, Verdict
from viewkeeper.analysis.viewverdict import view_verdict
from viewkeeper.delta.keys import Keyed, keyed
from viewkeeper.delta.program import Program, Storage
from viewkeeper.model.layout import Layout
from viewkeeper.model.view import View
from viewkeeper.plan.relation import Field, Relation, Scan
from viewkeeper.sql.statements import CreateView
from viewkeeper.store.interface import Catalog
from viewkeeper.views.bound import BoundView, BoundViews, key_of, program_of
from viewkeeper.views.cycles import check_cycle


def schema_of(bound: BoundViews) -> Schema:
    """All tables and views; those that cannot be bound are left out."""
    catalog = bound.catalog
    objects = {number: stored_table(table) for number, table in catalog.tables.items()}
    for number, view in sorted(catalog.views.items()):
        one = bound.get(number)
        if one is not None:
            objects[number] = _stored_view(catalog, view, one, objects)
    return Schema(objects)


def _stored_view(catalog: Catalog, view: View, one: BoundView, below: Mapping[int, Stored]) -> Stored:
    """A view with its definition, whose fields begin with what is stored."""
    return replace(
        _stored(catalog, one.statement, one.program, view.layout, below),
        id=view.id,
        name=view.name,
        mode=view.mode,
        copies=max(1, len(view.tables)),
        is_pending=view.replaces is not None,
    )


def _stored(
    catalog: Catalog, statement: CreateView, program: Program, layout: Layout, below: Mapping[int, Stored]
) -> Stored:
    plan = statement.plan
    extended, key = keyed(plan, key_of(catalog))
    width = len(layout.columns) - (program.storage is not Storage.KEYED)
    # The stored key may begin with what depends on the rest, as with an aggregate that rows are ordered by.
    unique = layout.key if key is None or not set(key) <= set(layout.key) else key
    least = _places(plan, extended, keyed(plan, partial(_least_key, below)))
    if least is not None and least <= set(unique):
        unique = tuple(least)
    return Stored(
        id=layout.id,
        name=statement.name,
        kind=str(statement.kind),
        columns=layout.columns,
        visible=layout.visible,
        key=layout.key,
        descending=layout.descending,
        unique=None if program.storage is Storage.WEIGHTED else frozenset(unique),
        approximate=statement.approximate,
        mode=str(statement.maintain.mode),
        plan=extended if len(extended.fields) == width else plan,
    )


def _least_key(below: Mapping[int, Stored], scan: Scan) -> tuple[tuple[int, Field], ...] | None:
    """What makes rows of a view unique, without what is in its key for the order alone."""
    stored = below.get(scan.object)
    if stored is None or stored.unique is None:
        return None
    key = [number for number in stored.key if number in stored.unique]
    return tuple((number, Field(stored.columns[number].name, stored.columns[number].type)) for number in key)


def _places(plan: Relation, extended: Relation, other: Keyed) -> set[int] | None:
    """Where the key of a relation is that was extended otherwise; None if there is none, or that is not plain."""
    relation, key = other
    if key is None:
        return None
    found: set[int] = set()
    width = len(plan.fields)
    for place in key:
        alike = [width + n for n, field in enumerate(extended.fields[width:]) if field == relation.fields[place]]
        if place >= width and len(alike) != 1:
            return None
        found.add(place if place < width else alike[0])
    return found


def levels_of(bound: BoundViews) -> dict[int, str]:
    """The level of each view that can be bound."""
    schema = schema_of(bound)
    return {view.id: view_level(view, schema)[0] for view in schema.views()}


def verdict_of(bound: BoundViews, view: View) -> tuple[Verdict, dict[str, ChangeCost]]:
    """The verdict on a view that is there, and what a changed row of each table costs in it alone."""
    schema = schema_of(bound)
    found = view_verdict(schema[view.id], schema)
    return replace(found, added={}), dict(found.added)


def verdict_on(bound: BoundViews, statement: CreateView) -> Verdict:
    """The verdict on a view that is not made yet, beside those that are. BadDefinition if it would read itself."""
    schema = schema_of(bound)
    replaced = bound.catalog.view(statement.name)
    if replaced is not None:
        # What stands on it is made again over the new one, and may not fit.
        gone = {replaced.id, *(view.id for view in bound.catalog.dependents([replaced.id]))}
        check_cycle(bound.catalog, statement, gone)
        schema = Schema({number: one for number, one in schema.objects.items() if number not in gone})
    number = max((*bound.catalog.tables, *bound.catalog.views), default=0) + 1
    made = program_of(statement, bound.catalog, id=number)
    return view_verdict(_stored(bound.catalog, statement, made, made.layout, schema.objects), schema)
