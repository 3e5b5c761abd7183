"""Rows of views without aggregates: encoded, netted, and stored if they fit what is there."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, cast

import pytest

from viewkeeper.delta.program import Storage, program
from viewkeeper.errors import StoreDamaged
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import EncodedRows, RowEncoder, with_weight
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, DOUBLE, STRING
from viewkeeper.plan.relation import Field, Scan
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.viewreading import ViewReading

FIELDS = (Field("id", BIGINT), Field("x", DOUBLE), Field("text", STRING))
VIEW = 7


def runner(*, has_key: bool) -> ViewRunner:
    visible = tuple(Column(name=field.name, type=field.type) for field in FIELDS)
    key = ((0, FIELDS[0]),) if has_key else None
    scan = Scan(1, "T", (0, 1, 2), FIELDS)
    return ViewRunner(program(scan, visible, (), id=VIEW, name="V", key_of=lambda _: key))


KEYED, WEIGHTED = runner(has_key=True), runner(has_key=False)


class Stored:
    """A view table as a dict."""

    def __init__(self, rows: dict[bytes, bytes]) -> None:
        self._rows = rows

    def get_many(self, number: int, keys: Sequence[bytes]) -> list[bytes | None]:
        assert number == VIEW
        return [self._rows.get(key) for key in keys]


def changes(view: ViewRunner, stored: dict[bytes, bytes], rows: list[Weighted]) -> dict[bytes, RawChange]:
    first = view.first_changes(rows)
    found = view.run(first, cast(ViewReading, Stored(stored))).objects
    assert list(found) == [VIEW]
    return found[VIEW].changes


def keyed(*row: Any) -> tuple[bytes, bytes]:
    [key], [encoded] = RowEncoder(KEYED.program).encode([row])
    return key, encoded


def test_rows_that_cancel_out_are_left_out() -> None:
    rows: list[Weighted] = [((1, 0.5, "a"), -1), ((1, 0.5, "b"), 1), ((1, 0.5, "a"), 1), ((2, None, None), 1)]
    first = KEYED.first_changes(rows).changes
    assert isinstance(first, EncodedRows)
    found = dict(zip(zip(first.keys, first.rows, strict=True), first.weights, strict=True))
    assert found == {keyed(1, 0.5, "b"): 1, keyed(2, None, None): 1}


def test_every_nan_is_the_same_in_a_row_but_zeros_differ() -> None:
    [other] = struct.unpack(">d", b"\xff\xf8\0\0\0\0\0\x01")
    assert changes(KEYED, {}, [((1, other, "a"), 1), ((1, math.nan, "a"), -1)]) == {}
    key, before = keyed(1, 0.0, "a")
    _, after = keyed(1, -0.0, "a")
    assert changes(KEYED, {key: before}, [((1, 0.0, "a"), -1), ((1, -0.0, "a"), 1)]) == {key: (before, after)}


def test_an_entry_whose_key_stays_is_one_change() -> None:
    key, before = keyed(1, 0.5, "a")
    _, after = keyed(1, 0.5, "b")
    assert changes(KEYED, {key: before}, [((1, 0.5, "b"), 1), ((1, 0.5, "a"), -1)]) == {key: (before, after)}


def test_what_comes_is_put_and_what_goes_is_removed() -> None:
    (one, first), (two, second) = keyed(1, 0.5, "a"), keyed(2, 0.5, "a")
    found = changes(KEYED, {one: first}, [((1, 0.5, "a"), -1), ((2, 0.5, "a"), 1)])
    assert found == {one: (first, None), two: (None, second)}


@pytest.mark.parametrize(
    ("stored", "rows"),
    [
        ([], [((1, 0.5, "a"), -1)]),
        ([(1, 0.5, "a")], [((1, 0.5, "b"), 1)]),
        ([(1, 0.5, "a")], [((1, 0.5, "a"), 1)]),
        ([(1, 0.5, "a")], [((1, 0.5, "b"), -1)]),
        ([(1, 0.5, "a")], [((1, 0.5, "a"), -2)]),
        ([], [((1, 0.5, "a"), 2)]),
        ([], [((1, 0.5, "a"), 1), ((1, 0.5, "b"), 1)]),
        ([(1, 0.5, "a")], [((1, 0.5, "a"), -1), ((1, 0.5, "b"), -1)]),
    ],
)
def test_changes_that_do_not_fit_what_is_stored_are_damage(stored: list[Any], rows: list[Weighted]) -> None:
    with pytest.raises(StoreDamaged, match="does not fit"):
        changes(KEYED, dict(keyed(*row) for row in stored), rows)


def test_a_weighted_row_is_stored_with_its_weight() -> None:
    assert WEIGHTED.program.storage is Storage.WEIGHTED
    encoder = RowEncoder(WEIGHTED.program)
    for weight in (1, 127, 128, 1 << 40):
        [key], [row] = encoder.encode([(1, 0.5, "a")])
        stored = with_weight(row, weight)
        assert encoder.codec.decode(stored) == (1, 0.5, "a", weight)
        [(found, (before, after))] = changes(WEIGHTED, {key: stored}, [((1, 0.5, "a"), 200)]).items()
        assert (found, before) == (key, stored)
        assert after is not None
        assert encoder.codec.decode(after) == (1, 0.5, "a", weight + 200)


def test_a_weighted_row_goes_with_its_last_weight() -> None:
    [key], [row] = RowEncoder(WEIGHTED.program).encode([(1, 0.5, "a")])
    stored = {key: with_weight(row, 2)}
    assert changes(WEIGHTED, stored, [((1, 0.5, "a"), -2)]) == {key: (stored[key], None)}
    with pytest.raises(StoreDamaged, match="weight -1"):
        changes(WEIGHTED, stored, [((1, 0.5, "a"), -3)])


def test_of_rows_that_share_a_key_the_one_that_comes_is_shown() -> None:
    for rows in ([((1, 0.0, "a"), -1), ((1, -0.0, "a"), 2)], [((1, -0.0, "a"), 2), ((1, 0.0, "a"), -1)]):
        [(_, after)] = changes(WEIGHTED, {}, cast(list[Weighted], rows)).values()
        assert after is not None
        assert repr(RowEncoder(WEIGHTED.program).codec.decode(after)) == "(1, -0.0, 'a', 1)"
