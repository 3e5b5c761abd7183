"""Rows and keys that a table refuses: class, code and text of each error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from viewkeeper.errors import (
    BadText,
    MissingColumn,
    NullKey,
    OutOfRange,
    UnknownColumn,
    ViewkeeperError,
    WrongType,
)
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import BIGINT, INT, STRING, decimal

REVIEWS = RowCodec(
    Table(
        name="Reviews",
        columns=(
            Column(name="ItemID", type=BIGINT, nullable=False),
            Column(name="Author", type=STRING),
            Column(name="Stars", type=INT, nullable=False),
            Column(name="Text", type=STRING),
            Column(name="Fee", type=decimal(4, 2)),
        ),
        primary_key=("Author", "ItemID"),
    )
)
KEY = {"ItemID": 1, "Author": "ann"}


def error_of(act: Callable[[], object]) -> ViewkeeperError:
    with pytest.raises(ViewkeeperError) as caught:
        act()
    return caught.value


def refusal(act: Callable[[], object]) -> tuple[type, str, str]:
    error = error_of(act)
    return type(error), error.code, str(error)


MERGES: list[tuple[dict[Any, Any], type, str, str]] = [
    (
        {**KEY, "Star": 5},
        UnknownColumn,
        "definition.unknown_column",
        'column "Star" is not in table "Reviews"\n  detail: Its columns are ItemID, Author, Stars, Text, Fee.',
    ),
    (
        {**KEY, 5: 5},
        UnknownColumn,
        "definition.unknown_column",
        'column "5" is not in table "Reviews"\n  detail: Its columns are ItemID, Author, Stars, Text, Fee.',
    ),
    (
        {**KEY, "stars": 5, "STARS": 5},
        UnknownColumn,
        "definition.unknown_column",
        'column "Stars" is given twice in one row',
    ),
    ({**KEY, "Stars": "5"}, WrongType, "data.wrong_type", "column \"Stars\" is INT, found str '5'"),
    (
        {**KEY, "Stars": None},
        WrongType,
        "data.wrong_type",
        'column "Stars" of table "Reviews" is NOT NULL, found NULL',
    ),
    (
        {**KEY, "Fee": 100},
        OutOfRange,
        "data.out_of_range",
        "Decimal('100') does not fit column \"Fee\" of type DECIMAL(4,2)",
    ),
    (
        {**KEY, "Text": "\udc00"},
        BadText,
        "data.bad_text",
        (
            'column "Text" holds text that is not valid Unicode\n'
            "  detail: Character 0 is half of a surrogate pair.\n"
            "  hint: Decode the bytes with the right encoding, or store them as BINARY."
        ),
    ),
    (
        {"ItemID": 1, "Stars": 5},
        NullKey,
        "data.null_key",
        'key column "Author" of table "Reviews" is not given\n  hint: Every write names the whole key: Author, ItemID.',
    ),
    (
        {},
        NullKey,
        "data.null_key",
        'key column "Author" of table "Reviews" is not given\n  hint: Every write names the whole key: Author, ItemID.',
    ),
    ({**KEY, "Author": None}, NullKey, "data.null_key", 'key column "Author" of table "Reviews" is NULL'),
    ({**KEY, "ItemID": None}, NullKey, "data.null_key", 'key column "ItemID" of table "Reviews" is NULL'),
]


@pytest.mark.parametrize(("given", "kind", "code", "text"), MERGES, ids=lambda part: str(part)[:40])
def test_merge_refuses(given: dict[Any, Any], kind: type, code: str, text: str) -> None:
    assert refusal(lambda: REVIEWS.merge(given)) == (kind, code, text)


def test_merge_takes_columns_without_case_and_in_any_order() -> None:
    assert REVIEWS.merge({"text": "ok", "AUTHOR": "ann", "ItemID": 1}) == {3: "ok", 1: "ann", 0: 1}


def test_merge_keeps_a_given_null_apart_from_a_column_not_given() -> None:
    assert REVIEWS.merge({**KEY, "Text": None}) == {0: 1, 1: "ann", 3: None}
    assert REVIEWS.merge(KEY) == {0: 1, 1: "ann"}


def test_whole_fills_with_null() -> None:
    assert REVIEWS.whole(REVIEWS.merge({**KEY, "Stars": 5})) == (1, "ann", 5, None, None)


def test_whole_refuses_a_row_without_a_not_null_column() -> None:
    assert refusal(lambda: REVIEWS.whole(REVIEWS.merge(KEY))) == (
        MissingColumn,
        "data.missing_column",
        'column "Stars" of table "Reviews" is NOT NULL and not given',
    )


def test_overlay_may_set_null() -> None:
    assert REVIEWS.overlay((1, "ann", 5, "ok", 250), {3: None, 2: 4}) == (1, "ann", 4, None, 250)


KEYS: list[tuple[tuple[Any, ...], bool, type, str]] = [
    (
        (),
        False,
        WrongType,
        (
            'table "Reviews" has a key of 2 columns, (Author, ItemID), found 0 values\n'
            "  hint: Pass one value for each key column; scan takes a prefix."
        ),
    ),
    (
        ("ann",),
        False,
        WrongType,
        (
            'table "Reviews" has a key of 2 columns, (Author, ItemID), found 1 value\n'
            "  hint: Pass one value for each key column; scan takes a prefix."
        ),
    ),
    (
        ("ann", 1, 2),
        True,
        WrongType,
        'table "Reviews" has a key of 2 columns, (Author, ItemID), found 3 values',
    ),
    ((1, "ann"), False, WrongType, 'column "Author" is STRING, found int 1'),
    (
        ("ann", 2**63),
        False,
        OutOfRange,
        (
            '9223372036854775808 does not fit column "ItemID" of type BIGINT\n'
            "  detail: BIGINT holds -9223372036854775808 to 9223372036854775807; DECIMAL(38,0) holds more."
        ),
    ),
    (("ann", None), False, NullKey, 'key column "ItemID" of table "Reviews" is NULL'),
    ((None,), True, NullKey, 'key column "Author" of table "Reviews" is NULL'),
]


@pytest.mark.parametrize(("key", "prefix", "kind", "text"), KEYS, ids=lambda part: str(part)[:40])
def test_key_cells_refuses(key: tuple[Any, ...], prefix: bool, kind: type, text: str) -> None:
    found = refusal(lambda: REVIEWS.key_cells(key, prefix=prefix))
    assert (found[0], found[2]) == (kind, text)


def test_key_of_one_column_is_spoken_of_in_the_singular() -> None:
    codec = RowCodec(Table(name="t", columns=(Column(name="k", type=INT),), primary_key=("k",)))
    message = error_of(lambda: codec.key_cells((1, 2))).message
    assert message == 'table "t" has a key of 1 column, (k), found 2 values'


def test_key_cells_takes_a_prefix_only_when_asked() -> None:
    assert REVIEWS.key_cells(("ann",), prefix=True) == ("ann",)
    assert REVIEWS.key_cells((), prefix=True) == ()
    assert REVIEWS.key_cells(("ann", 1)) == ("ann", 1)
