"""What a view cannot have of joins, unions and sub-queries: why, and what to write instead."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.sql.query.refused import Refusal

_EQUALITY = "A row would meet every row of the other side, so one change would cost as much as the whole table."

NO_EQUALITY = Refusal(
    detail=_EQUALITY,
    hint="Write an equality between a column of each, as in ON a.col = b.col. If every pair of rows is wanted, give "
    "each side a constant column, as in (SELECT 1 AS one, … FROM a) AS a, and compare those.",
)
NO_EQUALITY_INSIDE = Refusal(
    detail=_EQUALITY,
    hint="Write an equality between a column of the sub-query and one of the query around it, "
    "as in WHERE t.col = outer.col.",
)
FAILING_EQUALITY = Refusal(
    detail="One of its sides can fail, and partners are looked up by values that are there.",
    hint="Compute that side in a sub-query in FROM, as in (SELECT a + 1 AS b, … FROM t) AS t, and compare its column.",
)
OTHER_JOIN = Refusal(
    detail="The joins are [INNER], LEFT, RIGHT and FULL [OUTER], LEFT SEMI, LEFT ANTI and CROSS.",
    hint="Write one of these.",
)
UNNAMED = Refusal(
    name="a sub-query without a name beside other sources",
    detail="A column that is added to another source could take the place of its columns.",
    hint="Write AS and a name behind it.",
)
NATURAL = Refusal(
    name="NATURAL JOIN",
    detail="The columns that it compares change when a column is added.",
    hint="Write JOIN … ON a.col = b.col.",
)
BY_NAME = Refusal(
    name="UNION BY NAME",
    detail="The columns of the queries are put together in their order.",
    hint="Select them in the same order, and write UNION or UNION ALL.",
)
SET_OPERATIONS: dict[type[exp.Expr], Refusal] = {
    exp.Intersect: Refusal(
        detail="It compares whole rows with those of another query.",
        hint="Write SELECT DISTINCT … WHERE EXISTS (SELECT 1 FROM t WHERE t.col = outer.col AND …), "
        "with the columns that matter.",
    ),
    exp.Except: Refusal(
        detail="It compares whole rows with those of another query.",
        hint="Write SELECT DISTINCT … WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.col = outer.col AND …), "
        "with the columns that matter.",
    ),
}
NOT_IN = Refusal(
    name="NOT IN (sub-query)",
    detail="One NULL in the sub-query makes it true for no row.",
    hint="Write NOT EXISTS (SELECT 1 FROM t WHERE t.col = outer.col).",
)
IN_FIELD = Refusal(
    name="IN without parentheses",
    detail="IN takes a list of values, or a query.",
    hint="Write IN (value, …) or IN (SELECT col FROM t).",
)
_BY_ITSELF = "It says which rows stay, as a condition of WHERE that stands by itself or is joined with others by AND."
_LEFT_JOIN = (
    "Write LEFT JOIN (SELECT DISTINCT col FROM t) AS t ON t.col = outer.col, and t.col IS NOT NULL where the answer is "
    "needed."
)
PARTNERS_UNDER: dict[str, Refusal] = {
    "under OR": Refusal(
        detail=_BY_ITSELF,
        hint="Write a SELECT for each side of OR, and UNION between them, with a key among the columns.",
    ),
    "in CASE": Refusal(detail=_BY_ITSELF, hint=_LEFT_JOIN),
    "under NOT": Refusal(
        detail=_BY_ITSELF, hint="Write NOT EXISTS (…) for it, and the opposite of the other conditions by themselves."
    ),
    "in an expression": Refusal(detail=_BY_ITSELF, hint=_LEFT_JOIN),
}
"""EXISTS and IN (sub-query) inside of other things in WHERE."""

PARTNERS_IN: dict[str, Refusal] = {
    "SELECT": Refusal(detail=_BY_ITSELF, hint=_LEFT_JOIN),
    "HAVING": Refusal(
        detail=_BY_ITSELF, hint="Write the grouped query as a sub-query in FROM, and this in the WHERE around it."
    ),
    "ON": Refusal(
        detail=_BY_ITSELF, hint="Write it in WHERE, or in a sub-query in FROM for the side that it is about."
    ),
}
"""EXISTS and IN (sub-query) in other clauses; what is not listed is as SELECT."""

_ANY_ROW = "EXISTS asks whether there is a row at all: neither their order nor their number matters."
NOT_PLAIN: dict[str, Refusal] = {
    "GROUP BY": Refusal(
        detail="The groups would be made anew for each row.",
        hint="Put the grouped query into a sub-query in FROM of the EXISTS, "
        "with the compared columns among its groups.",
    ),
    "ORDER BY": Refusal(detail=_ANY_ROW, hint="Leave it out."),
    "LIMIT": Refusal(detail=_ANY_ROW, hint="Leave it out."),
    "OFFSET": Refusal(detail=_ANY_ROW, hint="Leave it out."),
    "UNION": Refusal(
        detail="Its rows are compared with the query around it in one place.",
        hint="Put it into a sub-query in FROM: EXISTS (SELECT 1 FROM (… UNION ALL …) AS u WHERE u.col = outer.col).",
    ),
    "an aggregate": Refusal(
        detail="An aggregate without GROUP BY always has its one row, so EXISTS would always be true.",
        hint="Write SELECT 1.",
    ),
}
"""What the sub-query of EXISTS cannot have."""

OUTSIDE_FROM = Refusal(
    name="a column of the query around it in FROM of a sub-query",
    detail="It would be computed anew for each row.",
    hint="Compare it in the WHERE of the sub-query.",
)
TWO_LEVELS = Refusal(
    name="a column of a query two levels around",
    detail="A sub-query is compared with the query right around it.",
    hint="Join the sources in one sub-query, and compare there.",
)
