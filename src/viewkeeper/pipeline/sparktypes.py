"""The types as Spark has them; they fit those of model/arrow.py."""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import types as spark

from viewkeeper.model.types import Kind, Type


def spark_type(type: Type) -> spark.DataType:
    match type.kind:
        case Kind.BOOLEAN:
            return spark.BooleanType()
        case Kind.INT:
            return spark.IntegerType()
        case Kind.BIGINT:
            return spark.LongType()
        case Kind.DOUBLE:
            return spark.DoubleType()
        case Kind.DECIMAL:
            return spark.DecimalType(type.precision, type.scale)
        case Kind.STRING:
            return spark.StringType()
        case Kind.BINARY:
            return spark.BinaryType()
        case Kind.DATE:
            return spark.DateType()
        case Kind.TIMESTAMP:
            return spark.TimestampType()
    assert_never(type.kind)
