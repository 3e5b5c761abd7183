"""A database as the analysis sees it: its tables, and its views with what they are defined as."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.analysis.levels import view_level
from viewkeeper.analysis.schema import Schema, Stored, stored_table
from viewkeeper.analysis.verdict import ChangeCost, Verdict
from viewkeeper.analysis.viewverdict import view_verdict
from viewkeeper.delta.keys import keyed
from viewkeeper.delta.program import Program, Storage
from viewkeeper.model.layout import Layout
from viewkeeper.model.view import View
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
            objects[number] = stored_view(catalog, view, one)
    return Schema(objects)


def stored_view(catalog: Catalog, view: View, one: BoundView) -> Stored:
    """A view with its definition, whose fields begin with what is stored."""
    return replace(
        _stored(catalog, one.statement, one.program, view.layout),
        id=view.id,
        name=view.name,
        mode=view.mode,
        copies=max(1, len(view.tables)),
        is_pending=view.replaces is not None,
    )


def _stored(catalog: Catalog, statement: CreateView, program: Program, layout: Layout) -> Stored:
    plan = statement.plan
    extended, key = keyed(plan, key_of(catalog))
    width = len(layout.columns) - (program.storage is not Storage.KEYED)
    # The stored key may begin with what depends on the rest, as with an aggregate that rows are ordered by.
    unique = layout.key if key is None or not set(key) <= set(layout.key) else key
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
    return view_verdict(_stored(bound.catalog, statement, made, made.layout), schema)
