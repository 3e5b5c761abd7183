"""Statements that make what a query needs, in a mode."""

from __future__ import annotations


def maintained(ddl: str, mode: str | None) -> str:
    """A CREATE statement of the analysis with MAINTAIN; one that is PERIODIC stays so.

    >>> maintained("CREATE INDEX i ON t (a)", "SYNC")
    'CREATE INDEX i ON t (a) MAINTAIN SYNC'
    """
    if mode is None or " MAINTAIN PERIODIC " in ddl:
        return ddl
    if ddl.startswith("CREATE INDEX"):
        return f"{ddl} MAINTAIN {mode}"
    return ddl.replace(" AS SELECT ", f" MAINTAIN {mode} AS SELECT ", 1)
