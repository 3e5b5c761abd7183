"""The words of INSERT, UPDATE, DELETE and SELECT:

    INSERT INTO name [(name, …)] VALUES (value, …), …
    UPDATE name SET name = value, … WHERE condition
    DELETE FROM name [WHERE condition]
    SELECT …

A SELECT is read by sqlglot whole; bind_select.py says what of it can be answered.
"""

from __future__ import annotations

from sqlglot import TokenType, exp

from viewkeeper.sql.reader import Reader
from viewkeeper.sql.tree import DeleteTree, InsertTree, Name, SelectTree, UpdateTree, ValuesTree

_ONE_TABLE = "One statement writes one table, by key."
_BEHIND = {
    "RETURNING": (_ONE_TABLE, "Read the rows with a SELECT, in the same transaction."),
    "ON": (
        "A key that is there already is an error.",
        "Call db.put(table, row) to write a row whether it is there or not.",
    ),
    "USING": (_ONE_TABLE, "Read the other table first and give the keys in an IN list."),
    "FROM": (_ONE_TABLE, "Read the other table first and give the keys in an IN list."),
    "JOIN": (_ONE_TABLE, "Read the other table first and give the keys in an IN list."),
    "ORDER BY": ("Every row that the condition names is written.", "Give the keys of the rows to write in WHERE."),
    "LIMIT": ("Every row that the condition names is written.", "Give the keys of the rows to write in WHERE."),
}


class RowSyntax(Reader):
    def _insert(self) -> InsertTree:
        if self._match_texts(("OVERWRITE", "OR", "IGNORE")):
            words = [self._prev.text, self._curr.text] if self._prev.token_type == TokenType.OR else [self._prev.text]
            self._refuse(
                f"INSERT {' '.join(words).upper()}",
                self._prev,
                detail="INSERT adds new rows; a key that is there already is an error.",
                hint="Call db.put(table, row) to write a row whether it is there or not.",
            )
        self._words("INTO")
        self._match_text_seq("TABLE")
        table = self._name("a table name")
        columns: tuple[Name, ...] | None = None
        if self._match(TokenType.L_PAREN, advance=False):
            columns = self._names("a column name")
        if self._match_set((TokenType.SELECT, TokenType.WITH, TokenType.FROM), advance=False):
            self._refuse(
                "INSERT of a query",
                self._curr,
                detail="INSERT takes rows of VALUES.",
                hint="Read the rows with a SELECT, then insert them in one transaction or with db.load(table, rows).",
            )
        self._words("VALUES")
        rows = [self._row()]
        while self._match(TokenType.COMMA):
            rows.append(self._row())
        self._end_of_write('"," or the end of the statement')
        return InsertTree(table=table, columns=columns, rows=tuple(rows))

    def _written(self) -> exp.Expr:
        if self._match_text_seq("DEFAULT"):
            self._refuse(
                "DEFAULT",
                self._prev,
                detail="Columns have no default; one that is not given is NULL.",
                hint="Leave the column out, or write NULL.",
            )
        return self._value()

    def _row(self) -> ValuesTree:
        start = self._curr.start
        self._symbol(TokenType.L_PAREN, '"("')
        values = [self._written()]
        while self._match(TokenType.COMMA):
            values.append(self._written())
        self._symbol(TokenType.R_PAREN, '"," or ")"')
        return ValuesTree(values=tuple(values), start=start)

    def _update(self) -> UpdateTree:
        begin = self._prev
        table = self._name("a table name")
        self._words("SET")
        assignments = [self._assignment()]
        while self._match(TokenType.COMMA):
            assignments.append(self._assignment())
        if not self._curr:
            self._refuse(
                "UPDATE without WHERE",
                begin,
                detail="It would change every row of the table.",
                hint="Say which keys to change: WHERE on the columns of the primary key.",
            )
        where = self._condition()
        self._end_of_write("the end of the statement" if where is not None else "WHERE")
        if where is None:
            self._fail("WHERE")
        return UpdateTree(table=table, assignments=tuple(assignments), where=where)

    def _assignment(self) -> tuple[Name, exp.Expr]:
        column = self._name("a column name")
        self._symbol(TokenType.EQ, '"="')
        return column, self._written()

    def _delete(self) -> DeleteTree:
        self._words("FROM")
        table = self._name("a table name")
        where = self._condition()
        self._end_of_write("the end of the statement" if where is not None else "WHERE or the end of the statement")
        return DeleteTree(table=table, where=where)

    def _condition(self) -> exp.Expr | None:
        return self._value("a condition") if self._match(TokenType.WHERE) else None

    def _begins_query(self) -> bool:
        """Whether parentheses come next in which a query begins."""
        words = (token for token in self._tokens if token.token_type != TokenType.L_PAREN)
        first = next(words, None) if self._match(TokenType.L_PAREN, advance=False) else None
        return first is not None and first.token_type in (TokenType.SELECT, TokenType.WITH)

    def _select(self) -> SelectTree:
        self._retreat(0)
        query = self._whole_query()
        while isinstance(query, exp.Subquery) and [name for name, value in query.args.items() if value] == ["this"]:
            query = query.this
        return SelectTree(query=query, words=self._outer_words())

    def _outer_words(self) -> dict[str, int]:
        words: dict[str, int] = {}
        depth = 0
        for token in self._tokens:
            depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            if depth == 0 and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
                words.setdefault(" ".join(token.text.upper().split()), token.start)
        return words

    def _end_of_write(self, expected: str) -> None:
        word = " ".join(self._curr.text.upper().split()) if self._curr else ""
        if word in _BEHIND and self._curr.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            detail, hint = _BEHIND[word]
            if word == "ON" and self._is_word(self._next):
                word = f"ON {self._next.text.upper()}"
            self._refuse(word, self._curr, detail=detail, hint=hint)
        self._end(expected)
