"""Statements that make what a query needs, in a mode."""

from __future__ import annotations

from viewkeeper.errors import BadParameter, SqlError


def mode_of(text: str) -> str:
    """A mode as it stands behind MAINTAIN; BadParameter, with those that there are, if it is none.

    >>> mode_of("sync"), mode_of("every 60 seconds")
    ('SYNC', 'EVERY 1 MINUTE')
    """
    from viewkeeper.sql.parse import parse
    from viewkeeper.sql.tree import AlterViewTree

    detail = ""
    try:
        trees = [one.tree for one in parse(f"ALTER VIEW v SET MAINTAIN {text}")]
        if len(trees) == 1 and isinstance(trees[0], AlterViewTree):
            return str(trees[0].maintain)
    except SqlError as error:
        detail = "" if error.code == "sql.syntax" else error.detail
    raise BadParameter(
        f'"{text}" is no mode in which views are maintained',
        detail=detail,
        hint="The modes are DEFERRED, SYNC, LAZY, LOCAL, EVERY n unit and PERIODIC n unit, such as EVERY 10 SECONDS.",
    )


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
