"""Validation at commit: a transaction goes through only if what it read is still so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.store.shapes import (
    ITEMS,
    TAGS,
    beginning,
    between,
    codec_of,
    column,
    delete,
    encoded,
    fill,
    get,
    put,
    rows,
    scan,
)
from viewkeeper.errors import Conflict, TransactionOver, ViewkeeperError
from viewkeeper.model.types import INT
from viewkeeper.store.interface import ALL, Store, StoreTransaction


def begin(store: Store) -> StoreTransaction:
    """A transaction that has something to write, to a key that nobody else touches."""
    codec = codec_of(store, "Items")
    tx = store.transaction()
    tx.put(codec, encoded(codec, 1_000), {0: 1_000})
    return tx


def refused(store: Store, tx: StoreTransaction) -> None:
    with pytest.raises(Conflict) as raised:
        tx.commit()
    assert raised.value.code == "transaction.conflict"
    assert get(store, "Items", 1_000) is None


def accepted(store: Store, tx: StoreTransaction) -> None:
    tx.commit()
    assert get(store, "Items", 1_000) == (1_000, None, None)


class TestConflicts:
    @pytest.fixture
    def items(self, store: Store) -> Store:
        """Items 0, 10, … 90."""
        store.create_table(ITEMS)
        fill(store, "Items", [{"id": number, "stock": number} for number in range(0, 100, 10)])
        return store

    @pytest.mark.parametrize(
        "write",
        [
            lambda store: put(store, "Items", id=50, stock=-1),
            lambda store: delete(store, "Items", 50),
            lambda store: (delete(store, "Items", 50), put(store, "Items", id=50, stock=1)),
        ],
        ids=["changed", "deleted", "replaced"],
    )
    def test_row_that_was_read_may_not_change(self, items: Store, write: Callable[[Store], object]) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        assert tx.get(codec, encoded(codec, 50)) == (50, None, 50)
        write(items)
        refused(items, tx)

    def test_row_that_was_not_there_may_not_come(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        assert tx.get(codec, encoded(codec, 55)) is None
        put(items, "Items", id=55)
        refused(items, tx)

    @pytest.mark.parametrize("other", [45, 50, 54])
    def test_range_that_was_scanned_may_not_change(self, items: Store, other: int) -> None:
        """45 and 54 are phantoms: no row was there to be read."""
        codec = codec_of(items, "Items")
        tx = begin(items)
        assert len(scan(tx, codec, between(codec, 45, 55))) == 1
        put(items, "Items", id=other, stock=-1)
        refused(items, tx)

    def test_empty_range_that_was_scanned_may_not_fill(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        assert scan(tx, codec, between(codec, 51, 59)) == []
        put(items, "Items", id=58)
        refused(items, tx)

    @pytest.mark.parametrize("other", [44, 55, 60])
    def test_changes_outside_what_was_read_do_no_harm(self, items: Store, other: int) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        scan(tx, codec, between(codec, 45, 55))
        tx.get(codec, encoded(codec, 70))
        put(items, "Items", id=other, stock=-1)
        accepted(items, tx)

    @pytest.mark.parametrize(("reverse", "inside", "outside"), [(False, 15, 21), (True, 85, 65)])
    def test_scan_with_a_limit_has_read_as_far_as_its_last_row(
        self, items: Store, reverse: bool, inside: int, outside: int
    ) -> None:
        codec = codec_of(items, "Items")
        for other, check in ((inside, refused), (outside, accepted)):
            tx = items.transaction()
            found = scan(tx, codec, between(codec, None, 100), limit=3, reverse=reverse)
            assert [row[0] for row in found] == ([90, 80, 70] if reverse else [0, 10, 20])
            tx.put(codec, encoded(codec, 1_000), {0: 1_000})
            put(items, "Items", id=other)
            check(items, tx)
            delete(items, "Items", other)
            delete(items, "Items", 1_000)

    def test_scan_that_ended_before_its_limit_has_read_to_the_end(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        assert len(scan(tx, codec, between(codec, 75, 500), limit=10)) == 2
        put(items, "Items", id=400)
        refused(items, tx)

    def test_blind_writes_never_conflict(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        key = encoded(codec, 50)
        merging, replacing, removing = (items.transaction() for _ in range(3))
        merging.put(codec, key, {0: 50, 1: "merged"})
        replacing.put(codec, key, {0: 50, 1: "whole", 2: 0})
        removing.remove(codec, key)
        put(items, "Items", id=50, stock=51)
        merging.commit()
        assert get(items, "Items", 50) == (50, "merged", 51)
        replacing.commit()
        assert get(items, "Items", 50) == (50, "whole", 0)
        removing.commit()
        assert get(items, "Items", 50) is None

    def test_own_whole_row_read_back_is_no_read_of_the_store(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        tx.put(codec, encoded(codec, 50), {0: 50, 1: "mine", 2: 1})
        assert tx.get(codec, encoded(codec, 50)) == (50, "mine", 1)
        tx.remove(codec, encoded(codec, 60))
        assert tx.get(codec, encoded(codec, 60)) is None
        put(items, "Items", id=50, stock=9)
        put(items, "Items", id=60, stock=9)
        accepted(items, tx)

    def test_own_partial_row_read_back_is_a_read_of_the_rest(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        tx.put(codec, encoded(codec, 50), {0: 50, 1: "mine"})
        assert tx.get(codec, encoded(codec, 50)) == (50, "mine", 50)
        put(items, "Items", id=50, stock=9)
        refused(items, tx)

    def test_insert_reads_that_its_key_is_free(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        tx.insert(codec, encoded(codec, 55), {0: 55, 1: "mine"})
        put(items, "Items", id=55, name="theirs")
        refused(items, tx)
        assert get(items, "Items", 55) == (55, "theirs", None)

    def test_write_skew_is_prevented(self, items: Store) -> None:
        """Each reads both rows and empties the other one: in no order do both go through."""
        codec = codec_of(items, "Items")
        first, second = items.transaction(), items.transaction()
        for tx in (first, second):
            assert [row[2] for row in scan(tx, codec, between(codec, 10, 30))] == [10, 20]
        first.put(codec, encoded(codec, 10), {0: 10, 2: 0})
        second.put(codec, encoded(codec, 20), {0: 20, 2: 0})
        first.commit()
        with pytest.raises(Conflict):
            second.commit()
        assert [row[2] for row in rows(items, "Items")[1:3]] == [0, 20]

    def test_changes_that_change_nothing_do_no_harm(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        tx.get(codec, encoded(codec, 50))
        put(items, "Items", id=50, stock=50)
        delete(items, "Items", 55)
        accepted(items, tx)

    def test_other_tables_do_no_harm(self, items: Store) -> None:
        items.create_table(TAGS)
        codec = codec_of(items, "Items")
        tx = begin(items)
        scan(tx, codec, between(codec, None, 100))
        fill(items, "Tags", [{"doc": 50, "tag": f"{number}"} for number in range(100)])
        accepted(items, tx)

    def test_read_of_a_second_table_counts(self, items: Store) -> None:
        items.create_table(TAGS)
        tags = codec_of(items, "Tags")
        tx = begin(items)
        assert scan(tx, tags, beginning(tags, 1)) == []
        put(items, "Tags", doc=1, tag="new")
        refused(items, tx)

    def test_load_of_many_rows_is_a_change_too(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        assert tx.get(codec, encoded(codec, 5)) is None
        fill(items, "Items", [{"id": number} for number in range(500)])
        refused(items, tx)

    def test_refused_transaction_is_over_but_not_committed(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = begin(items)
        tx.get(codec, encoded(codec, 50))
        delete(items, "Items", 50)
        refused(items, tx)
        assert tx.is_over
        with pytest.raises(TransactionOver) as raised:
            tx.get(codec, encoded(codec, 50))
        assert "is committed" not in raised.value.message

    def test_column_added_meanwhile_is_a_conflict_and_wipes_nothing(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = items.transaction()
        tx.put(codec, encoded(codec, 50), {0: 50, 1: "whole", 2: 1})
        items.add_column("Items", column("price", INT))
        put(items, "Items", id=50, price=9)
        newer = codec_of(items, "Items")
        with pytest.raises(Conflict, match="columns"):
            # What goes on after the DDL speaks of the table as it is now.
            tx.get(newer, encoded(newer, 60))
            tx.commit()
        assert get(items, "Items", 50) == (50, None, 50, 9)

    def test_put_of_an_added_column_over_an_own_row_is_a_conflict(self, items: Store) -> None:
        codec = codec_of(items, "Items")
        tx = items.transaction()
        tx.put(codec, encoded(codec, 50), {0: 50, 1: "whole", 2: 1})
        items.add_column("Items", column("price", INT))
        newer = codec_of(items, "Items")
        with pytest.raises(Conflict, match="columns"):
            tx.put(newer, encoded(newer, 50), {0: 50, 3: 9})
            tx.commit()
        assert get(items, "Items", 50) == (50, None, 50, None)

    def test_column_added_to_a_table_that_was_only_read_loses_nothing(self, items: Store) -> None:
        """The changes since are in the new shape; validation has to understand them all the same."""
        items.create_table(TAGS)
        codec, tags = codec_of(items, "Items"), codec_of(items, "Tags")
        tx = items.transaction()
        tx.get(codec, encoded(codec, 450))
        tx.put(tags, encoded(tags, 1, "a"), {0: 1, 1: "a"})
        items.add_column("Items", column("price", INT))
        fill(items, "Items", [{"id": number, "price": number} for number in range(400, 500)])
        with pytest.raises(Conflict):
            tx.commit()
        assert rows(items, "Tags") == []

    def test_dropped_table_that_was_read_ends_the_transaction(self, items: Store) -> None:
        items.create_table(TAGS)
        codec, tags = codec_of(items, "Items"), codec_of(items, "Tags")
        tx = items.transaction()
        list(tx.scan(codec, ALL))
        tx.put(tags, encoded(tags, 1, "a"), {0: 1, 1: "a"})
        items.drop_table("Items")
        with pytest.raises(ViewkeeperError):
            tx.commit()
        assert rows(items, "Tags") == []
