"""Statements that make what a query needs, in a mode."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.errors import BadParameter, SqlError
from viewkeeper.sql.maintain import Maintain, Mode


def mode_of(text: str) -> str:
    """A mode for what queries need, as it stands behind MAINTAIN; BadParameter if it is none of these.

    PERIODIC is none of them: a view that has to be PERIODIC is proposed so, and any other one would answer no query.

    >>> mode_of("sync"), mode_of("every 60 seconds")
    ('SYNC', 'EVERY 1 MINUTE')
    """
    from viewkeeper.sql.parse import parse
    from viewkeeper.sql.tree import AlterViewTree

    wanted, detail = None, ""
    try:
        trees = [one.tree for one in parse(f"ALTER VIEW v SET MAINTAIN {text}")]
        if len(trees) == 1 and isinstance(trees[0], AlterViewTree):
            wanted = trees[0].maintain
    except SqlError as error:
        detail = "" if error.code == "sql.syntax" else error.detail
    if wanted is not None and wanted.mode is Mode.PERIODIC:
        raise _periodic(wanted)
    if wanted is not None:
        return str(wanted)
    raise BadParameter(
        f'"{text}" is no mode in which views are maintained',
        detail=detail,
        hint="The modes are DEFERRED, SYNC, LAZY, LOCAL and EVERY n unit, such as EVERY 10 SECONDS.",
    )


def _periodic(wanted: Maintain) -> BadParameter:
    return BadParameter(
        f"{wanted} is no mode for what queries need",
        detail="A PERIODIC view stands for its tables only if its refresh is bounded, so most queries would not be "
        "answered from it. Views that have to be PERIODIC are made so by themselves.",
        hint=f"Write {replace(wanted, mode=Mode.EVERY)}.",
    )


def is_periodic(ddl: str) -> bool:
    """Whether a CREATE statement of the analysis makes a view that has to be PERIODIC."""
    return " MAINTAIN PERIODIC " in ddl


def maintained(ddl: str, mode: str | None) -> str:
    """A CREATE statement of the analysis with MAINTAIN; one that is PERIODIC stays so.

    >>> maintained("CREATE INDEX i ON t (a)", "SYNC")
    'CREATE INDEX i ON t (a) MAINTAIN SYNC'
    """
    if mode is None or is_periodic(ddl):
        return ddl
    if ddl.startswith("CREATE INDEX"):
        return f"{ddl} MAINTAIN {mode}"
    return ddl.replace(" AS SELECT ", f" MAINTAIN {mode} AS SELECT ", 1)
