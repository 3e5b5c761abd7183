"""CARDINALITY limits hold whatever the way a row comes in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pyarrow as pa
import pytest

from tests.store.shapes import codec_of, column, delete, encoded, fill, get, insert, put, rows, table
from viewkeeper.errors import CardinalityExceeded
from viewkeeper.model.schema import Cardinality
from viewkeeper.model.types import BIGINT, INT, STRING
from viewkeeper.store.interface import Store, WriteSet

LIMIT = 3
TAGS = table(
    "Tags",
    ("doc", "tag"),
    column("doc", BIGINT),
    column("tag", STRING),
    column("weight", INT),
    cardinalities=(Cardinality(columns=("tag",), limit=LIMIT),),
)
GRID = table(
    "Grid",
    ("a", "b", "c"),
    *(column(name, INT) for name in "abc"),
    cardinalities=(
        Cardinality(columns=("c",), limit=2),
        Cardinality(columns=("b", "c"), limit=5),
        Cardinality(columns=("a", "b", "c"), limit=12),
    ),
)

TITLES = table(
    "Titles",
    ("id",),
    column("id", BIGINT),
    column("title", STRING),
    column("price", INT),
    cardinalities=(Cardinality(columns=("title",), limit=LIMIT, words=True),),
)


class TestWords:
    @pytest.fixture
    def titles(self, store: Store) -> Store:
        store.create_table(TITLES)
        put(store, "Titles", id=1, title="The Cat and the cat", price=1)
        return store

    def test_error_names_column_row_and_limit(self, titles: Store) -> None:
        with pytest.raises(CardinalityExceeded) as raised:
            put(titles, "Titles", id=2, title="one two_three four")
        assert raised.value.message == 'column "title" of table "Titles" would hold 4 words for id=2, more than 3'
        assert raised.value.detail == "It was created with CARDINALITY (TOKENS(title), 3)."
        assert raised.value.hint

    def test_a_text_of_too_many_words_is_refused_by_every_write(self, titles: Store) -> None:
        codec = codec_of(titles, "Titles")
        head = titles.head()
        tx = titles.transaction()
        tx.put(codec, encoded(codec, 1), {0: 1, 1: "a b c d"})
        data = pa.record_batch({"id": [2, 3], "title": ["x", "a b c d"]})
        changed = pa.record_batch({"id": [1], "title": ["a b c d"]})
        writes: list[Callable[[], object]] = [
            lambda: put(titles, "Titles", id=2, title="a b c d"),
            lambda: put(titles, "Titles", id=1, title="a b c d"),
            lambda: put(titles, "Titles", id=1, title="a b c d", price=1),
            lambda: insert(titles, "Titles", id=2, title="a b c d", price=1),
            lambda: fill(titles, "Titles", [{"id": 2, "title": "x"}, {"id": 3, "title": "a b c d"}]),
            tx.commit,
            lambda: titles.load(codec, data),
            lambda: titles.load(codec, changed),
            lambda: titles.load(codec, data, rehearse=True),
        ]
        for write in writes:
            with pytest.raises(CardinalityExceeded):
                write()
        assert titles.head() == head
        assert rows(titles, "Titles") == [(1, "The Cat and the cat", 1)]

    def test_words_are_counted_once_each_whatever_their_case(self, titles: Store) -> None:
        for number, title in enumerate(["a A a, a! b B c", "", None, "!!! ... ???", "x" * 9_000, "ÉCOLE école a b"]):
            put(titles, "Titles", id=number, title=title)
        assert len(rows(titles, "Titles")) == 6

    def test_other_columns_and_other_rows_may_be_written_at_the_limit(self, titles: Store) -> None:
        put(titles, "Titles", id=1, price=2)
        put(titles, "Titles", id=2, title="a b c")
        delete(titles, "Titles", 1)
        assert rows(titles, "Titles") == [(2, "a b c", None)]

    def test_it_stands_beside_limits_of_the_key(self, store: Store) -> None:
        limits = (Cardinality(columns=("b",), limit=1, words=True), Cardinality(columns=("b",), limit=2))
        store.create_table(table("Both", ("a", "b"), column("a", INT), column("b", STRING), cardinalities=limits))
        put(store, "Both", a=1, b="x")
        put(store, "Both", a=1, b="y")
        with pytest.raises(CardinalityExceeded, match="3 values of b for a=1"):
            put(store, "Both", a=1, b="z")
        with pytest.raises(CardinalityExceeded, match="2 words for a=2, b='x y'"):
            put(store, "Both", a=2, b="x y")


class TestCardinality:
    @pytest.fixture
    def full(self, store: Store) -> Store:
        """Document 1 has as many tags as it may."""
        store.create_table(TAGS)
        for tag in "abc":
            put(store, "Tags", doc=1, tag=tag)
        return store

    def test_error_names_limit_group_and_remedy(self, full: Store) -> None:
        with pytest.raises(CardinalityExceeded) as raised:
            put(full, "Tags", doc=1, tag="d")
        assert raised.value.message == 'table "Tags" would hold 4 values of tag for doc=1, more than 3'
        assert raised.value.detail == "It was created with CARDINALITY (tag, 3)."
        assert raised.value.hint

    def test_row_beyond_the_limit_is_refused_by_every_write(self, full: Store) -> None:
        codec = codec_of(full, "Tags")
        head = full.head()
        tx = full.transaction()
        tx.put(codec, encoded(codec, 2, "x"), {0: 2, 1: "x"})
        tx.put(codec, encoded(codec, 1, "d"), {0: 1, 1: "d"})
        data = pa.record_batch({"doc": [2, 1], "tag": ["x", "d"]})
        writes: list[Callable[[], object]] = [
            lambda: put(full, "Tags", doc=1, tag="d"),
            lambda: put(full, "Tags", doc=1, tag="d", weight=1),
            lambda: insert(full, "Tags", doc=1, tag="d"),
            lambda: fill(full, "Tags", [{"doc": 2, "tag": "x"}, {"doc": 1, "tag": "d"}]),
            tx.commit,
            lambda: full.load(codec, data),
            lambda: full.load(codec, data, rehearse=True),
        ]
        for write in writes:
            with pytest.raises(CardinalityExceeded):
                write()
        assert full.head() == head
        assert [row[:2] for row in rows(full, "Tags")] == [(1, "a"), (1, "b"), (1, "c")]

    def test_rows_that_are_there_can_be_changed_at_the_limit(self, full: Store) -> None:
        put(full, "Tags", doc=1, tag="a", weight=5)
        fill(full, "Tags", [{"doc": 1, "tag": tag, "weight": 6} for tag in "abc"])
        data = pa.record_batch({"doc": [1], "tag": ["b"], "weight": pa.array([7], pa.int32())})
        full.load(codec_of(full, "Tags"), data)
        assert get(full, "Tags", 1, "b") == (1, "b", 7)

    def test_other_groups_have_room(self, full: Store) -> None:
        fill(full, "Tags", [{"doc": doc, "tag": tag} for doc in range(2, 50) for tag in "xyz"])
        with pytest.raises(CardinalityExceeded, match="doc=49"):
            put(full, "Tags", doc=49, tag="w")

    def test_delete_makes_room_at_once(self, full: Store) -> None:
        delete(full, "Tags", 1, "b")
        put(full, "Tags", doc=1, tag="d")
        with pytest.raises(CardinalityExceeded):
            put(full, "Tags", doc=1, tag="b")

    def test_delete_of_what_is_absent_makes_no_room(self, full: Store) -> None:
        delete(full, "Tags", 1, "zzz")
        with pytest.raises(CardinalityExceeded):
            put(full, "Tags", doc=1, tag="d")

    def test_refused_write_takes_no_room(self, full: Store) -> None:
        delete(full, "Tags", 1, "c")
        for _ in range(3):
            with pytest.raises(CardinalityExceeded, match="5 values"):
                fill(full, "Tags", [{"doc": 1, "tag": tag} for tag in "xyz"])
        put(full, "Tags", doc=1, tag="z")

    def test_row_in_and_out_again_and_again_keeps_the_count(self, full: Store) -> None:
        for _ in range(20):
            delete(full, "Tags", 1, "c")
            put(full, "Tags", doc=1, tag="c")
        with pytest.raises(CardinalityExceeded, match="4 values"):
            put(full, "Tags", doc=1, tag="d")

    def test_transaction_counts_only_its_outcome(self, full: Store) -> None:
        codec = codec_of(full, "Tags")
        tx = full.transaction()
        for tag in "defgh":
            tx.put(codec, encoded(codec, 1, tag), {0: 1, 1: tag})
        for tag in "abcde":
            tx.remove(codec, encoded(codec, 1, tag))
        tx.commit()
        assert [row[1] for row in rows(full, "Tags")] == ["f", "g", "h"]
        with pytest.raises(CardinalityExceeded):
            put(full, "Tags", doc=1, tag="a")

    def test_load_counts_within_its_batch(self, store: Store) -> None:
        store.create_table(TAGS)
        codec = codec_of(store, "Tags")
        store.load(codec, pa.record_batch({"doc": [1, 1, 2, 1], "tag": ["a", "b", "a", "c"]}))
        with pytest.raises(CardinalityExceeded, match="doc=1"):
            store.load(codec, pa.record_batch({"doc": [3, 1], "tag": ["a", "d"]}))
        with pytest.raises(CardinalityExceeded, match="doc=3"):
            store.load(codec, pa.record_batch({"doc": [3] * 4, "tag": list("abcd")}))
        store.load(codec, pa.record_batch({"doc": [3] * 4, "tag": list("abca")}))
        assert store.row_count(codec) == 7

    def test_limit_on_the_whole_key_bounds_the_table(self, store: Store) -> None:
        store.create_table(
            table("Few", ("id",), column("id", BIGINT), cardinalities=(Cardinality(columns=("id",), limit=2),))
        )
        put(store, "Few", id=1)
        put(store, "Few", id=2)
        with pytest.raises(CardinalityExceeded, match="would hold 3 values of id, more than 2"):
            put(store, "Few", id=3)

    def test_groups_with_long_keys_are_told_apart(self, store: Store) -> None:
        made = table(
            "Paths",
            ("path", "n"),
            column("path", STRING),
            column("n", INT),
            cardinalities=(Cardinality(columns=("n",), limit=1),),
        )
        store.create_table(made)
        for tail in ("", "a", "b"):
            for size in (400, 480, 600, 5_000):
                put(store, "Paths", path="p" * size + tail, n=1)
                with pytest.raises(CardinalityExceeded):
                    put(store, "Paths", path="p" * size + tail, n=2)

    @pytest.mark.parametrize("seed", range(4))
    def test_several_limits_hold_after_any_sequence(self, store: Store, seed: int) -> None:
        """Every refusal is one that counting the rows would give, and every other write goes through."""
        store.create_table(GRID)
        codec = codec_of(store, "Grid")
        random = Random(seed)
        model: set[tuple[int, ...]] = set()
        refused = 0
        for _ in range(250):
            size = random.choice([1, 1, 4])
            step = [(random.random() < 0.65, tuple(random.randrange(3) for _ in "abc")) for _ in range(size)]
            wanted = set(model)
            writes = WriteSet()
            for comes, key in step:
                if comes:
                    wanted.add(key)
                    writes.put(codec, encoded(codec, *key), dict(enumerate(key)))
                else:
                    wanted.discard(key)
                    writes.remove(codec, encoded(codec, *key))
            if breaks_a_limit(model, wanted):
                refused += 1
                with pytest.raises(CardinalityExceeded):
                    store.commit(writes)
            else:
                store.commit(writes)
                model = wanted
            assert rows(store, "Grid") == sorted(model)
        assert refused > 10


def breaks_a_limit(old: set[tuple[int, ...]], new: set[tuple[int, ...]]) -> bool:
    """Whether a group that grew is above its limit."""
    for limit, group in ((2, lambda k: k[:2]), (5, lambda k: k[:1]), (12, lambda k: ())):
        before, after = Counter(map(group, old)), Counter(map(group, new))
        if any(count > limit and count > before[key] for key, count in after.items()):
            return True
    return False
