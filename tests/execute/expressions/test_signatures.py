"""Which arguments functions take, and of what type the result is."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.execute.expressions.both import in_rows
from tests.execute.expressions.random_cells import DECIMALS
from tests.strategies import edge_cells
from viewkeeper.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from viewkeeper.plan.casts import can_cast, cast_can_fail
from viewkeeper.plan.expr import Cast, Expr, Input, Literal
from viewkeeper.plan.functions import FUNCTIONS
from viewkeeper.plan.numbers import common, literal_decimal


def _result(name: str, *args: Expr) -> str | None:
    signature = FUNCTIONS[name].signature(args)
    return None if signature is None else str(signature.result)


def _column(type: Type) -> Expr:
    return Input(0, type)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("+", [INT]),
        ("+", [INT, STRING]),
        ("+", [TIMESTAMP, INT]),
        ("div", [DOUBLE, INT]),
        ("div", [INT, DOUBLE]),
        ("not", [BOOLEAN, BOOLEAN]),
        ("and", []),
        ("and", [INT]),
        ("=", [STRING, INT]),
        ("=", [DATE, INT]),
        ("in", [INT]),
        ("greatest", [INT]),
        ("coalesce", [INT, STRING]),
        ("upper", [INT]),
        ("concat", []),
        ("concat_ws", [STRING]),
        ("substring", [STRING]),
        ("substring", [STRING, BIGINT]),
        ("epoch+", [TIMESTAMP, TIMESTAMP]),
        ("epoch-", [DATE, INT]),
        ("epoch%", [TIMESTAMP, DOUBLE]),
        ("year", [STRING]),
        ("date_add", [TIMESTAMP, INT]),
        ("isnan", [INT]),
        ("round", [STRING]),
    ],
)
def test_wrong_arguments_have_no_signature(name: str, types: list[Type]) -> None:
    assert FUNCTIONS[name].rule(types) is None
    assert _result(name, *map(_column, types)) is None


def test_an_int_stands_for_a_bigint_and_a_date_for_a_timestamp() -> None:
    assert FUNCTIONS["timestamp_millis"].rule([INT]) is not None
    assert FUNCTIONS["hour"].rule([DATE]) is not None
    assert FUNCTIONS["date_add"].rule([DATE, BIGINT]) is None


def test_digits_of_round_are_a_constant_within_limits() -> None:
    price = _column(decimal(10, 3))
    assert _result("round", price) == "DECIMAL(8,0)"
    assert _result("round", price, Literal(2, INT)) == "DECIMAL(10,2)"
    assert _result("round", price, Literal(5, INT)) == "DECIMAL(11,3)"
    assert _result("round", price, Literal(-9, INT)) == "DECIMAL(10,0)"
    assert _result("round", _column(INT), Literal(-1, INT)) == "INT"
    for digits in (_column(INT), Literal(None, INT), Literal(39, INT), Literal(-39, INT), Literal(2, BIGINT)):
        assert _result("round", price, digits) is None


def test_unit_of_date_trunc_is_a_constant_that_is_known() -> None:
    moment = _column(TIMESTAMP)
    assert _result("date_trunc", Literal("Month", STRING), moment) == "TIMESTAMP"
    for unit in (_column(STRING), Literal(None, STRING), Literal("decade", STRING), Literal("", STRING)):
        assert _result("date_trunc", unit, moment) is None


def test_number_of_buckets_is_a_constant_above_zero() -> None:
    assert _result("bucket", _column(STRING), _column(DATE), Literal(8, INT)) == "INT"
    for count in (_column(INT), Literal(0, INT), Literal(-1, INT), Literal(None, INT), Literal(8, BIGINT)):
        assert _result("bucket", _column(STRING), count) is None


@pytest.mark.parametrize("name", ["lpad", "rpad"])
def test_length_to_fill_up_to_is_a_constant_within_limits(name: str) -> None:
    text = _column(STRING)
    assert _result(name, text, Literal(65_536, INT), text) == "STRING"
    for length in (_column(INT), Literal(65_537, INT), Literal(-1, INT), Literal(None, INT)):
        assert _result(name, text, length, text) is None


def test_a_decimal_times_a_constant_has_the_type_that_spark_gives(spark: SparkSession) -> None:
    price, numbers = decimal(10, 2), (0, 7, 10, 1000, 2_147_483_647)
    texts = [f"try_multiply(CAST(NULL AS {price}), {number})" for number in numbers]
    found = [field.dataType.simpleString().upper() for field in spark.sql(f"SELECT {', '.join(texts)}").schema]
    products = [FUNCTIONS["*"].rule([price, literal_decimal(number)]) for number in numbers]
    assert found == [str(product.result) for product in products if product is not None]


NUMBERS = (INT, BIGINT, *DECIMALS, decimal(9, 0), decimal(10, 0), decimal(18, 0), decimal(19, 0), decimal(20, 1))


def test_a_conversion_between_exact_numbers_is_said_to_fail_exactly_if_some_value_does() -> None:
    for source in NUMBERS:
        for target in NUMBERS:
            assert can_cast(source, target)
            expr = Cast(Input(0, source), target)
            fails = any(in_rows(expr, (cell,)).failed for cell in edge_cells(source))
            assert fails == cast_can_fail(source, target), (str(source), str(target))


def test_no_conversion_to_a_common_type_fails() -> None:
    for left in NUMBERS:
        for right in NUMBERS:
            both = common(left, right)
            assert both == common(right, left)
            assert not cast_can_fail(left, both)
