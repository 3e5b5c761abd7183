"""What a view cannot be defined with: why, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """`name` is what the construct is called, if that is the same each time."""

    name: str = ""
    detail: str
    hint: str


_CLOCK = Refusal(
    detail="Its value changes while the rows stay the same, so no change would ever be computed for it.",
    hint="Keep the moment in a column when the row is written, and compare with now when the view is read.",
)
_CHANCE = Refusal(
    detail="It gives another value each time, so a view could not be compared with its definition.",
    hint="Keep the value in a column when the row is written.",
)
_SESSION = Refusal(
    detail="A view is the same for whoever reads it and whatever computes it.",
    hint="Keep the value in a column when the row is written.",
)
_LISTS = Refusal(
    detail="Its result is a list, and no column type holds one.",
    hint="Leave the rows as they are, ordered by KEY (group, …): a scan of the key's beginning gives the list.",
)
_ORDERED = Refusal(
    detail="Its result depends on the order of the rows, and the rows of a group have none.",
    hint="Write MIN or MAX, or leave the rows as they are, ordered by KEY (group, …).",
)
_MOMENTS = Refusal(
    detail="COUNT, SUM, AVG, MIN, MAX, VARIANCE and STDDEV are what is kept of a group.",
    hint="Keep the sums that it is made of, and compute it when the view is read.",
)
_PATTERNS = Refusal(
    detail="Regular expressions differ between the engines that maintain a view.",
    hint="Write LIKE, CONTAINS, STARTSWITH, ENDSWITH or SUBSTRING.",
)
_MULTIPLE = Refusal(
    detail="Only TOKENS makes several rows of one, and it stands in CREATE INDEX.",
    hint="Write CREATE INDEX … ON t (TOKENS(col)), or keep one row for each element in a table of its own.",
)
_FORMATS = Refusal(
    detail="The texts that it reads or writes differ between engines.",
    hint="Write CAST(… AS type) for ISO 8601 texts, and format when the view is read.",
)
_TRY = Refusal(
    detail="Every expression that fails gives NULL, and the row counts in the view's errors.",
    hint="Write the plain form: CAST, +, -, *, /.",
)

FUNCTIONS: dict[str, Refusal] = {
    **dict.fromkeys(
        (
            "NOW",
            "CURRENT_TIMESTAMP",
            "CURRENT_DATE",
            "CURRENT_TIME",
            "CURRENT_DATETIME",
            "CURDATE",
            "GETDATE",
            "LOCALTIME",
            "LOCALTIMESTAMP",
            "SYSDATE",
            "UTC_DATE",
            "UTC_TIME",
            "UTC_TIMESTAMP",
            "UNIX_TIMESTAMP",
        ),
        _CLOCK,
    ),
    **dict.fromkeys(("RAND", "RANDOM", "RANDN", "RANDSTR", "UNIFORM", "UUID", "SHUFFLE"), _CHANCE),
    **dict.fromkeys(
        (
            "MONOTONICALLY_INCREASING_ID",
            "SPARK_PARTITION_ID",
            "INPUT_FILE_NAME",
            "CURRENT_USER",
            "SESSION_USER",
            "USER",
            "CURRENT_DATABASE",
            "CURRENT_SCHEMA",
            "CURRENT_CATALOG",
            "CURRENT_TIMEZONE",
            "VERSION",
        ),
        _SESSION,
    ),
    **dict.fromkeys(("COLLECT_LIST", "COLLECT_SET", "ARRAY_AGG", "HISTOGRAM_NUMERIC"), _LISTS),
    **dict.fromkeys(
        (
            "FIRST",
            "LAST",
            "ANY_VALUE",
            "FIRST_VALUE",
            "LAST_VALUE",
            "MODE",
            "MAX_BY",
            "MIN_BY",
            "STRING_AGG",
            "LISTAGG",
            "GROUP_CONCAT",
        ),
        _ORDERED,
    ),
    **dict.fromkeys(("SKEWNESS", "KURTOSIS", "CORR", "COVAR_POP", "COVAR_SAMP", "PRODUCT"), _MOMENTS),
    **dict.fromkeys(
        ("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT", "NDV"),
        Refusal(
            detail="COUNT(DISTINCT) is exact here, and is kept up to date by the values that change.",
            hint="Write COUNT(DISTINCT …).",
        ),
    ),
    **dict.fromkeys(
        ("BOOL_AND", "EVERY"),
        Refusal(detail="FALSE comes before TRUE, so it is a minimum.", hint="Write MIN(condition)."),
    ),
    **dict.fromkeys(
        ("BOOL_OR", "SOME", "ANY"),
        Refusal(detail="FALSE comes before TRUE, so it is a maximum.", hint="Write MAX(condition)."),
    ),
    **dict.fromkeys(
        ("REGEXP", "REGEXP_LIKE", "REGEXP_EXTRACT", "REGEXP_REPLACE", "REGEXP_COUNT", "REGEXP_INSTR", "RLIKE"),
        _PATTERNS,
    ),
    **dict.fromkeys(("EXPLODE", "EXPLODE_OUTER", "POSEXPLODE", "INLINE", "STACK", "SPLIT"), _MULTIPLE),
    "TOKENS": Refusal(
        detail="It stands for all words of a text, and so in CREATE INDEX and in conditions alone.",
        hint="Write CREATE INDEX … ON t (TOKENS(col)), or TOKENS(col) = word or TOKENS(col) LIKE 'wo%' as a condition.",
    ),
    **dict.fromkeys(
        ("DATE_FORMAT", "TO_CHAR", "TO_DATE", "TO_TIMESTAMP", "DATE", "TIMESTAMP", "FORMAT_NUMBER", "CONVERT"),
        _FORMATS,
    ),
    **dict.fromkeys(("TRY_CAST", "TRY_ADD", "TRY_SUBTRACT", "TRY_MULTIPLY", "TRY_DIVIDE", "TRY_SUM"), _TRY),
    "DECODE": Refusal(detail="Other databases mean different things by it.", hint="Write CASE."),
}
"""By name, in upper case."""

_READ = "Sort, cut and rank when the view is read: KEY (col DESC, …) makes that a short scan."

CLAUSES: dict[str, Refusal] = {
    "locks": Refusal(name="FOR UPDATE", detail="A view is not written by its readers.", hint="Leave it out."),
    "into": Refusal(name="INTO", detail="The view is where the rows go.", hint="Leave it out."),
    "sort": Refusal(name="SORT BY", detail="A view is a set of rows.", hint="Write KEY (col, …) in front of AS."),
    "cluster": Refusal(name="CLUSTER BY", detail="A view is a set of rows.", hint="Write KEY (col, …) in front of AS."),
    "distribute": Refusal(name="DISTRIBUTE BY", detail="A view is a set of rows.", hint="Leave it out."),
    "sample": Refusal(
        name="TABLESAMPLE",
        detail="Which rows it takes is left to chance.",
        hint="Write a condition, such as BUCKET(key, 100) < 5.",
    ),
    "pivots": Refusal(
        name="PIVOT",
        detail="Its columns depend on the rows.",
        hint="Write SUM(…) FILTER (WHERE …) AS name for each column.",
    ),
    "laterals": Refusal(
        name="LATERAL",
        detail="It computes a query for each row.",
        hint="Write CREATE INDEX … (TOKENS(col)) for words, or keep one row for each element in a table of its own.",
    ),
    "match": Refusal(name="MATCH_RECOGNIZE", detail="It needs the rows in order.", hint=_READ),
    "connect": Refusal(
        name="CONNECT BY", detail="It follows the rows to any depth.", hint="Keep the path in a column."
    ),
    "version": Refusal(name="a past version", detail="A view follows its sources.", hint="Leave it out."),
    "when": Refusal(name="a past version", detail="A view follows its sources.", hint="Leave it out."),
    "qualify": Refusal(
        name="QUALIFY",
        detail="It is a condition on a window function.",
        hint="Write KEY (…) and take the first rows when the view is read.",
    ),
    "windows": Refusal(
        name="WINDOW clause", detail="A window is written where it is used.", hint="Write OVER (…) in full."
    ),
    "db": Refusal(
        name="a qualified table name", detail="One database has one set of names.", hint="Write the name alone."
    ),
    "catalog": Refusal(
        name="a qualified table name", detail="One database has one set of names.", hint="Write the name alone."
    ),
}
"""Clauses of SELECT and of a table in FROM, by sqlglot's name for them."""

LATERAL_QUERY = Refusal(
    name="LATERAL (sub-query)",
    detail="It computes a query for each row.",
    hint="Join its table with ON, and take the first rows of each when the view is read: KEY (col, …) makes that a "
    "short scan.",
)
VALUES = Refusal(name="VALUES in FROM", detail="A view follows tables and views.", hint="Put the rows into a table.")
TABLE_FUNCTION = Refusal(detail="A view follows tables and views.", hint="Put the rows into a table.")
RECURSIVE = Refusal(
    name="WITH RECURSIVE", detail="It repeats until nothing is added.", hint="Keep the path in a column."
)
PARAMETER = Refusal(
    name="a parameter in the definition of a view",
    detail="A view is kept for later, when the value would be gone.",
    hint="Write the value itself.",
)
CORRELATED = Refusal(
    name="a correlated sub-query",
    detail="It would be computed anew for each row.",
    hint="Put it into FROM, grouped by the columns that it compares: "
    "LEFT JOIN (SELECT col, MAX(x) AS m FROM t GROUP BY col) AS t ON t.col = outer.col.",
)
CORRELATED_ROW = Refusal(
    name=CORRELATED.name,
    detail=CORRELATED.detail,
    hint="Put it into FROM: LEFT JOIN (SELECT col, x FROM t) AS t ON t.col = outer.col, and t.x here.",
)
NO_GROUP = Refusal(
    name="GROUP BY of nothing",
    detail="All rows would be in one group.",
    hint="Leave out GROUP BY: the view then always has its one row.",
)
RETAIN = Refusal(
    name="RETAIN of something other than WINDOW",
    detail="Only epochs grow old.",
    hint="Write GROUP BY WINDOW(ts, '1 minute') RETAIN '2 hours'.",
)
SUBQUERY = Refusal(
    name="a sub-query as a value",
    detail="One change in it could change every row of the view.",
    hint="Create a view of its own for it, and combine the two when they are read.",
)

EXPRESSIONS: dict[type[exp.Expr], Refusal] = {
    exp.Interval: Refusal(
        name="INTERVAL",
        detail="Times are added as milliseconds, days with DATE_ADD.",
        hint="Write ts + 3600000, or DATE_ADD(day, 1).",
    ),
    exp.ILike: Refusal(
        name="ILIKE", detail="Which characters are the same differs between engines.", hint="Write LOWER(col) LIKE '…'."
    ),
    exp.RegexpLike: Refusal(name="RLIKE", detail=_PATTERNS.detail, hint=_PATTERNS.hint),
    exp.RegexpILike: Refusal(name="RLIKE", detail=_PATTERNS.detail, hint=_PATTERNS.hint),
    exp.Escape: Refusal(
        name="ESCAPE", detail=r"In a pattern \ takes the special meaning from % and _.", hint=r"Write \% and \_."
    ),
    exp.Tuple: Refusal(
        name="a tuple",
        detail="A value is of one column; rows are compared with rows.",
        hint="Write (a, b) < (1, 2) or another comparison, OR in place of IN.",
    ),
    exp.Any: Refusal(
        name="ANY", detail="It compares with every row of a query.", hint="Write IN (SELECT …) for =, else EXISTS."
    ),
    exp.All: Refusal(
        name="ALL",
        detail="It compares with every row of a query.",
        hint="Write NOT EXISTS (…) with an equality and the opposite comparison.",
    ),
    exp.Star: Refusal(name="*", detail="* stands for columns in the list of SELECT.", hint="Name the column."),
    exp.Alias: Refusal(name="AS", detail="Names are given in the list of SELECT.", hint="Leave it out."),
}
"""By sqlglot's name."""

OTHER = Refusal(
    detail="Views are made of columns, constants, operators and the functions of a list.",
    hint="Compute it when the row is written, and keep it in a column.",
)
