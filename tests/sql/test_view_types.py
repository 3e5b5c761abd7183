"""The type of every kind of expression, and the conversions that are written into the plan."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.sql.tables import catalog, view
from viewkeeper.model.types import Type
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Literal, children
from viewkeeper.plan.functions import FUNCTIONS
from viewkeeper.plan.relation import Project
from viewkeeper.plan.show import show_expr
from viewkeeper.sql.query.spellings import FORMS, NAMES, OPERATORS, PARTS


def bound(expression: str, source: str = "Items") -> tuple[Expr, str]:
    """An expression over a table, and how it is shown."""
    plan = view(f"SELECT {expression} AS x FROM {source}").plan
    assert isinstance(plan, Project)
    return plan.exprs[0], show_expr(plan.exprs[0], plan.input.fields)


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("1", "INT", 1),
        ("-1", "INT", -1),
        ("2147483647", "INT", 2147483647),
        ("-2147483648", "INT", -2147483648),
        ("2147483648", "BIGINT", 2147483648),
        ("3000000000", "BIGINT", 3000000000),
        ("-9223372036854775808", "BIGINT", -9223372036854775808),
        ("9223372036854775808", "DECIMAL(19,0)", 9223372036854775808),
        ("1.5", "DECIMAL(2,1)", 15),
        ("-1.50", "DECIMAL(3,2)", -150),
        ("0.05", "DECIMAL(2,2)", 5),
        (".5", "DECIMAL(1,1)", 5),
        ("5.", "DECIMAL(1,0)", 5),
        ("100.0", "DECIMAL(4,1)", 1000),
        ("0.0", "DECIMAL(1,1)", 0),
        ("00.5", "DECIMAL(1,1)", 5),
        ("99999999999999999999999999999999999999", "DECIMAL(38,0)", 10**38 - 1),
        ("1e0", "DOUBLE", 1.0),
        ("-2.5E-3", "DOUBLE", -0.0025),
        ("'x'", "STRING", "x"),
        ("'it''s'", "STRING", "it's"),
        ("'5'", "STRING", "5"),
        ("TRUE", "BOOLEAN", True),
        ("false", "BOOLEAN", False),
        ("X'0aFF'", "BINARY", b"\x0a\xff"),
        ("DATE '1970-01-02'", "DATE", 1),
        ("TIMESTAMP '1970-01-01 00:00:01'", "TIMESTAMP", 1_000_000),
        ("TIMESTAMP '1970-01-01T02:00:00+02:00'", "TIMESTAMP", 0),
        ("((1))", "INT", 1),
        ("CAST(NULL AS DATE)", "DATE", None),
    ],
)
def test_a_constant_has_the_type_that_spark_gives_it(text: str, type: str, value: object) -> None:
    expr, _ = bound(text)
    assert isinstance(expr, Literal)
    assert (str(expr.type), expr.value, expr.value.__class__) == (type, value, value.__class__)


@pytest.mark.parametrize(
    ("text", "type", "shown"),
    [
        ("Price", "DECIMAL(10,2)", "Price"),
        ("items.STOCK", "INT", "Stock"),
        ("Stock + 1", "INT", "(Stock + 1)"),
        ("Stock + ItemID", "BIGINT", "(CAST(Stock AS BIGINT) + ItemID)"),
        ("Stock - Weight", "DOUBLE", "(CAST(Stock AS DOUBLE) - Weight)"),
        ("Stock * Price", "DECIMAL(21,2)", "(CAST(Stock AS DECIMAL(10,0)) * Price)"),
        ("Price * 2", "DECIMAL(12,2)", "(Price * 2:DECIMAL(1,0))"),
        ("Price + 1.5", "DECIMAL(11,2)", "(Price + 1.5:DECIMAL(2,1))"),
        ("Stock / 2", "DOUBLE", "(CAST(Stock AS DOUBLE) / 2.0:DOUBLE)"),
        ("Price / 3", "DECIMAL(14,6)", "(Price / 3:DECIMAL(1,0))"),
        ("Stock DIV 2", "BIGINT", "(CAST(Stock AS BIGINT) div 2:BIGINT)"),
        ("Stock % 10", "INT", "(Stock % 10)"),
        ("MOD(ItemID, 10)", "BIGINT", "(ItemID % 10:BIGINT)"),
        ("-Stock", "INT", "negate(Stock)"),
        ("- -Stock", "INT", "negate(negate(Stock))"),
        ("+Stock", "INT", "Stock"),
        ("1 + 2 * 3", "INT", "(1 + (2 * 3))"),
        ("Seen - 1000", "TIMESTAMP", "(Seen epoch- 1000:BIGINT)"),
        ("1000 + Seen", "TIMESTAMP", "(Seen epoch+ 1000:BIGINT)"),
        ("Seen % 60000", "BIGINT", "(Seen epoch% 60000:BIGINT)"),
        ("Seen - Seen", "BIGINT", "(Seen epoch- Seen)"),
        ("Made + 1", "DATE", "date_add(Made, 1)"),
        ("1 + Made", "DATE", "date_add(Made, 1)"),
        ("Made - Stock", "DATE", "date_sub(Made, Stock)"),
        ("Name || 'x' || Name", "STRING", "concat(Name, 'x', Name)"),
        ("Name || Stock", "STRING", "concat(Name, CAST(Stock AS STRING))"),
        ("CONCAT(Made, ' ', Price)", "STRING", "concat(CAST(Made AS STRING), ' ', CAST(Price AS STRING))"),
        ("Stock = 1", "BOOLEAN", "(Stock = 1)"),
        ("Stock <> ItemID", "BOOLEAN", "(CAST(Stock AS BIGINT) <> ItemID)"),
        ("Stock != 1", "BOOLEAN", "(Stock <> 1)"),
        ("Price <= 9.999", "BOOLEAN", "(CAST(Price AS DECIMAL(11,3)) <= 9.999:DECIMAL(11,3))"),
        ("Price > 5", "BOOLEAN", "(Price > 5.00:DECIMAL(10,2))"),
        ("Weight >= Price", "BOOLEAN", "(Weight >= CAST(Price AS DOUBLE))"),
        ("Made < Seen", "BOOLEAN", "(CAST(Made AS TIMESTAMP) < Seen)"),
        ("Made <=> DATE '2024-01-01'", "BOOLEAN", "(Made <=> DATE '2024-01-01')"),
        ("Name = NULL", "BOOLEAN", "(Name = NULL:STRING)"),
        ("NULL = NULL", "BOOLEAN", "(NULL:STRING = NULL:STRING)"),
        ("Stock IS NULL", "BOOLEAN", "is_null(Stock)"),
        ("Stock IS NOT NULL", "BOOLEAN", "not(is_null(Stock))"),
        ("NULL IS NULL", "BOOLEAN", "TRUE"),
        ("Live IS TRUE", "BOOLEAN", "(Live <=> TRUE)"),
        ("Live IS NOT FALSE", "BOOLEAN", "not((Live <=> FALSE))"),
        ("Stock IS DISTINCT FROM 1", "BOOLEAN", "not((Stock <=> 1))"),
        ("Stock IS NOT DISTINCT FROM 1", "BOOLEAN", "(Stock <=> 1)"),
        ("NOT Live", "BOOLEAN", "not(Live)"),
        ("Live AND Stock > 1 AND TRUE", "BOOLEAN", "(Live and (Stock > 1) and TRUE)"),
        ("Live OR (Live OR NULL)", "BOOLEAN", "(Live or (Live or NULL:BOOLEAN))"),
        ("Live AND Live OR Live", "BOOLEAN", "((Live and Live) or Live)"),
        ("Stock BETWEEN 1 AND 2.5", "BOOLEAN", None),
        ("Stock NOT BETWEEN 1 AND 2", "BOOLEAN", "not(((Stock >= 1) and (Stock <= 2)))"),
        ("Stock IN (1, NULL, 3)", "BOOLEAN", "in(Stock, 1, NULL:INT, 3)"),
        ("Stock NOT IN (1, 3000000000)", "BOOLEAN", "not(in(CAST(Stock AS BIGINT), 1:BIGINT, 3000000000:BIGINT))"),
        ("Name LIKE 'a%'", "BOOLEAN", "like(Name, 'a%')"),
        ("Name NOT LIKE 'a%'", "BOOLEAN", "not(like(Name, 'a%'))"),
        ("CASE WHEN Live THEN 1 ELSE ItemID END", "BIGINT", "CASE WHEN Live THEN 1:BIGINT ELSE ItemID END"),
        ("CASE WHEN Live THEN Made END", "DATE", "CASE WHEN Live THEN Made ELSE NULL:DATE END"),
        ("CASE Stock WHEN 1 THEN 'a' WHEN 2 THEN NULL ELSE 'b' END", "STRING", None),
        ("IF(Live, Stock, 1.5)", "DECIMAL(11,1)", None),
        ("IIF(Live, NULL, Stock)", "INT", "CASE WHEN Live THEN NULL:INT ELSE Stock END"),
        ("NULLIF(Stock, 0)", "INT", "CASE WHEN (Stock = 0) THEN NULL:INT ELSE Stock END"),
        ("NVL2(Name, Stock, 0)", "INT", "CASE WHEN is_null(Name) THEN 0 ELSE Stock END"),
        ("NVL(Name, 'x')", "STRING", "coalesce(Name, 'x')"),
        ("IFNULL(Stock, ItemID)", "BIGINT", "coalesce(CAST(Stock AS BIGINT), ItemID)"),
        ("COALESCE(NULL, Stock)", "INT", "coalesce(NULL:INT, Stock)"),
        ("ISNULL(Stock)", "BOOLEAN", "is_null(Stock)"),
        ("ISNOTNULL(Stock)", "BOOLEAN", "not(is_null(Stock))"),
        ("CAST(Stock AS DOUBLE)", "DOUBLE", "CAST(Stock AS DOUBLE)"),
        ("CAST(Stock AS INT)", "INT", "Stock"),
        ("Name::DECIMAL(5,2)", "DECIMAL(5,2)", "CAST(Name AS DECIMAL(5,2))"),
        ("CAST(Name AS DECIMAL)", "DECIMAL(10,0)", "CAST(Name AS DECIMAL(10,0))"),
        ("Seen::DATE::STRING", "STRING", "CAST(CAST(Seen AS DATE) AS STRING)"),
        ("CAST('5' AS LONG)", "BIGINT", "CAST('5' AS BIGINT)"),
        ("EXTRACT(YEAR FROM Seen)", "INT", "year(Seen)"),
        ("EXTRACT(dow FROM Made)", "INT", "dayofweek(Made)"),
        ("DATE_PART('hour', Seen)", "INT", "hour(Seen)"),
        ("DAYOFMONTH(Made)", "INT", "day(Made)"),
        ("SUBSTR(Name, 2)", "STRING", "substring(Name, 2)"),
        ("SUBSTRING(Name, 2, 3)", "STRING", "substring(Name, 2, 3)"),
        ("LEFT(Name, 2)", "STRING", "left(Name, 2)"),
        ("RIGHT(Name, 2)", "STRING", "right(Name, 2)"),
        ("CHAR_LENGTH(Name)", "INT", "length(Name)"),
        ("CEILING(Price)", "DECIMAL(9,0)", "ceil(Price)"),
        ("ROUND(Price, 1)", "DECIMAL(10,1)", "round(Price, 1)"),
        ("GREATEST(Stock, ItemID, 1.5)", "DECIMAL(21,1)", None),
        ("DATE_TRUNC('hour', Seen)", "TIMESTAMP", "date_trunc('hour', Seen)"),
        ("UPPER(NULL)", "STRING", "upper(NULL:STRING)"),
        ("SUBSTRING(Name, NULL, 2)", "STRING", "substring(Name, NULL:INT, 2)"),
    ],
)
def test_an_expression_has_the_type_and_the_conversions_of_its_operands(
    text: str, type: str, shown: str | None
) -> None:
    expr, found = bound(text)
    assert str(expr.type) == type
    assert shown is None or found == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Made = '2024-05-01'", "(Made = DATE '2024-05-01')"),
        ("'2024-05-01' < Made", "(DATE '2024-05-01' < Made)"),
        ("Seen > '2024-05-01'", "(Seen > TIMESTAMP '2024-05-01 00:00:00+00:00')"),
        ("Stock = ' 5 '", "(Stock = 5)"),
        ("Stock = '5.5'", "(CAST(Stock AS DECIMAL(11,1)) = 5.5:DECIMAL(11,1))"),
        ("Price >= '-9.99'", "(Price >= -9.99:DECIMAL(10,2))"),
        ("Weight = 'NaN'", "(Weight = nan:DOUBLE)"),
        ("Weight = '1e3'", "(Weight = 1000.0:DOUBLE)"),
        ("Made IN ('2024-05-01', NULL)", "in(Made, DATE '2024-05-01', NULL:DATE)"),
        ("Made BETWEEN '2024-05-01' AND '2024-05-31'", None),
        ("COALESCE(Made, '1970-01-01')", "coalesce(Made, DATE '1970-01-01')"),
        ("CASE WHEN Live THEN Made ELSE '1970-01-01' END", "CASE WHEN Live THEN Made ELSE DATE '1970-01-01' END"),
        ("Name = '5'", "(Name = '5')"),
        ("'5' = '5'", "('5' = '5')"),
    ],
)
def test_a_text_is_read_as_what_it_is_compared_with(text: str, shown: str | None) -> None:
    _, found = bound(text)
    assert shown is None or found == shown


def test_a_comparison_beyond_a_decimal_keeps_the_value_of_the_text() -> None:
    expr, _ = bound("Huge = '1.5'")
    assert isinstance(expr, Call)
    literal = expr.args[1]
    assert isinstance(literal, Literal)
    assert Decimal(str(literal.value)).scaleb(-literal.type.scale) == Decimal("1.5")


def _calls(expr: Expr) -> list[Call]:
    found = [expr] if isinstance(expr, Call) else []
    return found + [call for child in children(expr) for call in _calls(child)]


EVERY_EXPRESSION = [
    "Price * Stock + ItemID / 3 - Weight",
    "CASE WHEN Made > Seen THEN Price WHEN Stock IN (1, 2.5, ItemID) THEN Stock ELSE NULL END",
    "COALESCE(Stock, ItemID, Price, Huge, 1e0) > Weight AND Name || Price LIKE CONCAT(Made, '%')",
    "GREATEST(Made, Seen) - LEAST(Made, Seen) % 1000",
    "Huge * Huge / Price BETWEEN Stock AND ItemID",
]


@pytest.mark.parametrize("text", EVERY_EXPRESSION)
def test_no_implicit_conversion_is_left(text: str) -> None:
    expr, _ = bound(text)
    calls = _calls(expr)
    assert calls
    for call in calls:
        signature = FUNCTIONS[call.name].signature(call.args)
        assert signature is not None
        assert (signature.args, signature.result) == (tuple(arg.type for arg in call.args), call.type)


@pytest.mark.parametrize("text", EVERY_EXPRESSION)
def test_no_conversion_is_to_the_type_that_is_there(text: str) -> None:
    pending = [bound(text)[0]]
    while pending:
        expr = pending.pop()
        assert not isinstance(expr, Cast) or expr.arg.type != expr.type
        pending += children(expr)


def test_every_function_of_the_list_can_be_called() -> None:
    reached = {name for name, _ in OPERATORS.values()} | set(NAMES.values()) | set(PARTS.values())
    reached |= {"and", "or", "not", "in", "is_null", "negate", "epoch+", "epoch-", "epoch%"}
    reached |= {"has_word", "has_word_like"}
    assert reached == set(FUNCTIONS)
    assert not FORMS & NAMES.keys()


def test_a_function_is_called_in_any_case() -> None:
    assert bound("uPpEr(Name)") == bound("UPPER(Name)")


def test_nullif_compares_at_the_common_type_and_keeps_that_of_the_first() -> None:
    expr, shown = bound("NULLIF(Stock, ItemID)")
    assert isinstance(expr, Case)
    assert (str(expr.type), shown) == (
        "INT",
        "CASE WHEN (CAST(Stock AS BIGINT) = ItemID) THEN NULL:INT ELSE Stock END",
    )


@pytest.mark.parametrize(
    ("call", "type"),
    [
        ("COUNT(*)", "BIGINT"),
        ("COUNT(Name)", "BIGINT"),
        ("COUNT(DISTINCT Name)", "BIGINT"),
        ("SUM(Stock)", "BIGINT"),
        ("SUM(ItemID)", "BIGINT"),
        ("SUM(Price)", "DECIMAL(20,2)"),
        ("SUM(Huge)", "DECIMAL(38,10)"),
        ("SUM(Weight)", "DOUBLE"),
        ("AVG(Stock)", "DOUBLE"),
        ("MEAN(Price)", "DECIMAL(14,6)"),
        ("MIN(Name)", "STRING"),
        ("MAX(Made)", "DATE"),
        ("MIN(Live)", "BOOLEAN"),
        ("MAX(DISTINCT Seen)", "TIMESTAMP"),
        ("VARIANCE(Stock)", "DOUBLE"),
        ("VAR_SAMP(Price)", "DOUBLE"),
        ("VAR_POP(Weight)", "DOUBLE"),
        ("STDDEV(Price)", "DOUBLE"),
        ("STDDEV_SAMP(Stock)", "DOUBLE"),
        ("STD(Stock)", "DOUBLE"),
        ("STDDEV_POP(Stock)", "DOUBLE"),
        ("COUNT_IF(Live)", "BIGINT"),
        ("SUM(Stock) FILTER (WHERE Live)", "BIGINT"),
        ("SUM(Price) * 2", "DECIMAL(22,2)"),
        ("SUM(Stock) > COUNT(*)", "BOOLEAN"),
    ],
)
def test_an_aggregate_has_its_type(call: str, type: str) -> None:
    (column,) = view(f"SELECT {call} AS x FROM Items").visible
    assert str(column.type) == type


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("COUNT(*)", "count"),
        ("count(1)", "count"),
        ("COUNT(Price)", "count_price"),
        ("COUNT(DISTINCT Price)", "count_distinct_price"),
        ("Sum(Price)", "sum_price"),
        ("AVG(items.Price)", "avg_price"),
        ("STDDEV_POP(Price)", "stddev_pop_price"),
    ],
)
def test_an_aggregate_of_a_column_has_a_name_without_as(call: str, name: str) -> None:
    (column,) = view(f"SELECT {call} FROM Items").visible
    assert column.name == name


def test_a_column_keeps_the_name_that_the_query_gives_it() -> None:
    assert [column.name for column in view("SELECT itemid, NAME AS n, Items.price FROM Items").visible] == [
        "itemid",
        "n",
        "price",
    ]


def test_columns_of_a_view_may_be_of_every_type() -> None:
    tables = catalog()
    expected = [column.type for column in tables.find("Items").columns]
    found: list[Type] = [column.type for column in view("SELECT * FROM Items", tables).visible]
    assert found == expected
