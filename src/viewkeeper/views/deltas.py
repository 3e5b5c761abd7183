"""The delta of a view's input, as weighted rows: from the log, from the feed of a view below, or from this very batch.

Δ of an object between two positions  =  − each row before  + each row after
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from viewkeeper.execute.changetable import Weighted, net_rows
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Kind, Row
from viewkeeper.model.view import View
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.interface import Store

Pair = tuple[Row | None, Row | None]
"""A row before and after; None where it was, or is, absent."""

LOG_BLOCKS = 1000


def row_of(pair: Pair) -> Row:
    """A row with the key of a change."""
    row = pair[0] if pair[1] is None else pair[1]
    assert row is not None
    return row


def table_pairs(store: Store, tables: frozenset[int], lower: int, upper: int) -> dict[int, list[Pair]]:
    """The changes of some tables at lower <= position < upper, by table id, in commit order; the log is read once."""
    catalog = store.catalog()
    found: dict[int, list[Pair]] = {number: [] for number in tables}
    start = lower
    while start < upper and tables:
        blocks = store.blocks(store.position(start), store.position(upper), tables, LOG_BLOCKS)
        for block in blocks:
            for section in block.sections:
                codec = catalog.codecs.get(section.table)
                if codec is not None:
                    found[section.table].extend(section.pairs(codec))
        if not blocks:
            break
        start = blocks[-1].end
    return found


def raw_pairs(codec: RowCodec, changes: Iterable[RawChange]) -> list[Pair]:
    """Changes that are still encoded, as rows."""
    decode = codec.decode
    return [
        (None if before is None else decode(before), None if after is None else decode(after))
        for before, after in changes
    ]


def feed_pairs(store: Store, view: View, codec: RowCodec, lower: int, upper: int) -> Iterator[Pair]:
    """The stored rows of a view that changed between two watermarks that it has had."""
    for _, block in store.view_tables.feed_between(view.id, lower, upper):
        for section in block.sections:
            yield from section.pairs(codec)


def changed_pairs(changes: ObjectChanges) -> Iterator[Pair]:
    """The stored rows of a view that a batch is about to change."""
    yield from raw_pairs(changes.codec, changes.changes.values())


def weighted(pairs: Iterable[Pair], columns: tuple[int, ...], *, repeats: bool = False) -> list[Weighted]:
    """Pairs as a delta of just these columns; a change that leaves them as they were is left out.

    With `repeats` the last column is how often a row is there.
    """
    pick = picker(columns)
    delta: list[Weighted] = []
    for before, after in pairs:
        old = None if before is None else pick(before)
        new = None if after is None else pick(after)
        if repeats:
            gone: Any = 0 if before is None else before[-1]
            come: Any = 0 if after is None else after[-1]
        else:
            gone, come = before is not None, after is not None
        if old is not None and new is not None and same(old, new) and gone == come:
            continue
        if old is not None:
            delta.append((old, -int(gone)))
        if new is not None:
            delta.append((new, int(come)))
    return delta


def condensed(delta: list[Weighted], codec: RowCodec, columns: tuple[int, ...]) -> list[Weighted]:
    """A delta of some columns without what cancels out: of a row that changed again and again, the first and last."""
    if len(delta) <= 2:
        return delta
    return net_rows(delta, has_doubles=any(codec.table.columns[column].type.kind is Kind.DOUBLE for column in columns))


def same(left: Row, right: Row) -> bool:
    """Whether two rows are the same to the bit: -0.0 is not 0.0, and 1 is not 1.0 or true."""
    if left is right:
        return True
    # A NaN is not even equal to itself.
    return (left == right or any(cell != cell for cell in left)) and repr(left) == repr(right)
