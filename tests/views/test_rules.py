"""Every delta rule, as its file in rules/ shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.views.rules import CHECKED, files, read, run, written


@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_rule_does_what_its_file_shows(file: Path) -> None:
    about, cases = read(file)
    assert about, "a file says what its rule is"
    for case in cases:
        expected = {name: case[name] for name in CHECKED if name in case}
        assert run(case) == expected, case["view"]


@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_file_is_written_as_the_harness_writes_it(file: Path) -> None:
    assert written(*read(file)) == file.read_text(encoding="utf-8")


def test_each_rule_has_a_file() -> None:
    assert {file.stem for file in files()} >= {
        "selection",
        "projection",
        "index",
        "grouping_sets",
        "windows",
        "tokens",
        "count_and_sum",
        "average_and_variance",
        "min_max_distinct",
        "global",
        "distinct",
        "having",
        "view_on_view",
        "hidden_groups",
        "failing_rows",
    }
