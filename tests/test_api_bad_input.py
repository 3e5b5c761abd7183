"""Bad input: a clear error with a stable code, and nothing half-written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(
            "CREATE TABLE T (id BIGINT, tag STRING, flag BOOLEAN, small INT, real DOUBLE, price DECIMAL(6,2), "
            "blob BINARY, day DATE, at TIMESTAMP, must STRING NOT NULL, PRIMARY KEY (id, tag))"
        )
        opened.insert("T", {"id": 1, "tag": "a", "must": "there"})
        yield opened


KEY = {"id": 5, "tag": "x"}
GOOD = {**KEY, "must": "m"}
ROWS: list[tuple[dict[Any, Any], str]] = [
    ({**GOOD, "id": "5"}, "data.wrong_type"),
    ({**GOOD, "id": 5.0}, "data.wrong_type"),
    ({**GOOD, "id": True}, "data.wrong_type"),
    ({**GOOD, "tag": 5}, "data.wrong_type"),
    ({**GOOD, "tag": b"x"}, "data.wrong_type"),
    ({**GOOD, "flag": 1}, "data.wrong_type"),
    ({**GOOD, "small": "1"}, "data.wrong_type"),
    ({**GOOD, "real": "1.5"}, "data.wrong_type"),
    ({**GOOD, "price": "1.50"}, "data.wrong_type"),
    ({**GOOD, "blob": "text"}, "data.wrong_type"),
    ({**GOOD, "day": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}, "data.wrong_type"),
    ({**GOOD, "at": dt.date(2024, 1, 1)}, "data.wrong_type"),
    ({**GOOD, "must": None}, "data.wrong_type"),
    ({**GOOD, "id": None}, "data.null_key"),
    ({**GOOD, "tag": None}, "data.null_key"),
    ({"id": 5, "must": "m"}, "data.null_key"),
    ({}, "data.null_key"),
    ({**GOOD, "color": "red"}, "definition.unknown_column"),
    ({**GOOD, 5: "red"}, "definition.unknown_column"),
    ({**GOOD, "small": 1, "SMALL": 2}, "definition.unknown_column"),
    ({**GOOD, "id": 2**63}, "data.out_of_range"),
    ({**GOOD, "small": 2**31}, "data.out_of_range"),
    ({**GOOD, "small": -(2**31) - 1}, "data.out_of_range"),
    ({**GOOD, "real": 2**53 + 1}, "data.out_of_range"),
    ({**GOOD, "price": Decimal("10000")}, "data.out_of_range"),
    ({**GOOD, "price": Decimal("1.005")}, "data.out_of_range"),
    ({**GOOD, "price": Decimal("NaN")}, "data.out_of_range"),
    ({**GOOD, "at": dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5)))}, "data.out_of_range"),
    ({**GOOD, "tag": "half \ud800"}, "data.bad_text"),
    ({**GOOD, "must": "\udfff"}, "data.bad_text"),
    ({**GOOD, "tag": "t" * 40_000}, "data.key_too_long"),
    ({**GOOD, "blob": bytes(17 << 20)}, "data.row_too_large"),
    (KEY, "data.missing_column"),
]


def short(value: object) -> str | None:
    return repr(value)[:50] if isinstance(value, dict) else None


@pytest.mark.parametrize(("row", "code"), ROWS, ids=short)
def test_bad_row_is_refused_by_every_write_and_nothing_is_kept(db: vk.Database, row: dict[Any, Any], code: str) -> None:
    head, before = db.head(), list(db.scan("T"))

    def in_a_transaction() -> None:
        with db.transaction() as tx:
            tx.put("T", {"id": 9, "tag": "good", "must": "m"})
            tx.put("T", row)

    def inserted_in_a_transaction() -> None:
        with db.transaction() as tx:
            tx.put("T", {"id": 9, "tag": "good", "must": "m"})
            tx.insert("T", row)

    writes: list[Callable[[], object]] = [
        lambda: db.put("T", row),
        lambda: db.insert("T", row),
        in_a_transaction,
        inserted_in_a_transaction,
    ]
    for write in writes:
        with pytest.raises(vk.ViewkeeperError) as raised:
            write()
        assert raised.value.code == code
        assert raised.value.message
        assert len(str(raised.value)) < 1_000
        assert (db.head(), list(db.scan("T"))) == (head, before)


@pytest.mark.parametrize(("row", "code"), ROWS, ids=short)
def test_bad_row_is_refused_by_a_load_and_its_batch_is_not_kept(
    db: vk.Database, row: dict[Any, Any], code: str
) -> None:
    """Beside a good row with the same columns: a batch is of rows that give the same."""
    head, before = db.head(), list(db.scan("T"))
    good = {name: {"id": 9, "tag": "good", "must": "m"}.get(name) for name in row}
    with pytest.raises(vk.ViewkeeperError) as raised:
        db.load("T", [good, row])
    assert raised.value.code in ("data.bad_row", "data.missing_column", "definition.unknown_column", code)
    assert (db.head(), list(db.scan("T"))) == (head, before)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ((1,), "data.wrong_type"),
        ((), "data.wrong_type"),
        ((1, "a", 2), "data.wrong_type"),
        (("1", "a"), "data.wrong_type"),
        ((1, 2), "data.wrong_type"),
        ((1, None), "data.null_key"),
        ((2**63, "a"), "data.out_of_range"),
        ((1, "\ud800"), "data.bad_text"),
        ((1, "t" * 40_000), "data.key_too_long"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_key_is_refused_by_reads_and_deletes(db: vk.Database, key: tuple[Any, ...], code: str) -> None:
    def deleted_in_a_transaction() -> None:
        with db.transaction() as tx:
            tx.delete("T", *key)

    uses: list[Callable[[], object]] = [
        lambda: db.get("T", *key),
        lambda: db.snapshot().get("T", *key),
        lambda: db.transaction().get("T", *key),
        lambda: db.delete("T", *key),
        deleted_in_a_transaction,
    ]
    for use in uses:
        with pytest.raises(vk.ViewkeeperError) as raised:
            use()
        assert raised.value.code == code


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"prefix": "1"}, "data.wrong_type"),
        ({"prefix": (1, "a", 2)}, "data.wrong_type"),
        ({"prefix": (1, "a"), "lower": 3}, "data.wrong_type"),
        ({"prefix": (None,)}, "data.null_key"),
        ({"lower": "x"}, "data.wrong_type"),
        ({"upper": 1.5}, "data.wrong_type"),
        ({"prefix": 1, "lower": 5}, "data.wrong_type"),
        ({"prefix": 1, "lower": "\ud800"}, "data.bad_text"),
        ({"lower": 2**63}, "data.out_of_range"),
        ({"limit": -1}, "data.wrong_type"),
        ({"limit": "3"}, "data.wrong_type"),
        ({"limit": 1.5}, "data.wrong_type"),
    ],
    ids=str,
)
def test_bad_range_is_refused_by_every_scan(db: vk.Database, options: dict[str, Any], code: str) -> None:
    for scan in (db.scan, db.snapshot().scan, db.transaction().scan):
        with pytest.raises(vk.ViewkeeperError) as raised:
            scan("T", **options)
        assert raised.value.code == code


def test_unknown_table_is_refused_everywhere(db: vk.Database) -> None:
    tx = db.transaction()
    uses: list[Callable[[], object]] = [
        lambda: db.get("U", 1),
        lambda: db.scan("U"),
        lambda: db.put("U", {"id": 1}),
        lambda: db.insert("U", {"id": 1}),
        lambda: db.delete("U", 1),
        lambda: db.load("U", [{"id": 1}]),
        lambda: db.changes("U", since=db.head()),
        lambda: db.snapshot().get("U", 1),
        lambda: db.snapshot().scan("U"),
        lambda: tx.get("U", 1),
        lambda: tx.scan("U"),
        lambda: tx.put("U", {"id": 1}),
        lambda: tx.insert("U", {"id": 1}),
        lambda: tx.delete("U", 1),
        lambda: db.query("SELECT * FROM U WHERE id = 1"),
        lambda: db.execute("INSERT INTO U VALUES (1)"),
        lambda: db.execute("DROP TABLE U"),
    ]
    for use in uses:
        with pytest.raises(vk.UnknownTable) as raised:
            use()
        assert raised.value.code == "definition.unknown_table"
        assert '"U"' in raised.value.message


def test_duplicate_key_is_refused(db: vk.Database) -> None:
    with pytest.raises(vk.KeyExists) as raised:
        db.insert("T", {"id": 1, "tag": "a", "must": "again"})
    assert raised.value.code == "data.key_exists"
    assert "id=1, tag='a'" in raised.value.message
    assert raised.value.hint
    with pytest.raises(vk.KeyExists), db.transaction() as tx:
        tx.insert("T", {"id": 1, "tag": "a", "must": "again"})
    assert db.get("T", 1, "a")["must"] == "there"  # type: ignore[index]


@pytest.mark.parametrize("source", [5, None, {"id": 1}, b"rows", [5], [[1, "a"]], "rows.xml"], ids=repr)
def test_source_that_is_none_is_refused(db: vk.Database, source: Any) -> None:
    head = db.head()
    with pytest.raises(vk.ViewkeeperError):
        db.load("T", source)
    assert db.head() == head
