"""The types of arithmetic, as Spark SQL has them.

INT < BIGINT < DECIMAL < DOUBLE: two operands meet at the wider kind, an INT as DECIMAL(10,0), a BIGINT as
DECIMAL(20,0). A decimal result that would need more than 38 digits gives up digits behind the point, but keeps at
least six of them; the type at which two decimals are compared keeps every digit before the point instead.
"""

from __future__ import annotations

from viewkeeper.model.types import BIGINT, DOUBLE, MAX_PRECISION, Kind, Type, decimal

_RANK = {Kind.INT: 0, Kind.BIGINT: 1, Kind.DECIMAL: 2, Kind.DOUBLE: 3}
MIN_SCALE = 6


def is_number(type: Type) -> bool:
    return type.kind in _RANK


def as_decimal(type: Type) -> Type:
    """The decimal type that holds every value of an integer type."""
    match type.kind:
        case Kind.INT:
            return decimal(10, 0)
        case Kind.BIGINT:
            return decimal(20, 0)
        case _:
            return type


def literal_decimal(value: int) -> Type:
    """The decimal type of a whole-number constant beside a decimal: as many digits as it has.

    >>> str(literal_decimal(-100)), str(literal_decimal(0))
    ('DECIMAL(3,0)', 'DECIMAL(1,0)')
    """
    return decimal(len(str(abs(value))), 0)


def adjusted(precision: int, scale: int) -> Type:
    """DECIMAL(precision, scale), cut to 38 digits at the cost of those behind the point.

    >>> str(adjusted(40, 10)), str(adjusted(60, 30))
    ('DECIMAL(38,8)', 'DECIMAL(38,8)')
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    kept = max(MAX_PRECISION - whole, min(scale, MIN_SCALE))
    return decimal(MAX_PRECISION, kept)


def common(left: Type, right: Type) -> Type:
    """The type at which two numbers can be compared or returned from one CASE.

    No conversion to it fails. Where two decimals together need more than 38 digits, those behind the point give way.

    >>> str(common(decimal(38, 0), decimal(10, 2))), str(common(decimal(10, 2), decimal(6, 4)))
    ('DECIMAL(38,0)', 'DECIMAL(12,4)')
    """
    wider = max(left, right, key=lambda type: _RANK[type.kind])
    if wider.kind is not Kind.DECIMAL:
        return wider
    left, right = as_decimal(left), as_decimal(right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    scale = min(scale, MAX_PRECISION - whole)
    return decimal(whole + scale, scale)


def arithmetic(operator: str, left: Type, right: Type) -> tuple[Type, Type, Type]:
    """The types to convert both operands to, and the type of the result; `div` is not for DOUBLE."""
    wider = max(left, right, key=lambda type: _RANK[type.kind])
    if operator == "div" and wider.kind is Kind.DOUBLE:
        raise ValueError("no div of DOUBLE")
    if wider.kind is Kind.DOUBLE or (operator == "/" and wider.kind is not Kind.DECIMAL):
        return DOUBLE, DOUBLE, DOUBLE
    if operator == "div":
        if wider.kind is Kind.DECIMAL:
            return as_decimal(left), as_decimal(right), BIGINT
        return BIGINT, BIGINT, BIGINT
    if wider.kind is not Kind.DECIMAL:
        return wider, wider, wider
    left, right = as_decimal(left), as_decimal(right)
    return left, right, _decimal_result(operator, left, right)


def _decimal_result(operator: str, left: Type, right: Type) -> Type:
    return adjusted(*exact_digits(operator, left, right))


def exact_digits(operator: str, left: Type, right: Type) -> tuple[int, int]:
    """Precision and scale that hold every result of decimal arithmetic (of a quotient, rounded), over 38 or not."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return max(p1 - s1, p2 - s2) + scale + 1, scale
        case "*":
            return p1 + p2 + 1, s1 + s2
        case "/":
            scale = max(MIN_SCALE, s1 + p2 + 1)
            return p1 - s1 + s2 + scale, scale
        case "%":
            scale = max(s1, s2)
            return min(p1 - s1, p2 - s2) + scale, scale
    raise ValueError(f"no arithmetic {operator}")


def sum_type(type: Type) -> Type:
    """The type of SUM: BIGINT for integers, ten more digits for decimals."""
    match type.kind:
        case Kind.INT | Kind.BIGINT:
            return BIGINT
        case Kind.DECIMAL:
            return _bounded(type.precision + 10, type.scale)
        case _:
            return DOUBLE


def avg_type(type: Type) -> Type:
    """The type of AVG: DOUBLE, or four more digits behind the point for decimals."""
    if type.kind is Kind.DECIMAL:
        return _bounded(type.precision + 4, type.scale + 4)
    return DOUBLE


def _bounded(precision: int, scale: int) -> Type:
    return decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))
