"""Views and the plans that they are bound to, operator by operator: plans/*.txt."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.sql.plan_types import check_plan
from tests.sql.plans import cases, files, report_of
from tests.sql.tables import catalog
from viewkeeper.plan.relation import Relation, below
from viewkeeper.plan.whole import Single
from viewkeeper.sql.statements import CreateView

CASES = [pytest.param(text, report, id=f"{file.stem}:{text}") for file in files() for text, report in cases(file)]


@pytest.mark.parametrize(("text", "report"), CASES)
def test_a_view_is_bound_to_its_plan(text: str, report: str) -> None:
    assert report_of(text) == report


@pytest.mark.parametrize(("text", "report"), CASES)
def test_the_kept_text_gives_the_same_view_again(text: str, report: str) -> None:
    tables = catalog()
    last = tables.run(text)[-1]
    assert isinstance(last, CreateView)
    again = tables.one(last.text)
    assert again.or_replace is again.if_not_exists is False
    for name in ("name", "kind", "key", "maintain", "plan", "visible", "approximate", "retain", "text", "sources"):
        assert getattr(again, name) == getattr(last, name), name


@pytest.mark.parametrize(("text", "report"), CASES)
def test_the_fields_of_a_plan_begin_with_the_visible_columns(text: str, report: str) -> None:
    view = catalog().run(text)[-1]
    if view.plan is not None:
        shown = view.plan.fields[: len(view.visible)]
        assert [(field.name, field.type) for field in shown] == [(column.name, column.type) for column in view.visible]


def test_every_operator_of_a_plan_is_covered() -> None:
    found: set[type] = set()
    for case in CASES:
        pending = [catalog().run(str(case.values[0]))[-1].plan]
        while pending:
            relation = pending.pop()
            if relation is not None:
                found.add(type(relation))
                pending += below(relation)
    # What SELECT without FROM reads is no part of a view.
    assert found == set(get_args(Relation)) - {Single}


@pytest.mark.parametrize(("text", "report"), CASES)
def test_a_plan_has_no_implicit_conversion(text: str, report: str) -> None:
    plan = catalog().run(text)[-1].plan
    if plan is not None:
        check_plan(plan)
