"""Python form to cell and back, one column at a time.

`accept` is strict: a value of another type is refused rather than guessed at, because what is stored wrongly is
found late. The only widenings are those that lose nothing: a whole number to DOUBLE where it is exact, a whole number
or a short float to DECIMAL.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, assert_never

from viewkeeper.errors import BadText, OutOfRange, WrongType
from viewkeeper.model.types import (
    BIGINT_MAX,
    BIGINT_MIN,
    INT_MAX,
    INT_MIN,
    MAX_PRECISION,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Cell,
    Kind,
    Type,
)

EPOCH_DATE = date(1970, 1, 1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Never the caller's context, which may round.
_EXACT = Context(prec=MAX_PRECISION, traps=[Inexact, InvalidOperation])


def accept(value: Any, type: Type, column: str) -> Cell:
    """The cell of a value; None stays None. WrongType, OutOfRange or BadText, naming the column."""
    if value is None:
        return None
    return _ACCEPT[type.kind](value, type, column)


def present(cell: Cell, type: Type) -> Any:
    """The Python form of a cell."""
    convert = presenter(type)
    return cell if convert is None or cell is None else convert(cell)


def short_decimal(name: str, type: Type) -> str | None:
    """A Python expression that is true if the variable `name` is a float of at most 15 digits that fits a DECIMAL.

    It leaves the cell in `cell`. No two decimals of 15 digits are the same float, so that is the one that the float's
    text shows, and `accept` would find. None if the scale is not that of a float.
    """
    if type.kind is not Kind.DECIMAL or type.scale > 22:
        return None
    unit, limit = float(10**type.scale), 10 ** min(type.precision, 15)
    return (
        f"type({name}) is float and -1e15 < {name} < 1e15"
        f" and -{limit} < (cell := round({name} * {unit!r})) < {limit} and cell / {unit!r} == {name}"
    )


def presenter(type: Type) -> Callable[[Any], Any] | None:
    """What turns a cell that is not None into its Python form; None where they are the same."""
    match type.kind:
        case Kind.BOOLEAN | Kind.INT | Kind.BIGINT | Kind.DOUBLE | Kind.STRING | Kind.BINARY:
            return None
        case Kind.DECIMAL:
            exponent = -type.scale
            return lambda cell: Decimal(cell).scaleb(exponent, _EXACT)
        case Kind.DATE:
            ordinal = EPOCH_DATE.toordinal()
            return lambda cell: date.fromordinal(cell + ordinal)
        case Kind.TIMESTAMP:
            return lambda cell: EPOCH + timedelta(microseconds=cell)
    assert_never(type.kind)


def _wrong(value: Any, type: Type, column: str, hint: str = "") -> WrongType:
    return WrongType(
        f'column "{column}" is {type}, found {_name_of(value)} {_short(value)}',
        hint=hint,
    )


def _range(value: Any, type: Type, column: str, detail: str = "") -> OutOfRange:
    return OutOfRange(f'{_short(value)} does not fit column "{column}" of type {type}', detail=detail)


def _name_of(value: object) -> str:
    return value.__class__.__name__


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a repr may fail in any way, and so does that of an int of 5,000 digits
        text = f"<{_name_of(value)}>"
    return text if len(text) <= 60 else text[:57] + "..."


def _boolean(value: Any, type: Type, column: str) -> bool:
    if value is True or value is False:
        return bool(value)
    raise _wrong(value, type, column, "Write True or False.")


def _whole(value: Any, type: Type, column: str) -> int:
    if isinstance(value, bool):
        raise _wrong(value, type, column)
    try:
        return operator.index(value)
    except TypeError:
        raise _wrong(value, type, column) from None


def _int(value: Any, type: Type, column: str) -> int:
    number = _whole(value, type, column)
    if INT_MIN <= number <= INT_MAX:
        return number
    raise _range(number, type, column, f"INT holds {INT_MIN} to {INT_MAX}; BIGINT holds more.")


def _bigint(value: Any, type: Type, column: str) -> int:
    number = _whole(value, type, column)
    if BIGINT_MIN <= number <= BIGINT_MAX:
        return number
    raise _range(number, type, column, f"BIGINT holds {BIGINT_MIN} to {BIGINT_MAX}; DECIMAL(38,0) holds more.")


def _double(value: Any, type: Type, column: str) -> float:
    if isinstance(value, float):
        return float(value)
    whole = _whole(value, type, column)
    try:
        number = float(whole)
    except OverflowError:
        raise _range(whole, type, column) from None
    if number != whole:
        raise _range(whole, type, column, f"It would be rounded to {number!r}; pass a float if that is meant.")
    return number


def _decimal(value: Any, type: Type, column: str) -> int:
    if isinstance(value, bool):
        raise _wrong(value, type, column)
    if isinstance(value, float):
        # The shortest text that reads back as this float is what the user typed: 9.99, not 9.9900000000000002131…
        if not math.isfinite(value):
            raise _range(value, type, column)
        value = Decimal(float.__repr__(value))
    elif not isinstance(value, Decimal):
        value = Decimal(_whole(value, type, column))
    if not value.is_finite():
        raise _range(value, type, column)
    if value and value.adjusted() >= type.precision - type.scale:
        raise _range(value, type, column)
    try:
        return int(value.quantize(Decimal((0, (1,), -type.scale)), context=_EXACT).scaleb(type.scale, _EXACT))
    except (Inexact, InvalidOperation):
        detail = f"It has more than {type.scale} digits behind the point."
        raise _range(value, type, column, detail) from None


def _string(value: Any, type: Type, column: str) -> str:
    if not isinstance(value, str):
        raise _wrong(value, type, column)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise BadText(
                f'column "{column}" holds text that is not valid Unicode',
                detail=f"Character {error.start} is half of a surrogate pair.",
                hint="Decode the bytes with the right encoding, or store them as BINARY.",
            ) from None
    # Not str(): an enum that is a str has a __str__ of its own.
    return str.__str__(value)


def _binary(value: Any, type: Type, column: str) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise _wrong(value, type, column, "Encode text to bytes first, or use STRING.")


def _date(value: Any, type: Type, column: str) -> int:
    if isinstance(value, datetime) or not isinstance(value, date):
        raise _wrong(value, type, column, "Pass a datetime.date.")
    return value.toordinal() - EPOCH_DATE.toordinal()


def _timestamp(value: Any, type: Type, column: str) -> int:
    if not isinstance(value, datetime):
        raise _wrong(value, type, column, "Pass a datetime.datetime; one without a zone is taken as UTC.")
    moment = value.replace(tzinfo=UTC) if value.utcoffset() is None else value
    cell = (moment - EPOCH) // _MICROSECOND
    if TIMESTAMP_MIN <= cell <= TIMESTAMP_MAX:
        return cell
    raise _range(value, type, column, "TIMESTAMP holds the years 1 to 9999 in UTC.")


_ACCEPT: dict[Kind, Callable[[Any, Type, str], Cell]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INT: _int,
    Kind.BIGINT: _bigint,
    Kind.DOUBLE: _double,
    Kind.DECIMAL: _decimal,
    Kind.STRING: _string,
    Kind.BINARY: _binary,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
}


_BLANKS = " \t\n\v\f\r"
_TRUTH = {"true": True, "false": False, "t": True, "f": False, "1": True, "0": False}
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_MOMENT = re.compile(r"[0-9W-]+(?:[T ][0-9:]+(?:[.,]([0-9]+))?(?:Z|[+-][0-9:.]+)?)?")


def parse(text: str, type: Type, column: str) -> Cell:
    """The cell that a text of a file or a literal names; WrongType, OutOfRange or BadText if it names none.

    Blanks around it are ignored, except for STRING, which is the text as it stands. Numbers are ASCII digits without
    separators; a DOUBLE may be `inf` or `nan`, but a number too large for it is out of range, not infinite. BOOLEAN
    is true, t, 1, false, f or 0 in any case, BINARY pairs of hex digits, DATE and TIMESTAMP ISO 8601. A timestamp
    without an offset is UTC, without a time midnight, and finer than a microsecond it is out of range.
    """
    if type.kind is not Kind.STRING:
        text = text.strip(_BLANKS)
    try:
        return accept(_read(text, type, column), type, column)
    except ValueError:
        raise WrongType(f'column "{column}" is {type}, found {_short(text)}') from None


def _read(text: str, type: Type, column: str) -> Any:
    """The Python form of a text; ValueError if it is not of the form of this type."""
    match type.kind:
        case Kind.BOOLEAN:
            return _TRUTH.get(text.lower(), text)
        case Kind.INT | Kind.BIGINT:
            return _read_whole(text, type, column)
        case Kind.DOUBLE:
            return _read_double(text, type, column)
        case Kind.DECIMAL:
            return _read_decimal(text, type, column)
        case Kind.STRING:
            return text
        case Kind.BINARY:
            return bytes.fromhex(_matched(_HEX, text)[0])
        case Kind.DATE:
            return date.fromisoformat(text)
        case Kind.TIMESTAMP:
            return _read_timestamp(text, type, column)
    assert_never(type.kind)


def _matched(form: re.Pattern[str], text: str) -> re.Match[str]:
    found = form.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return found


def _read_whole(text: str, type: Type, column: str) -> int:
    _matched(_WHOLE, text)
    try:
        return int(text)
    except ValueError:
        # Python refuses to convert some thousand digits.
        raise _range(text, type, column) from None


def _read_double(text: str, type: Type, column: str) -> float:
    number = float(_matched(_NUMBER, text)[0])
    if math.isinf(number) and "inf" not in text.lower():
        raise _range(text, type, column)
    return number


def _read_decimal(text: str, type: Type, column: str) -> Decimal:
    _matched(_NUMBER, text)
    try:
        return Decimal(text)
    except InvalidOperation:
        # The exponent itself has too many digits.
        raise _range(text, type, column) from None


def _read_timestamp(text: str, type: Type, column: str) -> datetime:
    fraction = _matched(_MOMENT, text)[1] or ""
    if fraction[6:].strip("0"):
        raise _range(text, type, column, "TIMESTAMP holds microseconds.")
    return datetime.fromisoformat(text)
