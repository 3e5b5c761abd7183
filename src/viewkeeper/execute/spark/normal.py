"""Values as group keys have them."""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.model.types import Kind, Type


def normalised(column: Column, type: Type) -> Column:
    """The column with -0.0 as 0.0 and one NaN; see rows/normal.py."""
    if type.kind is not Kind.DOUBLE:
        return column
    return sf.when(sf.isnan(column), sf.lit(math.nan)).otherwise(column + sf.lit(0.0))
