"""Corner cases of joins and unions, as the files in joinrules/ show them."""

from __future__ import annotations

import pytest

from tests.views.joinrules import cases, expected, run
from tests.views.rules import Case

CASES = dict(cases())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_change_of_one_batch_is_the_table_of_the_case(case: Case) -> None:
    assert run(case) == expected(case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_change_adds_up_to_the_same_if_each_transaction_is_a_batch(case: Case) -> None:
    assert run(case, apart=True) == expected(case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_change_is_the_same_if_a_maintainer_filled_the_view(case: Case) -> None:
    assert run(case, by_maintainer=True) == expected(case)


def test_each_kind_has_a_file() -> None:
    files = {name.rpartition("-")[0] for name in CASES}
    assert files >= {
        *("inner", "chain", "one_attribute", "self_join", "left", "right", "full", "null_keys", "repeated_rows"),
        *("residual", "nested_outer", "semi", "anti", "union_all", "union", "grouped", "diamond", "views"),
    }
