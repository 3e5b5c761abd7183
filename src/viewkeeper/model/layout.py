"""How the rows of a view, or of an auxiliary table, are stored: visible columns first, then hidden ones, by a key."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.errors import UnknownColumn
from viewkeeper.model.schema import Cardinality, Column, Partitioning


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The stored shape of a view. Speaks the same words as `Table`, so that one row codec serves both.

    `key` are column ids; the first `visible` columns are what users see. Key columns may be NULL here.
    """

    id: int
    name: str
    columns: tuple[Column, ...]
    visible: int
    key: tuple[int, ...]
    descending: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.key) != len(self.descending) or len(set(self.key)) != len(self.key):
            raise ValueError("a layout has a direction for each key column, and no column twice in its key")

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def key_ids(self) -> tuple[int, ...]:
        return self.key

    @property
    def has_null_keys(self) -> bool:
        return True

    @property
    def primary_key(self) -> tuple[str, ...]:
        return tuple(self.columns[number].name for number in self.key)

    @property
    def cardinalities(self) -> tuple[Cardinality, ...]:
        return ()

    @property
    def partitioning(self) -> Partitioning | None:
        return None

    def column_id(self, name: str) -> int:
        """The id of a visible column, compared without case."""
        for number, column in enumerate(self.columns[: self.visible]):
            if column.name == name or column.name.lower() == name.lower():
                return number
        shown = ", ".join(column.name for column in self.columns[: self.visible])
        raise UnknownColumn(f'column "{name}" is not in view "{self.name}"', detail=f"Its columns are {shown}.")
