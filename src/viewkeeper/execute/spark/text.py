"""Functions of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.rows.text import like_expression
from viewkeeper.execute.spark.code import Implementation, native, only_if, python
from viewkeeper.execute.spark.literals import literal
from viewkeeper.model.letters import lower_table, upper_table
from viewkeeper.model.types import BOOLEAN, INT, INT_MAX
from viewkeeper.plan.expr import Call, Literal
from viewkeeper.plan.likes import Wild, like_parts


def _upper(text: Column) -> Column:
    return sf.when(_is_ascii(text), sf.upper(text)).otherwise(_mapped(text, upper_table()))


def _lower(text: Column) -> Column:
    return sf.when(_is_ascii(text), sf.lower(text)).otherwise(_mapped(text, lower_table()))


def _is_ascii(text: Column) -> Column:
    return sf.octet_length(text) == sf.length(text)


def _mapped(text: Column, table: Mapping[int, str]) -> Column:
    return sf.translate(text, "".join(map(chr, table)), "".join(table.values()))


def _substring(text: Column, start: Column, length: Column | None = None) -> Column:
    return sf.substring(text, start, literal(INT_MAX, INT) if length is None else length)


def _left(text: Column, length: Column) -> Column:
    return sf.substring(text, literal(1, INT), length)


def _right(text: Column, length: Column) -> Column:
    # The smallest INT has no negative, so what is below 1 does not get as far as the minus.
    some = only_if(length > 0, length)
    return sf.when(length <= 0, only_if(text.isNotNull(), sf.lit(""))).otherwise(sf.substring(text, -some, some))


def _concat_ws(separator: Column, *texts: Column) -> Column:
    # Spark's generated code does not look whether the separator is NULL, and may use that of the row before.
    return only_if(separator.isNotNull(), sf.call_function("concat_ws", separator, *texts))


def _split_part(text: Column, separator: Column, number: Column) -> Column:
    return sf.split_part(text, separator, only_if(number != 0, number))


def _like(call: Call, args: list[Column]) -> Column:
    """A constant pattern as the plainest test that decides it; another one in Python."""
    text, pattern = args[0], call.args[1]
    if not isinstance(pattern, Literal):
        return python(call, args)
    parts = None if pattern.value is None else like_parts(cast(str, pattern.value))
    if parts is None:
        return literal(None, BOOLEAN)
    match parts:
        case ():
            return text == ""
        case (str(whole),):
            return text == whole
        case (str(start), Wild.ANY):
            return text.startswith(start)
        case (Wild.ANY, str(end)):
            return text.endswith(end)
        case (Wild.ANY, str(middle), Wild.ANY):
            return text.contains(middle)
    return text.rlike(rf"\A(?:{like_expression(parts)})\z")


TEXT: dict[str, Implementation] = {
    "upper": native(_upper),
    "lower": native(_lower),
    "trim": native(sf.trim),
    "ltrim": native(sf.ltrim),
    "rtrim": native(sf.rtrim),
    "length": native(sf.length),
    "substring": native(_substring),
    "left": native(_left),
    "right": native(_right),
    "lpad": native(sf.lpad),
    "rpad": native(sf.rpad),
    "reverse": native(sf.reverse),
    "concat": native(sf.concat),
    "concat_ws": native(_concat_ws),
    "replace": native(sf.replace),
    "split_part": native(_split_part),
    "instr": native(sf.instr),
    "startswith": native(sf.startswith),
    "endswith": native(sf.endswith),
    "contains": native(sf.contains),
    "like": _like,
    "has_word": python,
    "has_word_like": python,
}
