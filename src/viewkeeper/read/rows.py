"""The rows of an answer, as dicts, Arrow or pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from viewkeeper.errors import RowsConsumed
from viewkeeper.model.position import Position
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Row

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(slots=True, kw_only=True)
class ReadMeta:
    """How a read was answered.

    `path`: "table" for a base table; "view", as it is; "unaffected", "folded" and "pipeline" are ways of a view that
    lagged. `operations` counts gets and positioned range reads, `rows` what they gave; both are final once the rows
    have been taken. Apart from that, `folded_changes` were taken in to answer it, in `fold_ms`; `moved` are the views
    that were brought up with it, for all; `waited_ms` is how long it waited for the pipeline.
    """

    path: str
    position: Position
    operations: int = 0
    rows: int = 0
    folded_changes: int = 0
    fold_ms: float = 0.0
    moved: tuple[str, ...] = ()
    waited_ms: float = 0.0


class Rows:
    """Rows of one answer, read as they are taken; they can be taken once."""

    def __init__(
        self,
        chunks: Iterator[list[Row]],
        columns: Sequence[Column],
        to_dict: Callable[[Row], dict[str, Any]],
        meta: ReadMeta,
    ) -> None:
        self._chunks = chunks
        self._columns = tuple(columns)
        self._to_dict = to_dict
        self._taken = False
        self.meta = meta

    def begun(self) -> Self:
        """The same with its first rows read already: whatever speaks against reading them is said at once."""
        first = next(self._chunks, None)
        if first is not None:
            self._chunks = chain([first], self._chunks)
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self._columns)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for chunk in self._take():
            yield from map(self._to_dict, chunk)

    def all(self) -> list[dict[str, Any]]:
        """All rows as dicts."""
        to_dict = self._to_dict
        return [to_dict(row) for chunk in self._take() for row in chunk]

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table, without a dict in between."""
        import pyarrow as pa

        from viewkeeper.model.arrow import arrow_schema, from_cells

        schema = arrow_schema(self._columns)
        batches = []
        for chunk in self._take():
            cells = zip(*chunk, strict=True)
            arrays = [from_cells(column, shape.type) for column, shape in zip(cells, self._columns, strict=False)]
            batches.append(pa.record_batch(arrays, schema=schema))
        return pa.Table.from_batches(batches, schema=schema)

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def _take(self) -> Iterator[list[Row]]:
        if self._taken:
            raise RowsConsumed(
                "these rows have been taken already", hint="Keep them: rows = list(db.scan(…)), or read again."
            )
        self._taken = True
        for chunk in self._chunks:
            self.meta.rows += len(chunk)
            yield chunk

    def __repr__(self) -> str:
        return f"<Rows of {', '.join(self.columns)} at {self.meta.position}>"
