"""Keys longer than a store may be able to keep whole: they are ordered and found like any other."""

from __future__ import annotations

from random import Random

import pytest

from tests.store.shapes import WORDS, codec_of, column, delete, encoded, fill, get, put, rows, scan, table
from viewkeeper.errors import KeyTooLong
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Table
from viewkeeper.model.types import BIGINT, BINARY, STRING, Cell, Row, Type, decimal
from viewkeeper.store.interface import Interval, Store, WriteSet

# Around the length at which the embedded store begins to digest keys: 495 bytes with tag and terminator.
EDGE = [490, 491, 492, 493, 494, 495, 496, 511, 512, 600]
LONGEST = 32 << 10


def a_mixture() -> list[str]:
    """Words that are prefixes of one another across the edge, runs that share 495 bytes and more, and short ones."""
    words = {"", "a", "b", "x" * 10, "zz"}
    words |= {"x" * size for size in EDGE}
    words |= {"x" * size + end for size in EDGE for end in ("\0", "a", "ab", "é", "x\0", "y")}
    words |= {"x" * 500 + f"/{number:03d}" for number in range(150)}
    words |= {"y" * 494 + f"{number}" for number in range(40)}
    words |= {"y" * 700 + tail for tail in ("", "a", "\0", "\0\0")}
    return sorted(words)


def fill_words(store: Store, words: list[str]) -> list[Row]:
    """Written in random order; their rows in key order."""
    store.create_table(WORDS)
    for word in Random(3).sample(words, len(words)):
        put(store, "Words", word=word, count=len(word))
    return [(word, len(word)) for word in sorted(words, key=str.encode)]


class TestLongKeys:
    def test_each_row_is_found_by_its_key(self, store: Store) -> None:
        words = a_mixture()
        fill_words(store, words)
        assert [get(store, "Words", word) for word in words] == [(word, len(word)) for word in words]
        assert get(store, "Words", "x" * 500) is None
        assert get(store, "Words", "x" * 500 + "/1") is None
        codec = codec_of(store, "Words")
        keys = [encoded(codec, word) for word in words]
        assert store.snapshot().get_many(codec, keys) == [(word, len(word)) for word in words]

    def test_scans_are_in_key_order_both_ways(self, store: Store) -> None:
        expected = fill_words(store, a_mixture())
        codec = codec_of(store, "Words")
        assert scan(store.snapshot(), codec) == expected
        assert scan(store.snapshot(), codec, reverse=True) == expected[::-1]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_bounds_may_lie_inside_a_run(self, store: Store, reverse: bool) -> None:
        expected = fill_words(store, a_mixture())
        codec = codec_of(store, "Words")
        snapshot = store.snapshot()
        marks = [encoded(codec, word) for word, _ in expected]
        marks += [mark + b"\0" for mark in marks] + [mark[:-1] for mark in marks] + [mark[:495] for mark in marks]
        random = Random(11)
        for _ in range(300):
            lower, upper = random.choice([b"", *marks]), random.choice([None, *marks])
            limit = random.choice([None, 1, 3, 64, 65, 150])
            wanted = [found for found in expected if encoded(codec, found[0]) in Interval(lower, upper)]
            ordered = wanted[::-1] if reverse else wanted
            assert scan(snapshot, codec, Interval(lower, upper), limit=limit, reverse=reverse) == ordered[:limit]

    def test_rows_of_a_run_can_be_changed_and_removed_one_by_one(self, store: Store) -> None:
        expected = fill_words(store, ["x" * 500 + f"/{number}" for number in range(20)])
        delete(store, "Words", expected[3][0])
        put(store, "Words", word=expected[4][0], count=-4)
        expected[4] = (expected[4][0], -4)
        del expected[3]
        assert rows(store, "Words") == expected

    def test_runs_are_seen_as_of_a_position(self, store: Store) -> None:
        words = [word for word in a_mixture() if len(word) > 480]
        expected = fill_words(store, words)
        position = store.head()
        for word in words[::2]:
            delete(store, "Words", word)
        for word in words[1::2]:
            put(store, "Words", word=word, count=0)
        put(store, "Words", word="x" * 500 + "/0005", count=1)
        codec = codec_of(store, "Words")
        assert rows(store, "Words", position) == expected
        assert scan(store.snapshot(position), codec, reverse=True, limit=70) == expected[::-1][:70]
        assert store.snapshot(position).get(codec, encoded(codec, words[0])) == (words[0], len(words[0]))

    def test_transaction_sees_its_own_long_keys_in_order(self, store: Store) -> None:
        expected = fill_words(store, ["x" * 500 + f"/{number}" for number in range(0, 20, 2)])
        codec = codec_of(store, "Words")
        tx = store.transaction()
        for number in range(1, 20, 2):
            word = "x" * 500 + f"/{number}"
            tx.put(codec, encoded(codec, word), {0: word, 1: len(word)})
            expected.append((word, len(word)))
        tx.remove(codec, encoded(codec, "x" * 500 + "/0"))
        del expected[0]
        expected.sort()
        assert scan(tx, codec) == expected
        assert scan(tx, codec, limit=7, reverse=True) == expected[::-1][:7]
        tx.commit()
        assert rows(store, "Words") == expected

    def test_split_covers_long_keys_without_overlap(self, store: Store) -> None:
        expected = fill_words(store, a_mixture())
        codec = codec_of(store, "Words")
        parts = [scan(store.snapshot(), codec, interval) for interval in store.split(codec, 5)]
        assert [row for part in parts for row in part] == expected

    def test_longest_key_is_kept_and_a_longer_one_refused(self, store: Store) -> None:
        store.create_table(WORDS)
        codec = codec_of(store, "Words")
        longest = "k" * (LONGEST - 3)
        assert len(encoded(codec, longest)) == LONGEST
        put(store, "Words", word=longest, count=1)
        assert get(store, "Words", longest) == (longest, 1)
        head = store.head()
        with pytest.raises(KeyTooLong, match="32,769 bytes"):
            put(store, "Words", word=longest + "k")
        with pytest.raises(KeyTooLong):
            delete(store, "Words", longest + "k")
        assert store.head() == head

    def test_key_too_long_rolls_back_its_whole_transaction(self, store: Store) -> None:
        store.create_table(WORDS)
        codec = codec_of(store, "Words")
        with pytest.raises(KeyTooLong):
            fill(store, "Words", [{"word": "short"}, {"word": "k" * LONGEST}])
        tx = store.transaction()
        tx.put(codec, encoded(codec, "short"), {0: "short"})
        with pytest.raises(KeyTooLong):
            tx.insert(codec, encoded(codec, "k" * LONGEST), {0: "k" * LONGEST})
        tx.rollback()
        assert rows(store, "Words") == []
        assert store.head() == store.oldest()

    @pytest.mark.parametrize(
        "made",
        [
            table("Wide", tuple(f"c{n}" for n in range(60)), *(column(f"c{n}", BIGINT) for n in range(60))),
            table("Wide", tuple(f"c{n}" for n in range(31)), *(column(f"c{n}", decimal(38, 4)) for n in range(31))),
            table("Wide", ("a", "b"), column("a", BINARY), column("b", BINARY)),
            table("Wide", ("a", "b", "c"), column("a", STRING), column("b", BIGINT), column("c", STRING)),
        ],
        ids=["60 BIGINT", "31 DECIMAL(38,4)", "two BINARY", "STRING, BIGINT, STRING"],
    )
    def test_keys_get_long_by_their_columns_too(self, store: Store, made: Table) -> None:
        store.create_table(made)
        codec = codec_of(store, "Wide")
        expected = sorted(many_long_keys(codec), key=codec.key.encode)
        writes = WriteSet()
        for row in Random(5).sample(expected, len(expected)):
            writes.put(codec, codec.key.encode(row), dict(enumerate(row)))
        store.commit(writes)
        snapshot = store.snapshot()
        assert scan(snapshot, codec) == expected
        assert scan(snapshot, codec, reverse=True) == expected[::-1]
        for place in (0, 1, len(expected) // 2, len(expected) - 1):
            interval = Interval(codec.key.encode(expected[place]), None)
            assert scan(snapshot, codec, interval, limit=3) == expected[place : place + 3]
            backwards = Interval(b"", codec.key.encode(expected[place]))
            assert scan(snapshot, codec, backwards, limit=3, reverse=True) == expected[:place][::-1][:3]


def many_long_keys(codec: RowCodec) -> list[Row]:
    """Rows whose keys are alike in all but the last key columns."""
    width = len(codec.key.columns)
    alike: dict[Type, Cell] = {STRING: "s" * 480, BINARY: b"b" * 300}
    common = [alike.get(type, 7) for type in codec.key.types]
    found: set[Row] = set()
    for number in range(80):
        row = list(common)
        last = codec.key.types[-1]
        row[-1] = f"{number}" if last == STRING else b"b" * 300 + bytes([number]) if last == BINARY else number - 40
        found.add(tuple(row))
        if number % 8 == 0 and width > 1:
            second = codec.key.types[-2]
            row[-2] = b"b" * number if second == BINARY else number
            found.add(tuple(row))
    return list(found)
