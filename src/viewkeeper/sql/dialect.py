"""Our dialect of sqlglot: Spark's, with standard quotes, and the statements that begin with each word.

Quotes are those of standard SQL: 'text' with '' for a quote inside and no backslash escapes; "name" or `name` for an
identifier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NoReturn

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

from viewkeeper.sql.join_index_syntax import JoinIndexSyntax
from viewkeeper.sql.option_syntax import OptionSyntax
from viewkeeper.sql.place import syntax_error
from viewkeeper.sql.refused_statements import INSTEAD, OBJECTS
from viewkeeper.sql.row_syntax import RowSyntax
from viewkeeper.sql.table_syntax import TableSyntax
from viewkeeper.sql.tree import Tree
from viewkeeper.sql.view_syntax import ViewSyntax

# sqlglot keeps the rest of a statement that begins with one of the first four as a raw text, and takes ADD FILE for
# one; |> it reads only in part.
_UNREAD = (TokenType.COMMAND, TokenType.EXECUTE, TokenType.RENAME, TokenType.SHOW, TokenType.PIPE_GT)
_OF_OBJECTS = ("CREATE", "ALTER", "DROP")
_WHOLE = {"OR": "OR REPLACE", "MATERIALIZED": "MATERIALIZED VIEW"}


class StatementParser(TableSyntax, RowSyntax, JoinIndexSyntax, OptionSyntax):
    """One statement to its tree, by its first words."""

    READERS: ClassVar[dict[tuple[str, ...], Callable[[StatementParser], Tree]]] = {
        ("CREATE", "TABLE"): TableSyntax._create_table,
        ("ALTER", "TABLE"): TableSyntax._alter_table,
        ("DROP", "TABLE"): TableSyntax._drop_table,
        ("CREATE", "VIEW"): ViewSyntax._create_view,
        ("CREATE", "INDEX"): ViewSyntax._create_index,
        ("CREATE", "JOIN", "INDEX"): JoinIndexSyntax._create_join_index,
        ("ALTER", "VIEW"): ViewSyntax._alter_view,
        ("DROP", "VIEW"): ViewSyntax._drop_view,
        ("INSERT",): RowSyntax._insert,
        ("UPDATE",): RowSyntax._update,
        ("DELETE",): RowSyntax._delete,
        ("SELECT",): RowSyntax._select,
        ("SET",): OptionSyntax._set,
    }
    ALSO: ClassVar[dict[tuple[str, ...], Callable[[StatementParser], Tree]]] = {
        ("CREATE", "MATERIALIZED", "VIEW"): ViewSyntax._create_view,
        ("CREATE", "OR", "REPLACE", "MATERIALIZED", "VIEW"): ViewSyntax._replace_view,
        ("CREATE", "OR", "REPLACE", "VIEW"): ViewSyntax._replace_view,
        ("CREATE", "OR", "REPLACE", "INDEX"): ViewSyntax._replace_index,
        ("CREATE", "OR", "REPLACE", "JOIN", "INDEX"): JoinIndexSyntax._replace_join_index,
        ("ALTER", "MATERIALIZED", "VIEW"): ViewSyntax._alter_view,
        ("ALTER", "INDEX"): ViewSyntax._alter_index,
        ("DROP", "MATERIALIZED", "VIEW"): ViewSyntax._drop_view,
        ("DROP", "INDEX"): ViewSyntax._drop_index,
        ("WITH",): RowSyntax._select,
    }
    """Longer forms of the same statements."""

    def read(self, tokens: list[Token], text: str) -> Tree:
        """The tree of the statement that `tokens`, all of them, make. Places are offsets in `text`."""
        self.reset()
        self.sql = text
        self._chunks = [tokens]
        self._advance_chunk()
        readers = {**self.ALSO, **self.READERS}
        reader = next((read for words, read in readers.items() if self._match_text_seq(*words)), None)
        if reader is None and self._begins_query():
            reader = RowSyntax._select
        return reader(self) if reader is not None else self._refuse_statement()

    def _refuse_statement(self) -> NoReturn:
        first = self._curr
        word = first.text.upper()
        known = ", ".join(" ".join(words) for words in self.READERS)
        if first.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or word not in {*INSTEAD, *_OF_OBJECTS}:
            problem = f"unexpected {self._found(first)}"
            raise syntax_error(self.sql, first.start, problem, hint=f"The statements are {known}.")
        hint = INSTEAD.get(word, "")
        if word in _OF_OBJECTS:
            self._advance()
            if not self._is_word(self._curr):
                self._fail("TABLE")
            kind = self._curr.text.upper()
            hint = OBJECTS.get(kind, "Tables, views and indexes are all there is to create, alter and drop.")
            word = f"{word} {_WHOLE.get(kind, kind)}"
        self._refuse(word, first, detail=f"The statements are {known}.", hint=hint)


class Viewkeeper(Spark):
    IDENTIFIERS_CAN_START_WITH_DIGIT = False

    class Tokenizer(Spark.Tokenizer):
        QUOTES: ClassVar[list[str | tuple[str, str]]] = ["'"]
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']
        STRING_ESCAPES: ClassVar[list[str]] = ["'"]
        NUMERIC_ESCAPES: ClassVar[dict[str, tuple[int, int, int, int]]] = {}
        RAW_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
        NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if kind not in _UNREAD
        }

    Parser = StatementParser

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        # sqlglot logs a warning for a path that it cannot read; here no path is read.
        return path


DIALECT = Viewkeeper()
