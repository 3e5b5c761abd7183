"""The rows that the entries of an index are of, each as it was where the index stands.

So no row fails the condition that its entry was found by, and as many rows come as there are entries. Read as they are
now, a row could have moved away from its entry, or have gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from viewkeeper.delta.deltaplan import Changes, Compute, DeltaPlan, Words
from viewkeeper.errors import StoreDamaged, Unsupported
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.model.view import View, with_article
from viewkeeper.plan.expr import Input
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.views.bound import bound_in


@dataclass(frozen=True, slots=True)
class Base:
    """The table of an index, and where in an entry the key of its row is."""

    codec: RowCodec
    places: tuple[int, ...]


def base_of(store: Store, catalog: Catalog, view: View) -> Base:
    """Unsupported if it is not an index of a table."""
    one = bound_in(store, catalog).get(view.id)
    table = catalog.tables.get(view.sources[0])
    if one is None or table is None or view.kind != "index" or not isinstance(one.program.plan.source, Changes):
        raise Unsupported(
            f'"{view.name}" is {with_article(view.kind)}, and its entries are not of one table',
            detail="Base rows are those that an entry of an index of a table was made from.",
            hint="Read it without base_rows=True.",
        )
    shown = {column: place for place, column in enumerate(_columns(one.program.plan)) if column is not None}
    codec = catalog.codecs[table.id]
    return Base(codec, tuple(shown[number] for number in codec.key.columns))


def _columns(plan: DeltaPlan) -> list[int | None]:
    """For each column of an entry, the one of the table that it is; None if it is computed."""
    assert isinstance(plan.source, Changes)
    found: list[int | None] = list(plan.source.columns)
    for step in plan.stages[0].linear:
        if isinstance(step, Compute):
            found = [found[expr.index] if isinstance(expr, Input) else None for expr in step.exprs]
        elif isinstance(step, Words):
            found.append(None)
    return found


def base_rows(store: Store, base: Base, chunks: Iterator[list[Row]], meta: ReadMeta) -> Rows:
    """The rows of a table that entries are of, in the order of these; a row for each entry."""
    codec = base.codec
    return Rows(_rows(store, base, chunks, meta), codec.table.columns, codec.to_dict, meta)


def _rows(store: Store, base: Base, chunks: Iterator[list[Row]], meta: ReadMeta) -> Iterator[list[Row]]:
    snapshot = store.snapshot(meta.position)
    key_of, encode = picker(base.places), base.codec.key.encode_key
    for chunk in chunks:
        found = snapshot.get_many(base.codec, [encode(key_of(entry)) for entry in chunk])
        meta.operations += len(found)
        rows = [row for row in found if row is not None]
        if len(rows) < len(found):
            raise StoreDamaged(
                f'an entry of an index of table "{base.codec.table.name}" has no row', hint="Verify the index."
            )
        yield rows
