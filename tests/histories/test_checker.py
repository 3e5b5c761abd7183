"""The checker of histories: what is right passes, and each rule that is broken is told."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from tests.histories import history, interleaving, model
from tests.histories.checker import check
from tests.histories.handmade import DEFINITIONS, Story
from tests.histories.history import Event, History, from_line, to_line
from tests.histories.stories import RIGHT, WRONG


def violations(story: Story) -> list[str]:
    return [str(violation) for violation in check(History.of(story.events), DEFINITIONS)]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name: str) -> None:
    assert violations(RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(name: str) -> None:
    story, sentence = WRONG[name]
    assert violations(story) == [sentence]


def test_events_come_back_from_their_lines() -> None:
    events: list[Event] = [event for story, _ in WRONG.values() for event in story.events]
    assert [from_line(to_line(event)) for event in events] == events


@pytest.mark.parametrize("module", [history, interleaving, model], ids=lambda module: module.__name__)
def test_examples_in_the_words_of_a_module_hold(module: ModuleType) -> None:
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed
