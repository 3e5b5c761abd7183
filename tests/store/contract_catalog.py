"""Definitions made through one handle, in this process or another, bind every other one at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.store.harness import Harness
from tests.store.shapes import ITEMS, TAGS, codec_of, column, encoded, fill, get, put, rows, scan, table
from viewkeeper.errors import Conflict, TableExists, UnknownColumn, UnknownTable
from viewkeeper.model.schema import Cardinality
from viewkeeper.model.types import INT, STRING
from viewkeeper.store.interface import ALL, Store


def add_price(store: Store) -> None:
    store.add_column("Items", column("price", INT))
    put(store, "Items", id=1, price=5)


def drop_items(store: Store) -> None:
    store.drop_table("Items")


def make_items_again(store: Store) -> None:
    store.drop_table("Items")
    store.create_table(table("Items", ("code",), column("code", STRING), column("stock", INT)))
    put(store, "Items", code="x", stock=1)


def make_limited_tags(store: Store) -> None:
    store.create_table(
        table(
            "Tags",
            ("doc", "tag"),
            *TAGS.columns,
            cardinalities=(Cardinality(columns=("tag",), limit=1),),
        )
    )
    put(store, "Tags", doc=1, tag="a")


def make_many(store: Store) -> None:
    for number in range(30):
        store.create_table(table(f"t{number}", ("id",), column("id", STRING)))
        put(store, f"t{number}", id=f"{number}")


def set_option(store: Store) -> None:
    store.set_option("scale_independence", "strict")


def set_cap(store: Store) -> None:
    store.configure(statement_rows=17)


def write_and_read(store: Store) -> None:
    """Ends well only if it sees what the first process has committed."""
    assert rows(store, "Items") == [(1, "a", 1)]
    put(store, "Items", id=2, name="there")


def act_elsewhere(harness: Harness, folder: Path, action: Callable[[Store], None]) -> None:
    """Run one of the actions above in a process of its own, to its end."""
    code = "import sys; from tests.store.contract_catalog import act_here; act_here(*sys.argv[1:])"
    paths = os.pathsep.join(path or "." for path in sys.path)
    subprocess.run(
        [sys.executable, "-c", code, harness.name, str(folder), action.__name__],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": paths},
        cwd=Path(__file__).parents[2],
    )


def act_here(harness: str, folder: str, action: str) -> None:
    module, _, attribute = harness.partition(":")
    opener: Harness = getattr(import_module(module), attribute)
    store = opener.open(Path(folder))
    globals()[action](store)
    opener.close(store)


class DefinitionsBind:
    """What `act` does to the folder is seen by `store` in its next read or write."""

    @pytest.fixture
    def act(self) -> Callable[[Callable[[Store], None]], None]:
        raise NotImplementedError

    @pytest.fixture
    def items(self, store: Store) -> Store:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="a", stock=1)
        return store

    def test_added_column_can_be_read_and_written(self, items: Store, act: Callable[..., None]) -> None:
        act(add_price)
        assert get(items, "Items", 1) == (1, "a", 1, 5)
        put(items, "Items", id=1, price=6)
        assert rows(items, "Items") == [(1, "a", 1, 6)]

    def test_added_column_makes_older_writes_conflict(self, items: Store, act: Callable[..., None]) -> None:
        codec = codec_of(items, "Items")
        tx = items.transaction()
        tx.put(codec, encoded(codec, 1), {0: 1, 1: "b", 2: 2})
        act(add_price)
        with pytest.raises(Conflict):
            tx.commit()
        with pytest.raises(Conflict):
            items.put(codec, {0: 1, 1: "b", 2: 2})
        assert get(items, "Items", 1) == (1, "a", 1, 5)

    def test_write_that_looks_at_nothing_before_obeys(self, items: Store, act: Callable[..., None]) -> None:
        codec = codec_of(items, "Items")
        act(add_price)
        with pytest.raises(Conflict):
            items.put(codec, {0: 1, 1: "b", 2: 2})
        codec = codec_of(items, "Items")
        act(drop_items)
        with pytest.raises(UnknownTable):
            items.put(codec, {0: 1, 1: "b", 2: 2, 3: 3})

    def test_definition_right_behind_another_obeys(self, items: Store, act: Callable[..., None]) -> None:
        act(make_many)
        with pytest.raises(TableExists):
            items.create_table(table("T7", ("id",), column("id", INT)))
        created = items.create_table(table("Mine", ("id",), column("id", INT)))
        assert created.id > max(number for number in items.catalog().tables if number != created.id)
        assert rows(items, "t29") == [("29",)]
        assert rows(items, "Mine") == []

    def test_dropped_table_is_unknown(self, items: Store, act: Callable[..., None]) -> None:
        codec = codec_of(items, "Items")
        snapshot = items.snapshot()
        tx = items.transaction()
        tx.put(codec, encoded(codec, 2), {0: 2})
        act(drop_items)
        for use in (
            lambda: get(items, "Items", 1),
            lambda: put(items, "Items", id=3),
            lambda: items.put(codec, {0: 3}),
            lambda: scan(snapshot, codec),
            tx.commit,
        ):
            with pytest.raises(UnknownTable):
                use()

    def test_open_scan_of_a_dropped_table_ends_with_an_error(self, items: Store, act: Callable[..., None]) -> None:
        fill(items, "Items", [{"id": number} for number in range(1_000)])
        codec = codec_of(items, "Items")
        chunks = items.snapshot().scan(codec, ALL)
        next(chunks)
        act(make_items_again)
        with pytest.raises(UnknownTable):
            list(chunks)

    def test_table_made_again_has_its_own_key_and_rows(self, items: Store, act: Callable[..., None]) -> None:
        old = codec_of(items, "Items")
        act(make_items_again)
        assert get(items, "Items", "x") == ("x", 1)
        put(items, "Items", code="y")
        assert rows(items, "Items") == [("x", 1), ("y", None)]
        with pytest.raises(UnknownTable):
            items.put(old, {0: 9, 1: "old", 2: 0})
        with pytest.raises(UnknownColumn):
            put(items, "Items", code="z", name="gone")

    def test_new_table_binds_with_its_limits(self, items: Store, act: Callable[..., None]) -> None:
        act(make_limited_tags)
        assert rows(items, "Tags") == [(1, "a", None)]
        put(items, "Tags", doc=2, tag="a")
        with pytest.raises(Exception, match="more than 1"):
            put(items, "Tags", doc=1, tag="b")

    def test_many_new_tables_are_found(self, items: Store, act: Callable[..., None]) -> None:
        act(make_many)
        assert [rows(items, f"t{number}") for number in range(30)] == [[(f"{number}",)] for number in range(30)]

    def test_settings_bind(self, items: Store, act: Callable[..., None]) -> None:
        act(set_cap)
        assert items.configure().statement_rows == 17
        assert items.catalog().settings.statement_rows == 17

    def test_options_bind(self, items: Store, act: Callable[..., None]) -> None:
        assert items.catalog().options == {}
        act(set_option)
        assert items.catalog().options == {"scale_independence": "strict"}
        items.set_option("other", "x")
        items.set_option("scale_independence", "warn")
        assert items.catalog().options == {"scale_independence": "warn", "other": "x"}

    def test_rows_go_both_ways(self, items: Store, act: Callable[..., None]) -> None:
        before = items.head()
        act(write_and_read)
        assert rows(items, "Items") == [(1, "a", 1), (2, "there", None)]
        assert rows(items, "Items", before) == [(1, "a", 1)]
        assert [block.start for block in items.blocks(before)] == [1]
        codec = codec_of(items, "Items")
        tx = items.transaction()
        assert tx.get(codec, encoded(codec, 2)) == (2, "there", None)
        tx.put(codec, encoded(codec, 3), {0: 3})
        tx.commit()

    def test_transaction_conflicts_with_a_write_elsewhere(self, items: Store, act: Callable[..., None]) -> None:
        codec = codec_of(items, "Items")
        tx = items.transaction()
        assert tx.get(codec, encoded(codec, 2)) is None
        tx.put(codec, encoded(codec, 3), {0: 3})
        act(write_and_read)
        with pytest.raises(Conflict):
            tx.commit()


class TestSeveralHandles(DefinitionsBind):
    """A second handle in this process."""

    @pytest.fixture
    def act(self, harness: Harness, folder: Path, store: Store) -> Iterator[Callable[[Callable[[Store], None]], None]]:
        other = harness.open(folder)
        other.catalog()
        yield lambda action: action(other)
        harness.close(other)


class TestSeveralProcesses(DefinitionsBind):
    """A process of its own for each action."""

    @pytest.fixture
    def act(self, harness: Harness, folder: Path, store: Store) -> Callable[[Callable[[Store], None]], None]:
        return lambda action: act_elsewhere(harness, folder, action)
