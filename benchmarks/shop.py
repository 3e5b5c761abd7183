"""The table and rows that the store benchmarks share: six columns, as an item of a shop has."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

DDL = """
CREATE TABLE Items (
  ItemID BIGINT PRIMARY KEY, Name STRING, Category STRING, Price DECIMAL(10,2), SellerID BIGINT, Weight DOUBLE
)
"""


def items(start: int, count: int) -> pa.Table:
    """Rows with the keys start <= ItemID < start + count."""
    ids = pa.array(range(start, start + count), pa.int64())
    text = ids.cast(pa.string())
    cents = pc.add(pc.multiply(pc.bit_wise_and(ids, 1023), 7), 99)
    # The buffer of whole cents as decimals is that of the prices; only the scale in the type differs.
    price = pa.Array.from_buffers(pa.decimal128(10, 2), count, cents.cast(pa.decimal128(19, 0)).buffers())
    return pa.table(
        {
            "ItemID": ids,
            "Name": pc.binary_join_element_wise("item number", text, " "),
            "Category": pc.binary_join_element_wise("category", pc.bit_wise_and(ids, 31).cast(pa.string()), " "),
            "Price": price,
            "SellerID": pc.bit_wise_and(ids, 4095),
            "Weight": pc.multiply(ids.cast(pa.float64()), 0.25),
        }
    )


def item(number: int) -> dict[str, Any]:
    return {
        "ItemID": number,
        "Name": f"item number {number}",
        "Category": f"category {number & 31}",
        "Price": (number & 1023) * 7 / 100,
        "SellerID": number & 4095,
        "Weight": number * 0.25,
    }
