"""Tables: what they know of their columns, and each definition that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given

from tests.strategies import tables
from viewkeeper.errors import BadDefinition, UnknownColumn
from viewkeeper.model.schema import MAX_COLUMNS, Cardinality, Column, Partitioning, PartitionKind, Table
from viewkeeper.model.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal

DOC = Column(name="docId", type=BIGINT, nullable=False)
TAG = Column(name="tag", type=STRING)
WHEN = Column(name="timestamp", type=TIMESTAMP, temporal=True)
TAGS = Table(name="Tags", columns=(DOC, TAG, WHEN), primary_key=("docId", "tag"))


def by(kind: PartitionKind, *columns: str, into: int = 4, bounds: tuple[bytes, ...] = ()) -> Table:
    return replace(TAGS, partitioning=Partitioning(kind=kind, columns=columns, count=into, bounds=bounds))


def limited(limit: int, *columns: str) -> Table:
    return replace(TAGS, cardinalities=(Cardinality(columns=columns, limit=limit),))


def numbered(count: int) -> tuple[Column, ...]:
    return tuple(Column(name=f"c{number}", type=INT) for number in range(count))


HASH, RANGE = PartitionKind.HASH, PartitionKind.RANGE
KEY_DETAIL = "\n  detail: The primary key is (docId, tag)."

REFUSED: list[tuple[Callable[[], Table], str]] = [
    (lambda: Table(name="t", columns=(), primary_key=("a",)), 'table "t" has no columns'),
    (
        lambda: Table(name="t", columns=numbered(MAX_COLUMNS + 1), primary_key=("c0",)),
        'table "t" has 1025 columns, more than 1024',
    ),
    (
        lambda: replace(TAGS, columns=(DOC, TAG, replace(TAG, name="TAG"))),
        'column "TAG" appears twice in table "Tags"\n  detail: Column names are compared without case.',
    ),
    (
        lambda: replace(TAGS, primary_key=()),
        (
            'table "Tags" has no primary key\n'
            "  hint: Write PRIMARY KEY behind a column, or PRIMARY KEY (col, …) at the end."
        ),
    ),
    (
        lambda: replace(TAGS, primary_key=("tag", "TAG")),
        'a column appears twice in the primary key of table "Tags"',
    ),
    (
        lambda: limited(10, "timestamp"),
        'CARDINALITY names column "timestamp", which is not in the primary key of table "Tags"' + KEY_DETAIL,
    ),
    (lambda: limited(10, "tag", "Tag"), 'CARDINALITY of table "Tags" needs different columns'),
    (lambda: limited(10), 'CARDINALITY of table "Tags" needs different columns'),
    (lambda: limited(0, "tag"), 'CARDINALITY of table "Tags" is 0, which is below 1'),
    (
        lambda: replace(TAGS, cardinalities=(Cardinality(columns=("docId",), limit=5, words=True),)),
        (
            'CARDINALITY counts the words of column "docId" of table "Tags", which is BIGINT\n'
            "  hint: Only a STRING has words."
        ),
    ),
    (
        lambda: by(HASH, "timestamp"),
        'PARTITIONED BY names column "timestamp", which is not in the primary key of table "Tags"' + KEY_DETAIL,
    ),
    (lambda: by(HASH), 'PARTITIONED BY of table "Tags" needs different columns'),
    (lambda: by(HASH, "tag", "tag"), 'PARTITIONED BY of table "Tags" needs different columns'),
    (lambda: by(HASH, "tag", into=0), 'table "Tags" is cut INTO 0, which is outside 1 to 4096'),
    (lambda: by(HASH, "tag", into=4097), 'table "Tags" is cut INTO 4097, which is outside 1 to 4096'),
    (
        lambda: by(RANGE, "tag"),
        'PARTITIONED BY RANGE of table "Tags" needs the first columns of the primary key' + KEY_DETAIL,
    ),
    (
        lambda: by(RANGE, "tag", "docId"),
        'PARTITIONED BY RANGE of table "Tags" needs the first columns of the primary key' + KEY_DETAIL,
    ),
    (
        lambda: by(RANGE, "docId", into=4, bounds=(b"a", b"b")),
        'table "Tags" is cut INTO 4 by 2 bounds\n  detail: n partitions need n - 1 bounds.',
    ),
    (lambda: by(RANGE, "docId", into=3, bounds=(b"b", b"a")), 'the range bounds of table "Tags" do not grow'),
    (lambda: by(RANGE, "docId", into=3, bounds=(b"a", b"a")), 'the range bounds of table "Tags" do not grow'),
    (
        lambda: TAGS.with_column(Column(name="n", type=INT, nullable=False)),
        (
            'column "n" cannot be added NOT NULL\n'
            "  detail: Rows that are there already have NULL in it.\n"
            "  hint: Add it without NOT NULL."
        ),
    ),
    (
        lambda: TAGS.with_column(Column(name="DOCID", type=INT)),
        'column "DOCID" appears twice in table "Tags"\n  detail: Column names are compared without case.',
    ),
]


@pytest.mark.parametrize(("define", "text"), REFUSED, ids=[text[:60] for _, text in REFUSED])
def test_definitions_that_are_refused(define: Callable[[], Table], text: str) -> None:
    with pytest.raises(BadDefinition) as caught:
        define()
    assert caught.value.code == "definition.bad"
    assert str(caught.value) == text


@pytest.mark.parametrize("type", [BOOLEAN, DOUBLE, STRING, BINARY, decimal(10, 2)], ids=str)
def test_temporal_column_of_a_type_without_time_is_refused(type: Type) -> None:
    with pytest.raises(BadDefinition) as caught:
        replace(TAGS, columns=(DOC, TAG, replace(WHEN, type=type)))
    assert str(caught.value) == (
        f'column "timestamp" of type {type} cannot be TEMPORAL\n'
        "  hint: TEMPORAL columns are TIMESTAMP, DATE, BIGINT or INT."
    )


@pytest.mark.parametrize("type", [TIMESTAMP, DATE, BIGINT, INT], ids=str)
def test_temporal_column_may_be_a_time_or_a_counter(type: Type) -> None:
    assert replace(TAGS, columns=(DOC, TAG, replace(WHEN, type=type))).column("timestamp").temporal


@pytest.mark.parametrize(
    "define",
    [
        lambda: replace(TAGS, primary_key=("docId", "nope")),
        lambda: limited(10, "nope"),
        lambda: by(HASH, "nope"),
        lambda: TAGS.column("nope"),
        lambda: TAGS.column_id("nope"),
    ],
)
def test_unknown_column_is_refused_with_the_choices(define: Callable[[], object]) -> None:
    with pytest.raises(UnknownColumn) as caught:
        define()
    assert caught.value.code == "definition.unknown_column"
    assert str(caught.value) == (
        'column "nope" is not in table "Tags"\n  detail: Its columns are docId, tag, timestamp.'
    )


def test_definitions_at_the_limits_are_made() -> None:
    assert len(Table(name="t", columns=numbered(MAX_COLUMNS), primary_key=("c0",)).columns) == 1024
    assert [by(HASH, "TAG", into=into).partitioning is not None for into in (1, 4096)] == [True, True]
    by(RANGE, "docId", into=4)
    by(RANGE, "docId", "tag", into=3, bounds=(b"a", b"b"))
    limited(1, "docId", "tag")


def test_columns_are_found_without_case() -> None:
    assert TAGS.column_id("DOCID") == 0
    assert TAGS.column("TimeStamp") is WHEN
    assert replace(TAGS, primary_key=("TAG", "docid")).key_ids == (1, 0)


@given(tables())
def test_ids_are_places_and_keys_are_in_key_order(table: Table) -> None:
    assert [table.column_id(name) for name in table.column_names] == list(range(len(table.columns)))
    assert tuple(table.columns[number].name for number in table.key_ids) == table.primary_key


@given(tables())
def test_added_column_has_the_next_id_and_moves_no_other(table: Table) -> None:
    grown = table.with_column(Column(name="added", type=DATE))
    assert grown.columns == (*table.columns, Column(name="added", type=DATE))
    assert grown.key_ids == table.key_ids
    assert replace(grown, columns=table.columns) == table


def test_text_of_a_table_is_its_create_statement() -> None:
    partitioning = Partitioning(kind=HASH, columns=("docId",), count=8)
    cardinalities = (
        Cardinality(columns=("tag",), limit=10),
        Cardinality(columns=("docId", "tag"), limit=99),
        Cardinality(columns=("tag",), limit=3, words=True),
    )
    assert str(TAGS) == (
        "CREATE TABLE Tags (\n"
        "  docId BIGINT NOT NULL,\n"
        "  tag STRING,\n"
        "  timestamp TIMESTAMP TEMPORAL,\n"
        "  PRIMARY KEY (docId, tag)\n"
        ")"
    )
    assert str(replace(TAGS, partitioning=partitioning, cardinalities=cardinalities)) == (
        f"{TAGS} PARTITIONED BY HASH (docId) INTO 8 "
        "WITH CARDINALITY (tag, 10), CARDINALITY (docId, tag, 99), CARDINALITY (TOKENS(tag), 3)"
    )
