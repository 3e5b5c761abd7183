"""The measures of a change table, over Arrow columns, as sums that cannot overflow.

A whole number is cut into words of w bits, the uppermost signed, v = Σ pᵢ·2^(w·i); the sum of v is that of the sums of
its words. For sums w is 32, for squares 16:

    v²  =  Σₖ 2^(16·k) · Σ_{i+j=k} pᵢ·pⱼ

Every piece, times its weight, is summed as BIGINT, and Python puts the sums together again. That holds as long as the
weights of one group, taken without their signs, sum up to less than 2^27: a batch of 134 million changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.delta.deltaplan import MeasureKind
from viewkeeper.execute.changetable import Sum
from viewkeeper.model.types import Kind, Type

_SMALL_PRECISION = 9
"""Digits of a decimal that 32 bits always hold."""


def piece_count(kind: MeasureKind, type: Type) -> int:
    """How many sums a measure takes."""
    if kind is MeasureKind.NOT_NULL:
        return 1
    if type.kind is Kind.DOUBLE:
        return 4
    bits = _bits(type)
    return bits // 32 if kind is MeasureKind.SUM else 2 * (bits // 16) - 1


def pieces(kind: MeasureKind, type: Type, values: pa.Array, weights: pa.Array, *, all_ones: bool) -> list[pa.Array]:
    """What is to be summed for a measure of these values: as many columns as `piece_count` says.

    `all_ones` says that every weight is 1, which spares the products.
    """
    if kind is MeasureKind.NOT_NULL:
        return [_only(pc.is_valid(values), weights)]
    if type.kind is Kind.DOUBLE:
        return _doubles(pc.multiply(values, values) if kind is MeasureKind.SQUARES else values, weights)
    found = _words(values, type, 32) if kind is MeasureKind.SUM else _squares(_words(values, type, 16))
    return found if all_ones else [pc.multiply(piece, weights) for piece in found]


def whole(kind: MeasureKind, type: Type, sums: Sequence[Any]) -> Sum:
    """The measure that sums of its pieces stand for."""
    if kind is MeasureKind.NOT_NULL:
        return sums[0]
    if type.kind is Kind.DOUBLE:
        return list(sums)
    bits = 32 if kind is MeasureKind.SUM else 16
    return sum(piece << (bits * place) for place, piece in enumerate(sums))


def _only(mask: pa.Array, weights: pa.Array) -> pa.Array:
    return pc.if_else(mask, weights, pa.scalar(0, pa.int64()))


def _doubles(values: pa.Array, weights: pa.Array) -> list[pa.Array]:
    """The finite ones, NaNs, infinities, negative infinities."""
    finite = pc.if_else(pc.is_finite(values), pc.multiply(values, pc.cast(weights, pa.float64(), safe=False)), None)
    special = (pc.is_nan(values), pc.equal(values, math.inf), pc.equal(values, -math.inf))
    return [finite, *(_only(mask, weights) for mask in special)]


def _bits(type: Type) -> int:
    if type.kind is Kind.INT or (type.kind is Kind.DECIMAL and type.precision <= _SMALL_PRECISION):
        return 32
    return 128 if type.is_wide else 64


def _words(values: pa.Array, type: Type, bits: int) -> list[pa.Array]:
    """The words of whole numbers or of the units of decimals, lowest first, each as BIGINT."""
    limbs = _limbs(values, type)
    width = min(_bits(type), 64)
    found = []
    for number, limb in enumerate(limbs):
        for shift in range(0, width, bits):
            word = pc.shift_right(limb, shift) if shift else limb
            if number < len(limbs) - 1 or shift + bits < width:
                word = pc.bit_wise_and(word, (1 << bits) - 1)
            found.append(word)
    return found


def _limbs(values: pa.Array, type: Type) -> list[pa.Array]:
    """Whole numbers as 64-bit words, lowest first."""
    if type.kind is not Kind.DECIMAL:
        return [values.cast(pa.int64())]
    # A decimal128 is two little-endian words; a narrow one needs just the lower.
    validity, data = values.buffers()
    if data is None:
        return [pa.nulls(len(values), pa.int64())] * (2 if type.is_wide else 1)
    words = pa.Array.from_buffers(pa.int64(), 2 * (len(values) + values.offset), [None, data])
    pairs = pa.Array.from_buffers(
        pa.list_(pa.int64(), 2), len(values), [validity], offset=values.offset, children=[words]
    )
    return [pc.list_element(pairs, place) for place in range(2 if type.is_wide else 1)]


def _squares(words: list[pa.Array]) -> list[pa.Array]:
    found = []
    for power in range(2 * len(words) - 1):
        total = None
        for place, word in enumerate(words):
            other = power - place
            if not place <= other < len(words):
                continue
            product = pc.multiply(word, words[other])
            if place < other:
                product = pc.add(product, product)
            total = product if total is None else pc.add(total, product)
        found.append(total)
    return found
