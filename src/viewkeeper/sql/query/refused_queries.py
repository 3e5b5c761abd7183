"""What is told otherwise where it is a query, and not a view, that cannot have a construct."""

from __future__ import annotations

from viewkeeper.sql.query.refused import (
    CLAUSES,
    FUNCTIONS,
    LATERAL_QUERY,
    OTHER,
    SUBQUERY,
    TABLE_FUNCTION,
    VALUES,
    Refusal,
)
from viewkeeper.sql.query.refused_joins import IN_FIELD

_PARAMETER = "Compute the value in your program, and pass it as a parameter."
_ORDER = "Write ORDER BY."
_READS = "A query reads tables and views."

IN_QUERIES: dict[Refusal, Refusal] = {
    FUNCTIONS["NOW"]: Refusal(
        detail="A query has no clock: it gives the same rows for the same data and parameters.",
        hint="Pass the moment as a parameter: write :now.",
    ),
    FUNCTIONS["RANDOM"]: Refusal(
        detail="It gives another value each time, and a query the same rows for the same data and parameters.",
        hint=_PARAMETER,
    ),
    FUNCTIONS["CURRENT_USER"]: Refusal(detail="A query is the same for whoever asks it.", hint=_PARAMETER),
    FUNCTIONS["COLLECT_LIST"]: Refusal(
        detail=FUNCTIONS["COLLECT_LIST"].detail,
        hint="Ask for the rows as they are, with ORDER BY, and make the list in your program.",
    ),
    FUNCTIONS["FIRST"]: Refusal(
        detail=FUNCTIONS["FIRST"].detail,
        hint="Write MIN or MAX, or ask for the rows as they are, with ORDER BY.",
    ),
    FUNCTIONS["CORR"]: Refusal(
        detail="COUNT, SUM, AVG, MIN, MAX, VARIANCE and STDDEV are what is computed of a group.",
        hint="Ask for the sums that it is made of, and compute it in your program.",
    ),
    FUNCTIONS["TO_CHAR"]: Refusal(
        detail=FUNCTIONS["TO_CHAR"].detail, hint="Write CAST(… AS type) for ISO 8601 texts, or format in your program."
    ),
    CLAUSES["locks"]: Refusal(
        name="FOR UPDATE",
        detail="A query locks no rows.",
        hint="Read and write in one transaction, with db.transaction(): it fails with Conflict if what it read changed "
        "meanwhile.",
    ),
    CLAUSES["into"]: Refusal(name="INTO", detail="A query writes no rows.", hint="Insert the rows that it gives."),
    CLAUSES["sort"]: Refusal(name="SORT BY", detail="All rows are sorted together.", hint=_ORDER),
    CLAUSES["cluster"]: Refusal(name="CLUSTER BY", detail="All rows are sorted together.", hint=_ORDER),
    CLAUSES["distribute"]: Refusal(name="DISTRIBUTE BY", detail="The rows come to one place.", hint="Leave it out."),
    CLAUSES["match"]: Refusal(
        name="MATCH_RECOGNIZE", detail="It needs the rows in order.", hint="Ask for them with ORDER BY."
    ),
    CLAUSES["version"]: Refusal(
        name="a past version", detail="A query reads the newest rows.", hint="Ask it of db.snapshot(at=…)."
    ),
    CLAUSES["qualify"]: Refusal(
        name="QUALIFY",
        detail="It is a condition on a window function.",
        hint="Write the query with the function in FROM, and the condition in the WHERE around it.",
    ),
    LATERAL_QUERY: Refusal(
        name=LATERAL_QUERY.name,
        detail=LATERAL_QUERY.detail,
        hint="Run one query for each row, or one for all of them: WHERE col IN :list MAX 20.",
    ),
    VALUES: Refusal(name=VALUES.name, detail=_READS, hint="Write col IN (value, …), or put the rows into a table."),
    TABLE_FUNCTION: Refusal(detail=_READS, hint="Put the rows into a table."),
    SUBQUERY: Refusal(
        name=SUBQUERY.name,
        detail="It would be computed over all of its rows, beside the query.",
        hint="Run it first, and pass what it gives as a parameter.",
    ),
    IN_FIELD: Refusal(
        name=IN_FIELD.name,
        detail="IN takes a list of values, a parameter that is one, or a query.",
        hint="Write IN :list MAX 20, IN (value, …) or IN (SELECT col FROM t).",
    ),
    OTHER: Refusal(
        detail="Queries are made of columns, constants, parameters, operators and the functions of a list.",
        hint="Compute it in your program.",
    ),
}
"""By what is told of views."""
