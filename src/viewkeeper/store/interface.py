"""What a store promises. Everything above the store speaks to it through these protocols only.

Keys are encoded by model/keycodec.py, rows are cells, positions are opaque. The embedded store is the one
implementation; `tests/store/contract.py` is the suite that another one would have to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import Cell, Row
from viewkeeper.model.view import View
from viewkeeper.store.blocks import Block, Section
from viewkeeper.store.catalog import Catalog, Settings
from viewkeeper.store.folder import Folder
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.store.viewcatalog import ViewCatalog
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.store.writes import Merge, Remove, Replace, WriteSet

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ALL",
    "Block",
    "Catalog",
    "Interval",
    "Merge",
    "Remove",
    "Replace",
    "Section",
    "Settings",
    "Snapshot",
    "Store",
    "StoreTransaction",
    "WriteSet",
]


class Snapshot(Protocol):
    """Reads at one position, which is a transaction boundary. Thread-safe; holds nothing open."""

    @property
    def position(self) -> Position: ...

    def get(self, codec: RowCodec, key: bytes) -> Row | None: ...

    def get_many(self, codec: RowCodec, keys: Sequence[bytes]) -> list[Row | None]: ...

    def scan(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Row]]: ...

    def scan_keyed(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[tuple[bytes, Row]]]: ...


class StoreTransaction(Protocol):
    """Buffered writes, reads of a snapshot and of itself, validated at commit."""

    @property
    def position(self) -> Position:
        """Where its snapshot stands."""

    @property
    def is_over(self) -> bool: ...

    def get(self, codec: RowCodec, key: bytes) -> Row | None: ...

    def scan(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Row]]: ...

    def put(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None: ...

    def insert(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None: ...

    def remove(self, codec: RowCodec, key: bytes) -> None: ...

    def own_changes(self) -> dict[int, list[tuple[Row | None, Row | None]]]: ...

    def read_where(self, codec: RowCodec, matters: Callable[[Row], bool] | None) -> None: ...

    def commit(self) -> Position: ...

    def rollback(self) -> None: ...


class Store(Protocol):
    """Tables, log and catalog of one database."""

    @property
    def database(self) -> str: ...

    @property
    def folder(self) -> Folder: ...

    @property
    def view_tables(self) -> ViewStore:
        """What is stored of views, and how far they are."""

    @property
    def view_catalog(self) -> ViewCatalog:
        """Which views there are."""

    def catalog(self) -> Catalog: ...

    def catalog_at_head(self) -> tuple[Catalog, int]: ...

    def create_table(self, table: Table) -> Table: ...

    def add_column(self, name: str, column: Column) -> Table: ...

    def drop_table(self, name: str) -> None: ...

    def configure(self, **settings: Any) -> Settings: ...

    def set_option(self, name: str, value: str) -> None: ...

    def position(self, offset: int) -> Position: ...

    def offset(self, position: Position) -> int: ...

    def head(self) -> Position: ...

    def oldest(self) -> Position: ...

    def get(self, name: str, key: tuple[Any, ...]) -> tuple[RowCodec, Row | None] | View: ...

    def get_row(self, number: int, key: bytes) -> bytes | None: ...

    def snapshot(self, at: Position | None = None) -> Snapshot: ...

    def transaction(self) -> StoreTransaction: ...

    def put(self, codec: RowCodec, cells: dict[int, Cell], *, insert: bool = False) -> Position: ...

    def put_row(self, name: str, row: Mapping[str, Any], *, insert: bool = False) -> Position: ...

    def commit(self, writes: WriteSet) -> Position: ...

    def load(self, codec: RowCodec, data: pa.RecordBatch, *, rehearse: bool = False) -> Position: ...

    def row_count(self, codec: RowCodec) -> int: ...

    def partition_of(self, codec: RowCodec, row: Row) -> int: ...

    def split(self, codec: RowCodec, parts: int, interval: Interval = ALL) -> list[Interval]: ...

    def repartition(self, name: str) -> Table: ...

    def blocks(
        self, lower: Position, upper: Position | None = None, tables: frozenset[int] | None = None, most: int = 1000
    ) -> list[Block]: ...

    def transaction_before(self, offset: int) -> tuple[int, int] | None: ...

    def committed_behind(self, offset: int) -> int | None: ...

    def boundary(self, lower: int, most: int) -> int: ...

    def pin(self, position: Position, *, seconds: float, holder: str) -> bytes: ...

    def renew(self, pin: bytes, position: Position, *, seconds: float, holder: str) -> None: ...

    def unpin(self, pin: bytes) -> None: ...

    def log_size(self) -> tuple[int, int]: ...

    def sizes(self) -> tuple[int, int]: ...

    def reader_count(self) -> int: ...

    def close(self) -> None: ...
