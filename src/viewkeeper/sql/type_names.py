"""Type names as SQL texts have them: those that are accepted, and what to write for those that are not."""

from __future__ import annotations

from viewkeeper.model import types
from viewkeeper.model.types import Type

SIMPLE: dict[str, Type] = {
    "BOOLEAN": types.BOOLEAN,
    "BOOL": types.BOOLEAN,
    "INT": types.INT,
    "INTEGER": types.INT,
    "BIGINT": types.BIGINT,
    "LONG": types.BIGINT,
    "DOUBLE": types.DOUBLE,
    "STRING": types.STRING,
    "TEXT": types.STRING,
    "BINARY": types.BINARY,
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
}

DECIMAL = frozenset({"DECIMAL", "DEC", "NUMERIC"})
"""Names that take (precision, scale); alone they are DECIMAL(10,0), as in Spark."""

_TEXTS = ("VARCHAR", "CHAR", "CHARACTER", "CHARACTER VARYING", "CHAR VARYING", "NVARCHAR", "NCHAR", "BPCHAR", "CLOB")
_SMALL = ("SMALLINT", "SHORT", "TINYINT", "BYTE", "INT2", "INT4", "MEDIUMINT", "SERIAL")
_BYTES = ("VARBINARY", "BLOB", "BYTEA", "BYTES")
_MOMENTS = ("DATETIME", "TIMESTAMPTZ", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ")

_INSTEAD: dict[str, str] = {
    **dict.fromkeys(_TEXTS, "Write STRING; it has no length limit of its own."),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT4", "FLOAT8", "DOUBLE PRECISION"), "Write DOUBLE."),
    **dict.fromkeys(_SMALL, "Write INT."),
    **dict.fromkeys(("INT8", "BIGSERIAL"), "Write BIGINT."),
    **dict.fromkeys(("HUGEINT", "INT128"), "Write DECIMAL(38,0)."),
    **dict.fromkeys(_BYTES, "Write BINARY."),
    **dict.fromkeys(_MOMENTS, "Write TIMESTAMP; it is in UTC, with microseconds."),
    **dict.fromkeys(("TIME", "INTERVAL"), "Write BIGINT and keep a number of microseconds, or TIMESTAMP."),
    **dict.fromkeys(("UUID", "ENUM", "XML"), "Write STRING."),
    **dict.fromkeys(("JSON", "JSONB", "VARIANT", "OBJECT"), "Write STRING and keep the text of the document."),
    **dict.fromkeys(
        ("ARRAY", "MAP", "STRUCT", "LIST"),
        "Write a table of its own with one row for each element, or STRING with the text of a JSON document.",
    ),
}


def instead_of(name: str) -> str:
    """What to write for a type name, in upper case, that is not accepted."""
    known = "BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(p,s), STRING, BINARY, DATE and TIMESTAMP"
    return _INSTEAD.get(name, f"The types are {known}.")
