"""The words of CREATE JOIN INDEX:

CREATE [OR REPLACE] JOIN INDEX [IF NOT EXISTS] name ON side, side, … [MAINTAIN mode]
side := source (name, …) [INCLUDE (name, …)]
"""

from __future__ import annotations

from sqlglot import TokenType

from viewkeeper.sql.maintain import DEFERRED
from viewkeeper.sql.tree import CreateJoinIndexTree, JoinSideTree
from viewkeeper.sql.view_syntax import ViewSyntax


class JoinIndexSyntax(ViewSyntax):
    def _create_join_index(self) -> CreateJoinIndexTree:
        return self._join_index(or_replace=False)

    def _replace_join_index(self) -> CreateJoinIndexTree:
        return self._join_index(or_replace=True)

    def _join_index(self, *, or_replace: bool) -> CreateJoinIndexTree:
        if_not_exists = self._if_not_exists(or_replace)
        name = self._name("an index name")
        self._words("ON")
        sides = [self._side()]
        while self._match(TokenType.COMMA):
            sides.append(self._side())
        last = self._prev.end
        maintain = self._mode() if self._match_text_seq("MAINTAIN") else DEFERRED
        self._refuse_word_of_view("CREATE JOIN INDEX")
        more = last == self._prev.end
        include = ["INCLUDE"] * (more and sides[-1].include is None)
        expected = [*include, *['","', "MAINTAIN"] * more, "the end of the statement"]
        self._end(", ".join(expected))
        return CreateJoinIndexTree(
            name=name, or_replace=or_replace, if_not_exists=if_not_exists, sides=tuple(sides), maintain=maintain
        )

    def _side(self) -> JoinSideTree:
        source = self._name("a table or view name")
        columns = self._names("a column name")
        include = self._names("a column name") if self._match_text_seq("INCLUDE") else None
        return JoinSideTree(source=source, columns=columns, include=include)
