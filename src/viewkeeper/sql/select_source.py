"""FROM: the one table that a SELECT reads, and no clause that needs more."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.errors import Unsupported
from viewkeeper.sql.constructs import construct, start_of
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import unsupported
from viewkeeper.sql.tree import SelectTree

ONE_TABLE = "A SELECT reads one table by its key."
_KEYSET = "Remember the last key that was read, and ask for the keys behind it: WHERE key > :last."
_CLAUSES = {
    "with_": ("WITH", "Run the queries one after the other."),
    "laterals": ("LATERAL", "Read one table at a time."),
    "group": ("GROUP BY", "Read the rows and group them in your program."),
    "having": ("HAVING", "Read the rows and group them in your program."),
    "distinct": ("DISTINCT", "Read the rows and drop the repeated ones in your program."),
    "qualify": ("QUALIFY", "Read the rows and rank them in your program."),
    "windows": ("WINDOW", "Read the rows and rank them in your program."),
    "offset": ("OFFSET", _KEYSET),
    "locks": ("FOR UPDATE", "Read and write in one transaction; it fails with Conflict if the rows changed meanwhile."),
    "sample": ("TABLESAMPLE", "Read a key range."),
    "into": ("INTO", "Insert the rows that were read."),
    "sort": ("SORT BY", "Write ORDER BY."),
    "cluster": ("CLUSTER BY", "Write ORDER BY."),
    "distribute": ("DISTRIBUTE BY", "Leave it out."),
    "pivots": ("PIVOT", "Read the rows and turn them in your program."),
    "version": ("a past version", "Leave it out: a SELECT reads the table as it is."),
    "when": ("a past version", "Leave it out: a SELECT reads the table as it is."),
    "db": ("a qualified table name", "Write the name of the table alone."),
    "catalog": ("a qualified table name", "Write the name of the table alone."),
}


def select_target(parsed: Parsed, tree: SelectTree) -> str:
    """The name of the table that a query reads; Unsupported unless it is one table."""
    query = tree.query
    if not isinstance(query, exp.Select):
        raise refuse_clause(parsed, tree, query, construct(query), "Read one table at a time.")
    _check_clauses(parsed, tree, query, {"expressions", "from_", "where", "order", "limit"})
    check_limit(parsed, tree, query.args.get("limit"))
    source = query.args.get("from_")
    if source is None:
        raise refuse_clause(parsed, tree, query, "SELECT without FROM", "Name a table: SELECT … FROM t.")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        what = construct(table.this if isinstance(table, exp.Table) else table)
        raise refuse_clause(parsed, tree, table, f"{what} in FROM", "Name a table.")
    _check_clauses(parsed, tree, table, {"this", "alias"})
    alias = table.args.get("alias")
    if alias is not None and (not isinstance(alias.this, exp.Identifier) or alias.args.get("columns")):
        raise refuse_clause(parsed, tree, alias, "an alias with columns", "Give the columns other names with AS.")
    return str(table.name)


def _check_clauses(parsed: Parsed, tree: SelectTree, node: exp.Expr, allowed: set[str]) -> None:
    for clause, value in node.args.items():
        if value and clause not in allowed:
            found = value[0] if isinstance(value, list) else value
            where = found if isinstance(found, exp.Expr) else node
            name, hint = _CLAUSES.get(clause, (clause.strip("_").replace("_", " ").upper(), "Leave it out."))
            raise refuse_clause(parsed, tree, where, name, hint)


def check_limit(parsed: Parsed, tree: SelectTree, limit: exp.Expr | None) -> None:
    """Unsupported for a LIMIT that is more than a number, and for FETCH."""
    if isinstance(limit, exp.Limit):
        if limit.args.get("limit_options") or limit.expressions or isinstance(limit.expression, exp.Var):
            raise refuse_clause(parsed, tree, limit, "LIMIT with more than a number", "Write LIMIT and a number.")
    elif limit is not None:
        raise refuse_clause(parsed, tree, limit, "FETCH", "Write LIMIT and a number.")


def refuse_clause(parsed: Parsed, tree: SelectTree, node: exp.Expr, what: str, hint: str) -> Unsupported:
    """The refusal of a clause by name, at its word if the text has it, else at the node."""
    words = [what, *what.split()]
    start = next((tree.words[word] for word in words if word in tree.words), None)
    if start is None:
        start = start_of(node, parsed.start)
    return unsupported(parsed.source, start, what, detail=ONE_TABLE, hint=hint)
