"""The words of CREATE VIEW and CREATE INDEX, of DROP and ALTER:

CREATE [OR REPLACE] [MATERIALIZED] VIEW [IF NOT EXISTS] name clause… [AS] query
CREATE [OR REPLACE] INDEX [IF NOT EXISTS] name ON source (item, …) [INCLUDE (name, …)] [MAINTAIN mode]
clause := KEY (name [ASC | DESC], …)  |  [MAINTAIN] PERIODIC n unit  |  MAINTAIN mode       each at most once
item   := expression [AS name] [ASC | DESC]
mode   := DEFERRED | SYNC | LAZY | LOCAL | EVERY n unit | PERIODIC n unit
unit   := MILLISECOND[S] | SECOND[S] | MINUTE[S] | HOUR[S] | DAY[S] | SEC | MIN | MS
DROP [MATERIALIZED] VIEW | INDEX [IF EXISTS] name [CASCADE]
ALTER [MATERIALIZED] VIEW | INDEX name SET MAINTAIN mode
"""

from __future__ import annotations

from sqlglot import Token, TokenType, exp

from viewkeeper.errors import WrongType
from viewkeeper.model.duration import milliseconds
from viewkeeper.sql.maintain import DEFERRED, Maintain, Mode, ViewKind
from viewkeeper.sql.place import unsupported
from viewkeeper.sql.query.refused import PARAMETER
from viewkeeper.sql.query_syntax import QuerySyntax
from viewkeeper.sql.tree import (
    AlterViewTree,
    CreateIndexTree,
    CreateViewTree,
    DropViewTree,
    IndexItemTree,
    KeyColumnTree,
)

LEAST_EVERY_MS = 50
"""The shortest interval of EVERY."""
_MODES = tuple(str(mode) for mode in Mode)
_QUERY = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
_OTHER_WORDS = {
    "COMMENT": "Write a -- comment; it is not stored.",
    "TBLPROPERTIES": "Leave it out.",
    "PARTITIONED": "Leave it out: KEY (…) says how the rows are ordered.",
    "USING": "Leave it out: views are kept in the store.",
    "ORDER": "Write KEY (col, …) in front of AS.",
    "WITH": "Write MAINTAIN and a mode.",
    "WHERE": "Create a view with KEY and WHERE: it is an index over the rows that it selects.",
    "UNIQUE": "Make it the primary key of a table.",
}


class ViewSyntax(QuerySyntax):
    def _create_view(self) -> CreateViewTree:
        return self._view(or_replace=False)

    def _replace_view(self) -> CreateViewTree:
        return self._view(or_replace=True)

    def _create_index(self) -> CreateIndexTree:
        return self._index_of(or_replace=False)

    def _replace_index(self) -> CreateIndexTree:
        return self._index_of(or_replace=True)

    def _drop_view(self) -> DropViewTree:
        return self._drop_object(ViewKind.VIEW)

    def _drop_index(self) -> DropViewTree:
        return self._drop_object(ViewKind.INDEX)

    def _alter_view(self) -> AlterViewTree:
        return self._alter_object(ViewKind.VIEW)

    def _alter_index(self) -> AlterViewTree:
        return self._alter_object(ViewKind.INDEX)

    def _view(self, *, or_replace: bool) -> CreateViewTree:
        if_not_exists = self._if_not_exists(or_replace)
        name = self._name("a view name")
        if self._match(TokenType.L_PAREN, advance=False) and self._next.token_type not in _QUERY:
            self._refuse(
                "a column list of CREATE VIEW",
                self._curr,
                detail="The columns of a view are named in its SELECT.",
                hint="Give the columns their names with AS in the SELECT.",
            )
        key: tuple[KeyColumnTree, ...] = ()
        maintain: Maintain | None = None
        while self._curr:
            if not key and self._match_text_seq("KEY"):
                key = self._key()
            elif maintain is None and (
                self._match_text_seq("MAINTAIN") or self._match_text_seq("PERIODIC", advance=False)
            ):
                maintain = self._mode()
            else:
                break
        expected = ["KEY"] * (not key) + ["MAINTAIN"] * (maintain is None) + ["AS or SELECT"]
        if not self._match_text_seq("AS") and not self._match_set(_QUERY, advance=False):
            self._refuse_word_of_view("CREATE VIEW")
            self._fail(", ".join(expected))
        begin = self._offset(self._curr)
        query = self._query()
        return CreateViewTree(
            name=name,
            or_replace=or_replace,
            if_not_exists=if_not_exists,
            key=key,
            maintain=maintain or DEFERRED,
            query=query,
            begin=begin,
            end=self._prev.end + 1,
        )

    def _query(self) -> exp.Expr:
        if not self._match_set(_QUERY, advance=False):
            self._fail("SELECT")
        query = self._whole_query()
        self._check_constant(query)
        return query

    def _index_of(self, *, or_replace: bool) -> CreateIndexTree:
        if_not_exists = self._if_not_exists(or_replace)
        name = self._name("an index name")
        self._words("ON")
        begin = self._offset(self._curr)
        source = self._name("a table or view name")
        if self._match(TokenType.USING, advance=False):
            self._refuse_word_of_view("CREATE INDEX")
        self._symbol(TokenType.L_PAREN, '"("')
        items = [self._item()]
        while self._match(TokenType.COMMA):
            items.append(self._item())
        self._symbol(TokenType.R_PAREN, '"," or ")"')
        include = self._names("a column name") if self._match_text_seq("INCLUDE") else ()
        end = self._prev.end + 1
        maintain = self._mode() if self._match_text_seq("MAINTAIN") else DEFERRED
        self._refuse_word_of_view("CREATE INDEX")
        missing = ["INCLUDE"] * (not include and end == self._prev.end + 1) + ["MAINTAIN"] * (end == self._prev.end + 1)
        self._end(", ".join([*missing, "the end of the statement"]))
        return CreateIndexTree(
            name=name,
            or_replace=or_replace,
            if_not_exists=if_not_exists,
            source=source,
            items=tuple(items),
            include=include,
            maintain=maintain,
            begin=begin,
            end=end,
        )

    def _item(self) -> IndexItemTree:
        value = self._value("a column or an expression")
        self._check_constant(value)
        alias = self._name("a column name") if self._match_text_seq("AS") else None
        return IndexItemTree(value=value, alias=alias, descending=self._direction())

    def _direction(self) -> bool:
        """Whether DESC follows; ASC is taken too."""
        descending = self._match_text_seq("DESC")
        if not descending:
            self._match_text_seq("ASC")
        return bool(descending)

    def _key(self) -> tuple[KeyColumnTree, ...]:
        self._symbol(TokenType.L_PAREN, '"("')
        columns = [self._key_column()]
        while self._match(TokenType.COMMA):
            columns.append(self._key_column())
        self._symbol(TokenType.R_PAREN, '"," or ")"')
        return tuple(columns)

    def _key_column(self) -> KeyColumnTree:
        name = self._name("a column name")
        return KeyColumnTree(name=name, descending=self._direction())

    def _mode(self) -> Maintain:
        if not self._match_texts(_MODES):
            self._fail(f"{', '.join(_MODES[:-1])} or {_MODES[-1]}")
        mode = Mode(self._prev.text.upper())
        if mode not in (Mode.EVERY, Mode.PERIODIC):
            return Maintain(mode=mode)
        number = self._curr
        count = self._whole_number("a whole number")
        if count == 0:
            self._retreat(self._index - 1)
            self._fail("an interval above 0")
        interval = self._interval(count, number)
        if mode is Mode.EVERY and interval < LEAST_EVERY_MS:
            self._refuse(
                f"EVERY {interval} MILLISECONDS",
                number,
                detail=f"A batch takes about that long: the least is {LEAST_EVERY_MS} MILLISECONDS.",
                hint="Write MAINTAIN SYNC to have it in the transaction of each write.",
            )
        return Maintain(mode=mode, interval_ms=interval)

    def _interval(self, count: int, number: Token) -> int:
        unit = self._curr
        try:
            length = milliseconds(f"{count} {unit.text}" if self._is_word(unit) else "")
        except WrongType:
            hint = "The units are MILLISECOND, SECOND, MINUTE, HOUR and DAY."
            self._fail(f"a unit of time behind {number.text}", hint=hint)
        self._advance()
        return length

    def _drop_object(self, kind: ViewKind) -> DropViewTree:
        if_exists = self._match_text_seq("IF")
        if if_exists:
            self._words("EXISTS")
        name = self._name("a view name" if kind is ViewKind.VIEW else "an index name")
        cascade = self._match_text_seq("CASCADE")
        self._end("the end of the statement" if cascade else "CASCADE or the end of the statement")
        return DropViewTree(kind=kind, name=name, if_exists=bool(if_exists), cascade=bool(cascade))

    def _alter_object(self, kind: ViewKind) -> AlterViewTree:
        name = self._name("a view name" if kind is ViewKind.VIEW else "an index name")
        for word in ("RENAME", "AS", "ADD", "DROP"):
            if self._match_text_seq(word):
                self._refuse(
                    f"{word} of ALTER {kind.upper()}",
                    self._prev,
                    detail="What can be altered is when it is maintained.",
                    hint="Write CREATE OR REPLACE with the other definition.",
                )
        self._words("SET", "MAINTAIN")
        maintain = self._mode()
        self._end()
        return AlterViewTree(kind=kind, name=name, maintain=maintain)

    def _if_not_exists(self, or_replace: bool) -> bool:
        if not self._match_text_seq("IF"):
            return False
        token = self._prev
        self._words("NOT", "EXISTS")
        if or_replace:
            self._refuse(
                "OR REPLACE with IF NOT EXISTS",
                token,
                detail="One says to make it anew, the other to leave it.",
                hint="Write one of them.",
            )
        return True

    def _check_constant(self, node: exp.Expr) -> None:
        """A parameter has no place in a definition; said here, before its value would be asked for."""
        parameter = node.find(exp.Placeholder)
        if parameter is not None:
            start = int(parameter.meta["start"])
            refusal = PARAMETER
            raise unsupported(self.sql, start, refusal.name, detail=refusal.detail, hint=refusal.hint)

    def _refuse_word_of_view(self, where: str) -> None:
        token = self._curr
        word = token.text.upper().split()[0] if self._curr and token.text else ""
        if word in _OTHER_WORDS and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            detail = "Views and indexes have a key and a mode of maintenance."
            self._refuse(f"{word} of {where}", token, detail=detail, hint=_OTHER_WORDS[word])
