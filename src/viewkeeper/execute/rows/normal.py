"""Values as group keys have them: -0.0 is 0.0, and every NaN is the same one."""

from __future__ import annotations

import math

from viewkeeper.model.types import Cell, Kind, Type

NAN = math.nan
"""One object, so that tuples holding it are equal and hash alike."""


def normalised(cell: Cell, type: Type) -> Cell:
    """The cell that stands for all cells that are equal to it.

    >>> from viewkeeper.model.types import DOUBLE
    >>> normalised(-0.0, DOUBLE), normalised(float("nan"), DOUBLE) is normalised(float("nan"), DOUBLE)
    (0.0, True)
    """
    if type.kind is not Kind.DOUBLE or not isinstance(cell, float):
        return cell
    return cell + 0.0 if cell == cell else NAN
