"""Sessions: what was written and read once is seen from then on, also in views, also by a later session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.read.moving import move, put_orders
from viewkeeper.read import freeride

SUMS = "CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop"


@pytest.fixture
def shops(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> vk.Database:
    """Reads that commit no fold."""
    monkeypatch.setattr(freeride, "LATER", -1)
    db.execute(SUMS)
    put_orders(db, (1, "a", 5))
    move(db)
    return db


def order(number: int, cost: int) -> dict[str, Any]:
    return {"id": number, "shop": "a", "cost": cost}


WRITES: list[Any] = [
    lambda s: s.put("Orders", order(1, 9)),
    lambda s: s.insert("Orders", order(2, 4)),
    lambda s: s.load("Orders", [order(2, 4)]),
    lambda s: s.execute("UPDATE Orders SET cost = 9 WHERE id = 1"),
    lambda s: s.delete("Orders", 1) and s.put("Orders", order(7, 9)),
]


@pytest.mark.parametrize("write", WRITES, ids=["put", "insert", "load", "execute", "delete"])
def test_a_session_sees_its_own_writes_in_a_view(shops: vk.Database, write: Any) -> None:
    with shops.session() as session:
        write(session)
        assert session.position == shops.head()
        assert session.get("Sums", "a") == {"shop": "a", "total": 9}
        assert session.scan("Sums").all() == [{"shop": "a", "total": 9}]
        assert session.query("SELECT total FROM Sums WHERE shop = 'a'").all() == [{"total": 9}]
        assert list(session.execute("SELECT total FROM Sums")) == [{"total": 9}]  # type: ignore[arg-type]
        with session.snapshot() as snapshot:
            assert snapshot.get("Sums", "a") == {"shop": "a", "total": 9}


def test_a_session_sees_its_transactions_once_they_are_committed(shops: vk.Database) -> None:
    with shops.session() as session:
        with session.transaction() as tx:
            tx.put("Orders", order(1, 9))
        assert session.position == tx.position
        with pytest.raises(ZeroDivisionError), session.transaction() as tx:
            tx.put("Orders", order(1, 10))
            raise ZeroDivisionError
        assert session.get("Sums", "a") == {"shop": "a", "total": 9}


def test_what_a_session_has_seen_of_a_table_it_sees_in_a_view(shops: vk.Database) -> None:
    with shops.session() as session:
        assert session.get("Sums", "a") == {"shop": "a", "total": 5}
        put_orders(shops, (1, "a", 9))
        assert session.get("Sums", "a") == {"shop": "a", "total": 5}
        assert session.get("Orders", 1)["cost"] == 9  # type: ignore[index]
        row, meta = session.get("Sums", "a", with_meta=True)
        assert (row, meta.path) == ({"shop": "a", "total": 9}, "folded")


def test_a_session_goes_on_where_the_text_of_another_ended(shops: vk.Database, tmp_path: Path) -> None:
    with shops.session() as session:
        session.put("Orders", order(1, 9))
        cookie = str(session.position)
    with vk.open(tmp_path / "db", read_only=True) as other:
        assert other.get("Sums", "a") == {"shop": "a", "total": 5}
        with other.session(cookie) as session:
            assert session.get("Sums", "a") == {"shop": "a", "total": 9}
            with pytest.raises(vk.ReadOnly):
                session.put("Orders", order(1, 10))
        with other.session(vk.Position.parse(cookie)) as session:
            assert session.position == vk.Position.parse(cookie)


def test_a_session_does_not_take_back_what_it_has_seen(shops: vk.Database) -> None:
    put_orders(shops, (1, "a", 9))
    with shops.session() as session:
        start = session.position
        assert session.get("Sums", "a", consistency="latest") == {"shop": "a", "total": 9}
        assert session.position.covers(start)
        assert session.position == shops.head()
        assert session.get("Sums", "a", consistency="any") == {"shop": "a", "total": 9}


def test_bad_positions_are_refused_when_the_session_begins(shops: vk.Database, tmp_path: Path) -> None:
    with vk.open(tmp_path / "other") as other:
        foreign = other.head()
    future = str(shops.head()) + "0"
    cases: list[tuple[Any, type[Exception]]] = [
        ("", vk.BadPosition),
        ("yesterday", vk.BadPosition),
        (7, vk.BadPosition),
        (foreign, vk.ForeignPosition),
        (str(foreign), vk.ForeignPosition),
        (future, vk.FuturePosition),
    ]
    for position, error in cases:
        with pytest.raises(error):
            shops.session(position)


def test_each_of_several_statements_sees_those_before_it(shops: vk.Database) -> None:
    with shops.session() as session:
        found = session.execute(
            "INSERT INTO Orders (id, shop, cost) VALUES (90, 'z', 7); SELECT * FROM Sums WHERE shop = 'z'"
        )
        assert isinstance(found, vk.Rows)
        assert [row["total"] for row in found] == [7]


def test_what_was_done_before_an_error_is_seen(shops: vk.Database) -> None:
    insert = "INSERT INTO Orders (id, shop, cost) VALUES (90, 'z', 7)"
    with shops.session() as session:
        with pytest.raises(vk.KeyExists):
            session.execute(f"{insert}; {insert}")
        assert session.get("Sums", "z") is not None
        with pytest.raises(vk.ViewkeeperError):
            session.load("Orders", [{"id": 91, "shop": "y", "cost": 1}, {"id": "no number"}], batch_rows=1)
        assert session.get("Sums", "y") is not None


def test_what_a_transaction_read_that_was_given_up_is_seen(shops: vk.Database) -> None:
    shops.put("Orders", {"id": 92, "shop": "x", "cost": 1})
    with shops.session() as session:
        transaction = session.transaction()
        assert transaction.get("Orders", 92) is not None
        transaction.rollback()
        assert session.get("Sums", "x") is not None
