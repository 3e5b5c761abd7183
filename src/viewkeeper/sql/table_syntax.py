"""The words of CREATE TABLE, ALTER TABLE and DROP TABLE:

    CREATE TABLE [IF NOT EXISTS] name ( element, … ) [partitions] [limits]      the last two in either order
    element    := name type [PRIMARY KEY] [NOT NULL | NULL] [TEMPORAL]  |  PRIMARY KEY (name, …)
    partitions := PARTITIONED BY HASH | RANGE (name, …) INTO n [SPLIT AT (value | (value, …), …)]
    limits     := WITH limit [, limit] …
    limit      := CARDINALITY (name, …, n) | CARDINALITY (TOKENS(name), n)
    ALTER TABLE name ADD COLUMN name type [TEMPORAL]
    DROP TABLE [IF EXISTS] name

Words of other databases are refused by name where they would stand.
"""

from __future__ import annotations

from sqlglot import TokenType, exp

from viewkeeper.model.schema import PartitionKind
from viewkeeper.sql import type_names
from viewkeeper.sql.tree import (
    AddColumnTree,
    CardinalityTree,
    ColumnTree,
    CreateTableTree,
    DropTableTree,
    Name,
    PartitionTree,
)
from viewkeeper.sql.type_syntax import TypeSyntax

_PARTS = "Tables have columns, a primary key, partitions and cardinality limits."
_COLUMN_WORDS = {
    "DEFAULT": "Give the value in every INSERT.",
    "CHECK": "Check the value before it is written.",
    "UNIQUE": "Make it the primary key, or a table of its own with it as the primary key.",
    "REFERENCES": "Check the other table in the same transaction.",
    "COMMENT": "Write a -- comment; it is not stored.",
    "GENERATED": "Compute the value before it is written.",
    "AUTO_INCREMENT": "Give the key in every INSERT.",
    "IDENTITY": "Give the key in every INSERT.",
    "COLLATE": "Text is ordered by its UTF-8 bytes.",
    "CONSTRAINT": "Write PRIMARY KEY or NOT NULL without a name.",
}
_TABLE_WORDS = {
    "AS": "Create the table with its columns, then load the rows.",
    "LIKE": "Write the columns out.",
    "USING": "Leave it out: tables are kept in the store.",
    "STORED": "Leave it out: tables are kept in the store.",
    "LOCATION": "Leave it out: tables are kept in the store.",
    "OPTIONS": "Leave it out.",
    "TBLPROPERTIES": "Leave it out.",
    "COMMENT": "Write a -- comment; it is not stored.",
    "CLUSTERED": "Write PARTITIONED BY HASH (col, …) INTO n.",
}
_CHANGES = {
    "DROP": "Columns stay; create a new table with the columns to keep and copy the rows.",
    "RENAME": "Create a new table and copy the rows, or give the column another name with AS when it is read.",
    "ALTER": "Create a new table with the other type and copy the rows.",
    "MODIFY": "Create a new table with the other type and copy the rows.",
    "CHANGE": "Create a new table with the other type and copy the rows.",
    "SET": "Leave it out: tables have no properties.",
}


class TableSyntax(TypeSyntax):
    def _create_table(self) -> CreateTableTree:
        if_not_exists = self._match_text_seq("IF")
        if if_not_exists:
            self._words("NOT", "EXISTS")
        name = self._name("a table name")
        self._refuse_word(_TABLE_WORDS, "of CREATE TABLE")
        self._symbol(TokenType.L_PAREN, '"("')
        columns: list[ColumnTree] = []
        keys: list[tuple[Name, ...]] = []
        while True:
            if self._match(TokenType.PRIMARY_KEY):
                keys.append(self._names("a column name"))
            else:
                self._refuse_table_constraint()
                columns.append(self._column())
            if not self._match(TokenType.COMMA):
                break
        self._symbol(TokenType.R_PAREN, '"," or ")"')
        partitioning, cardinalities = self._table_clauses()
        return CreateTableTree(
            name=name,
            if_not_exists=if_not_exists,
            columns=tuple(columns),
            keys=tuple(keys),
            partitioning=partitioning,
            cardinalities=cardinalities,
        )

    def _alter_table(self) -> AddColumnTree:
        table = self._name("a table name")
        self._refuse_word(_CHANGES, "of ALTER TABLE", "A table can be given new columns, nothing else.")
        self._words("ADD")
        if self._match_text_seq("COLUMNS"):
            self._refuse(
                "ADD COLUMNS",
                self._prev,
                detail="One statement adds one column.",
                hint="Write ALTER TABLE … ADD COLUMN … for each column.",
            )
        self._words("COLUMN")
        column = self._column()
        self._end()
        return AddColumnTree(table=table, column=column)

    def _drop_table(self) -> DropTableTree:
        if_exists = self._match_text_seq("IF")
        if if_exists:
            self._words("EXISTS")
        name = self._name("a table name")
        self._end()
        return DropTableTree(name=name, if_exists=if_exists)

    def _column(self) -> ColumnTree:
        name = self._name("a column name")
        type = self._type()
        primary_key = not_null = temporal = False
        while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            if self._match(TokenType.PRIMARY_KEY):
                primary_key = True
            elif self._match_text_seq("NOT"):
                self._words("NULL")
                not_null = True
            elif self._match_text_seq("TEMPORAL"):
                temporal = True
            elif not self._match_text_seq("NULL"):
                self._refuse_word(_COLUMN_WORDS, "of a column")
                self._fail('PRIMARY KEY, NOT NULL, TEMPORAL, "," or ")"')
        return ColumnTree(name=name, type=type, primary_key=primary_key, not_null=not_null, temporal=temporal)

    def _table_clauses(self) -> tuple[PartitionTree | None, tuple[CardinalityTree, ...]]:
        partitioning: PartitionTree | None = None
        cardinalities: list[CardinalityTree] = []
        while self._curr:
            if partitioning is None and self._match(TokenType.PARTITION_BY):
                partitioning = self._partitions()
            elif not cardinalities and self._match(TokenType.WITH):
                cardinalities.append(self._cardinality())
                while self._match(TokenType.COMMA):
                    cardinalities.append(self._cardinality())
            else:
                self._refuse_word(_TABLE_WORDS, "of CREATE TABLE")
                missing = ["PARTITIONED BY"] * (partitioning is None) + ["WITH CARDINALITY"] * (not cardinalities)
                self._end(" or ".join([*missing, "the end of the statement"]))
        return partitioning, tuple(cardinalities)

    def _partitions(self) -> PartitionTree:
        start = self._prev.start
        if not self._match_texts(("HASH", "RANGE")):
            self._fail("HASH or RANGE", hint="Write PARTITIONED BY HASH (col, …) INTO n.")
        kind = PartitionKind(self._prev.text.upper())
        columns = self._names("a column name")
        self._words("INTO")
        count = self._whole_number("a number of partitions")
        splits: list[tuple[exp.Expr, ...]] = []
        if self._match_text_seq("SPLIT"):
            self._words("AT")
            self._symbol(TokenType.L_PAREN, '"("')
            splits.append(self._split())
            while self._match(TokenType.COMMA):
                splits.append(self._split())
            self._symbol(TokenType.R_PAREN, '"," or ")"')
        return PartitionTree(kind=kind, columns=columns, count=count, splits=tuple(splits), start=start)

    def _split(self) -> tuple[exp.Expr, ...]:
        value = self._value()
        return tuple(value.expressions) if isinstance(value, exp.Tuple) else (value,)

    def _cardinality(self) -> CardinalityTree:
        self._words("CARDINALITY")
        self._symbol(TokenType.L_PAREN, '"("')
        if self._next.token_type == TokenType.L_PAREN and self._match_text_seq("TOKENS"):
            return self._word_limit()
        columns = [self._name("a column name")]
        self._symbol(TokenType.COMMA, '","')
        while not self._match(TokenType.NUMBER, advance=False):
            columns.append(self._name("a column name or a number"))
            self._symbol(TokenType.COMMA, '","')
        limit = self._whole_number("a number")
        self._symbol(TokenType.R_PAREN, '")"')
        return CardinalityTree(columns=tuple(columns), limit=limit)

    def _word_limit(self) -> CardinalityTree:
        self._symbol(TokenType.L_PAREN, '"("')
        column = self._name("a column name")
        self._symbol(TokenType.R_PAREN, '")"')
        self._symbol(TokenType.COMMA, '","')
        limit = self._whole_number("a number")
        self._symbol(TokenType.R_PAREN, '")"')
        return CardinalityTree(columns=(column,), limit=limit, words=True)

    def _refuse_word(self, words: dict[str, str], where: str, detail: str = _PARTS) -> None:
        token = self._curr
        word = token.text.upper()
        if self._is_word(token) and word in words:
            self._refuse(f"{word} {where}", token, detail=detail, hint=words[word])

    def _refuse_table_constraint(self) -> None:
        """CHECK (…), UNIQUE (…), FOREIGN KEY …, CONSTRAINT name …; a column may be called `check` all the same."""
        token = self._curr
        word = " ".join(token.text.upper().split())
        followed = self._next.token_type
        if (
            word == "FOREIGN KEY"
            or (word in ("CHECK", "UNIQUE") and followed == TokenType.L_PAREN)
            or (word == "CONSTRAINT" and self._next.text.upper() not in type_names.SIMPLE)
        ):
            hint = _COLUMN_WORDS.get(word, _COLUMN_WORDS["REFERENCES"])
            self._refuse(f"{word} of a table", token, detail=_PARTS, hint=hint)
