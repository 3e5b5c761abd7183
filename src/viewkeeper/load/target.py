"""Which columns of a table a source fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewkeeper.errors import BadDefinition, MissingColumn, UnknownColumn
from viewkeeper.model.schema import Column, Table


@dataclass(frozen=True, slots=True)
class Target:
    """The columns that are filled, and for each the place of its value in the source."""

    columns: tuple[Column, ...]
    places: tuple[int, ...]


def match_columns(table: Table, names: Sequence[str], source: str, *, ignore_unknown: bool = False) -> Target:
    """Finds the named columns in the table, by name without case.

    UnknownColumn, MissingColumn for a key column that is not among them, BadDefinition for a column named twice.
    """
    known = {column.name.lower(): number for number, column in enumerate(table.columns)}
    found: dict[int, int] = {}
    unknown: list[str] = []
    for place, name in enumerate(names):
        number = known.get(name.lower())
        if number is None:
            unknown.append(name)
        elif number in found:
            raise BadDefinition(
                f'{source} names column "{table.columns[number].name}" twice',
                detail="Column names are compared without case.",
            )
        else:
            found[number] = place
    has = f'Table "{table.name}" has the columns {", ".join(table.column_names)}.'
    if unknown and not ignore_unknown:
        listed = ", ".join(f'"{name}"' for name in unknown)
        raise UnknownColumn(
            f'{source} has {"columns" if len(unknown) > 1 else "column"} {listed}, not in table "{table.name}"',
            detail=has,
            hint=_separator(names) or "Rename or drop them in the source, or ALTER TABLE … ADD COLUMN first.",
        )
    missing = [table.columns[number].name for number in table.key_ids if number not in found]
    if missing:
        listed = ", ".join(f'"{name}"' for name in missing)
        raise MissingColumn(
            f'{source} lacks {listed} of the primary key of table "{table.name}"',
            detail=f"{has} The primary key is ({', '.join(table.primary_key)}).",
        )
    return Target(tuple(table.columns[number] for number in found), tuple(found.values()))


def _separator(names: Sequence[str]) -> str:
    """A hint if what should be names looks like a line of a file with another separator."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(names) == 1 and mark in names[0]:
            return f"The values seem to be separated by {name}; a .csv file has commas."
    return ""
