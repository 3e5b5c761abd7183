"""Upper and lower case, words, buckets and group keys: the same in both executors."""

from __future__ import annotations

import math
import sys
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tests.execute.expressions.both import collect, data_frame, differences, in_rows
from tests.execute.expressions.notation import call
from tests.execute.expressions.random_cells import TYPES, random_cell
from viewkeeper.execute.rows.bucket import bucket_of
from viewkeeper.execute.rows.normal import normalised
from viewkeeper.execute.spark.normal import normalised as normalised_column
from viewkeeper.execute.spark.python import tokens_column
from viewkeeper.model.letters import lower, lower_table, upper, upper_table
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Partitioning, PartitionKind, Table
from viewkeeper.model.types import BIGINT, DOUBLE, INT, STRING, Row
from viewkeeper.model.words import tokens
from viewkeeper.plan.expr import Input, Literal
from viewkeeper.store.partition import partition_function

CODES = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def test_tables_hold_every_letter_with_one_other_case() -> None:
    assert upper_table() == {c: chr(c).upper() for c in CODES if chr(c).upper() != chr(c) and len(chr(c).upper()) == 1}
    assert lower_table() == {c: chr(c).lower() for c in CODES if chr(c).lower() != chr(c) and len(chr(c).lower()) == 1}


@given(st.text(st.characters(codec="utf-8")))
def test_case_keeps_the_length_and_is_stable(text: str) -> None:
    assert len(upper(text)) == len(lower(text)) == len(text)
    assert lower(lower(text)) == lower(text)
    assert upper(upper(text)) == upper(text)
    if text.isascii():
        assert (upper(text), lower(text)) == (text.upper(), text.lower())


def test_case_of_every_letter_on_spark(spark: SparkSession) -> None:
    rows: list[Row] = [(chr(code),) for code in CODES if code < 0x20000]
    rows += [(f"a{text[0]}B",) for text in rows[:3000]]
    text = Input(0, STRING)
    exprs = [call("upper", text), call("lower", text), call("length", text), call("like", text, Literal("_", STRING))]
    assert differences(spark, exprs, [STRING], rows) == []


WORDS = [
    ("", []),
    ("  ,;", []),
    ("One two ONE", ["one", "two"]),
    ("snake_case2 x-ray", ["snake", "case2", "x", "ray"]),
    ("Größe ÉTÉ été", ["größe", "été"]),
    ("日本 日本語", ["日本", "日本語"]),
    ("a😀b ½ ² ٣", ["a", "b", "½", "²", "٣"]),
    ("ΟΔΟΣ οδοσ", ["οδοσ"]),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words_are_runs_of_letters_and_digits_once_each_in_lower_case(text: str, words: list[str]) -> None:
    assert tokens(text) == words


@given(st.text(st.characters(codec="utf-8")))
def test_a_word_is_a_word_of_itself(text: str) -> None:
    for word in tokens(text):
        assert tokens(word) == [word]
        assert lower(word) == word


def test_words_on_spark(spark: SparkSession) -> None:
    texts = [text for text, _ in WORDS] + [None]
    frame = spark.createDataFrame(pa.table({"text": pa.array(texts, pa.string())}))
    found = frame.select(tokens_column(sf.col("text")).alias("words")).toArrow().column(0).to_pylist()
    assert found == [words for _, words in WORDS] + [None]


def test_buckets_are_the_hash_partitions_of_a_table() -> None:
    columns = (Column(name="id", type=BIGINT), Column(name="name", type=STRING))
    split = Partitioning(kind=PartitionKind.HASH, columns=("id", "name"), count=7)
    codec = RowCodec(Table(name="t", columns=columns, primary_key=("id", "name"), partitioning=split))
    partition, bucket = partition_function(codec), bucket_of([BIGINT, STRING], 7)
    rng = Random(1)
    rows = [(rng.getrandbits(40), f"n{number}") for number in range(500)]
    assert [bucket(row) for row in rows] == [partition(row) for row in rows]
    assert {bucket(row) for row in rows} == set(range(7))


def test_equal_values_fall_in_one_bucket_on_both_executors(spark: SparkSession) -> None:
    rng = Random(2)
    rows: list[Row] = [tuple(random_cell(rng, type) for type in TYPES) for _ in range(50)]
    columns = [Input(place, type) for place, type in enumerate(TYPES)]
    exprs = [call("bucket", column, Literal(1000, INT)) for column in columns]
    exprs.append(call("bucket", *columns, Literal(2**31 - 1, INT)))
    assert differences(spark, exprs, TYPES, rows) == []
    double = call("bucket", Input(0, DOUBLE), Literal(1000, INT))
    assert in_rows(double, (0.0,)) == in_rows(double, (-0.0,))


def test_group_keys_are_normalised_alike(spark: SparkSession) -> None:
    rows: list[Row] = [(value,) for value in (-0.0, 0.0, math.nan, -math.nan, math.inf, -1.5, 5e-324, None)]
    frame, (column,) = data_frame(spark, [DOUBLE], rows)
    [found] = collect(frame, [normalised_column(column, DOUBLE)], [DOUBLE])
    assert repr(found) == repr([normalised(row[0], DOUBLE) for row in rows])
    assert repr(found[:4]) == "[0.0, 0.0, nan, nan]"


def test_group_keys_of_other_types_stay_as_they_are(spark: SparkSession) -> None:
    rng = Random(3)
    for type in TYPES:
        if type != DOUBLE:
            cell: Any = random_cell(rng, type, nulls=0)
            assert normalised(cell, type) is cell
            assert normalised_column(sf.col("c"), type) is not None


def test_normalised_doubles_are_one_key_of_a_dict() -> None:
    cells = [normalised(value, DOUBLE) for value in (float("nan"), -float("nan"), 0.0, -0.0)]
    assert len({(cell, 1) for cell in cells}) == 2
