"""Statements of other databases, and what does their work here."""

from __future__ import annotations

_TRANSACTION = "Use `with db.transaction() as tx:` around the writes."
_UPSERT = "Call db.put(table, row) to write a row whether it is there or not."
_LOAD = "Call db.load(table, source), or run `viewkeeper load`."
_TABLES = "Call db.tables()."
_NEEDLESS = "Leave it out: there is nothing to do."

INSTEAD: dict[str, str] = {
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "END", "ABORT"), _TRANSACTION),
    **dict.fromkeys(("MERGE", "UPSERT", "REPLACE"), _UPSERT),
    **dict.fromkeys(("COPY", "LOAD", "IMPORT"), _LOAD),
    **dict.fromkeys(("SHOW", "DESCRIBE", "DESC", "LIST"), _TABLES),
    **dict.fromkeys(("ANALYZE", "VACUUM", "OPTIMIZE", "CACHE", "UNCACHE", "REFRESH", "MSCK", "REPAIR"), _NEEDLESS),
    **dict.fromkeys(
        ("CALL", "EXECUTE", "EXEC", "DO", "PREPARE", "DEALLOCATE", "DECLARE", "FETCH"), "Write it in Python."
    ),
    **dict.fromkeys(("USE", "ATTACH", "DETACH"), "Open the other database with its own handle."),
    **dict.fromkeys(("RESET", "PRAGMA"), "Pass options to the call that they are for."),
    **dict.fromkeys(("GRANT", "REVOKE"), "Set the permissions of the database folder."),
    **dict.fromkeys(
        ("LOCK", "UNLOCK", "KILL"), "Use a transaction; one that meets another's change fails with Conflict."
    ),
    "TRUNCATE": "Write DELETE FROM and the table.",
    "RENAME": "Create a new table and copy the rows.",
    "COMMENT": "Write a -- comment; it is not stored.",
    "EXPLAIN": "Leave it out: a query reads the key ranges that its WHERE names, and nothing else.",
    "VALUES": "Write INSERT INTO … VALUES …, or compute the rows in Python.",
    "TABLE": "Write SELECT * FROM and the table.",
    "FROM": "Write SELECT * FROM and the table.",
}
"""By first word, in upper case."""

OBJECTS: dict[str, str] = {
    "JOIN": "Write CREATE JOIN INDEX name ON a (col), b (col), and ALTER INDEX or DROP INDEX for what it made.",
    "UNIQUE": "Make the columns the primary key of a table.",
    "TEMPORARY": "Create a plain table and drop it afterwards.",
    "TEMP": "Create a plain table and drop it afterwards.",
    "EXTERNAL": "Create a plain table and load the rows.",
    "OR": "Views and indexes can be replaced. Drop the table first, or write IF NOT EXISTS.",
    "DATABASE": "A folder is a database: open another one.",
    "SCHEMA": "A folder is a database: open another one.",
}
"""By the word behind CREATE, ALTER or DROP, in upper case."""
