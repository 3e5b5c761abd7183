"""Views, indexes and join indexes: statements and errors call each by its kind, and by its name as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper.errors import TableExists, UnknownColumn, UnknownTable, Unsupported, ViewkeeperError, ViewsDepend

MADE = {
    "view": 'VIEW "{}" AS SELECT id, k FROM A',
    "index": 'INDEX "{}" ON A (k)',
    "join index": 'JOIN INDEX "{}" ON A (k), B (k)',
}
WORD = {"view": "VIEW", "index": "INDEX", "join index": "INDEX"}
KINDS = list(MADE)
A = {"view": "a view", "index": "an index", "join index": "a join index"}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        for table in "AB":
            db.execute(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, k BIGINT)")
        yield db


def create(db: vk.Database, kind: str, name: str = "my j") -> None:
    db.execute(f"CREATE {MADE[kind].format(name)}")


def kind_of(db: vk.Database, name: str = "my j") -> str:
    return db._shared.catalog().known_view(name).kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_drop_that_others_stand_in_the_way_of_says_which_statement_takes_them_along(
    db: vk.Database, kind: str
) -> None:
    create(db, kind)
    db.execute('CREATE VIEW Above AS SELECT k FROM "my j"')
    db.execute('CREATE INDEX ByK ON "my j" (k)')
    db.execute("CREATE VIEW Higher AS SELECT k FROM Above")
    with pytest.raises(ViewsDepend) as refused:
        db.execute(f'DROP {WORD[kind]} "my j"')
    assert refused.value.message == f'{kind} "my j" is read by views Above, Higher and index ByK'
    assert refused.value.hint == f'Drop them first, or write DROP {WORD[kind]} "my j" CASCADE.'
    db.execute(f'DROP {WORD[kind]} "my j" CASCADE')
    assert db.views() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_is_read_says_by_what(db: vk.Database, kind: str) -> None:
    create(db, kind)
    with pytest.raises(ViewsDepend) as refused:
        db.execute("DROP TABLE A")
    assert refused.value.message == f'table "A" is read by {kind} my j'
    assert refused.value.hint == f"Drop them first, with DROP {WORD[kind]}."


@pytest.mark.parametrize("kind", KINDS)
def test_a_statement_for_another_kind_says_the_right_one(db: vk.Database, kind: str) -> None:
    create(db, kind)
    word = "VIEW" if WORD[kind] == "INDEX" else "INDEX"
    other = A[word.lower()]
    with pytest.raises(UnknownTable) as refused:
        db.execute(f'DROP {word} "my j"')
    assert refused.value.message == f'"my j" is {A[kind]}, not {other}'
    assert refused.value.hint == f'Write DROP {WORD[kind]} "my j".'
    with pytest.raises(UnknownTable) as refused:
        db.execute(f'DROP {word} IF EXISTS "my j" CASCADE')
    assert refused.value.hint == f'Write DROP {WORD[kind]} "my j" CASCADE.'
    with pytest.raises(UnknownTable) as refused:
        db.execute(f'ALTER {word} "my j" SET MAINTAIN DEFERRED')
    instead = refused.value.hint.removeprefix("Write ").removesuffix(".")
    assert instead == f'ALTER {WORD[kind]} "my j" SET MAINTAIN DEFERRED'
    db.execute(instead)


def test_a_table_is_not_dropped_as_a_view(db: vk.Database) -> None:
    db.execute('CREATE TABLE "my t" (id BIGINT PRIMARY KEY)')
    with pytest.raises(UnknownTable) as refused:
        db.execute('DROP INDEX "my t"')
    assert (refused.value.message, refused.value.hint) == (
        '"my t" is a table, not an index',
        'Write DROP TABLE "my t".',
    )


@pytest.mark.parametrize("made", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_only_the_same_kind_is_replaced(db: vk.Database, kind: str, made: str) -> None:
    create(db, made)
    text = f"CREATE OR REPLACE {MADE[kind].format('MY J')}"
    if kind == made:
        db.execute(text)
        assert [view.name for view in db._shared.catalog().views.values()] == ["MY J"]
        return
    with pytest.raises(TableExists) as refused:
        db.execute(text)
    assert refused.value.message == f'"my j" is {A[made]}, not {A[kind]}'
    instead = f'DROP {WORD[made]} "my j"'
    assert refused.value.hint == f"Write {instead} first, or choose another name."
    assert kind_of(db) == made
    db.execute(instead)
    db.execute(text)
    assert kind_of(db) == kind


@pytest.mark.parametrize("made", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_is_taken_says_by_what(db: vk.Database, kind: str, made: str) -> None:
    create(db, made)
    with pytest.raises(TableExists) as refused:
        create(db, kind)
    if kind == made:
        assert refused.value.message == f'{kind} "my j" exists already'
        assert "OR REPLACE" in refused.value.hint
    else:
        assert refused.value.message == f'there is {A[made]} with the name "my j"'
        assert "OR REPLACE" not in refused.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_other_statements_name_the_kind(db: vk.Database, kind: str) -> None:
    create(db, kind)

    def message(text: str, error: type[ViewkeeperError]) -> str:
        with pytest.raises(error) as refused:
            db.execute(text)
        return str(refused.value)

    unknown = message('SELECT nothing FROM "my j"', UnknownColumn)
    assert unknown.startswith('column "nothing" is not in "my j", at line 1, column 8\n  detail: The columns are ')
    assert message('CREATE TABLE "my j" (id BIGINT PRIMARY KEY)', TableExists).startswith(f"there is {A[kind]} with")
    assert message('DROP TABLE "my j"', UnknownTable).startswith(f'"my j" is {A[kind]}, not a table')
    over = {
        "view": 'VIEW other MAINTAIN SYNC AS SELECT k FROM "my j"',
        "index": 'INDEX other ON "my j" (k) MAINTAIN SYNC',
        "join index": 'JOIN INDEX other ON "my j" (k), B (k) MAINTAIN SYNC',
    }
    refused = message(f"CREATE {over[kind]}", Unsupported)
    assert f'{kind} "other" cannot be SYNC over {kind} "my j", which is DEFERRED' in refused
