"""Histories by hand: those that are right, and those that break one rule, with the sentence that says so."""

from __future__ import annotations

from tests.histories.handmade import A1, A3, A4, B3, B5, Story, row

RIGHT = {
    "any is any moment": Story().scan("Totals", level="any").get("Totals", "a", A1).scan("Totals", A3, B3, level="any"),
    "at least": Story().scan("Totals", A3, B3, level="at_least", asked=(1, 2)).get("Totals", "a", A4, level="latest"),
    "latest as of its beginning": Story().scan("Totals", A1, level="latest", before=1),
    "latest may see what is committed meanwhile": Story().scan("Totals", A3, B3, level="latest", before=1),
    "max_lag of two seconds": Story().scan("Totals", A3, B3, level="max_lag", lag_ms=3000),
    "max_lag, when what came later left it alone": Story().get("Totals", "a", A4, level="max_lag", lag_ms=0),
    "a table is up to date": Story().scan("T", row(1, "a", 1)[2] or {}, before=1, after=1),
    "sync is too": Story().scan("Sync", A4, B5, level="any").get("Sync", "a", A4, before=4),
    "lazy is unless any will do": Story().scan("Lazy", level="any").scan("Lazy", A4, B5),
    "positions": Story().scan("Totals", A4, B3, position=4).scan("Totals", A4, B5, position=5, level="latest"),
    "limits": Story().scan("Totals", A4, limit=1).scan("Totals", B3, limit=1, reverse=True).scan("Totals", limit=0),
    "intervals": Story()
    .scan("Totals", B3, lower=("b",))
    .scan("Totals", A1, upper=("b",))
    .scan("Totals", prefix=("z",)),
    "writes": Story().write(3, row(2, "a", 2), row(3, "b", 5)).write(5, row(3, "b", 7)).write(4, ("T", (1,), None)),
    "writes that change nothing": Story()
    .write(5, row(2, "a", 2))
    .write(4, ("T", (1,), None))
    .write(4, ("T", (9,), None)),
    "a row moves on": Story().get("Totals", "a", A1).get("Totals", "a", A3).scan("Totals", A4, B5),
    "other rows, other handles": Story().get("Totals", "b", B5).get("Totals", "a", A1).get("Totals", "b", stream="i"),
    "reads that overlap": Story().get("Totals", "a", A4, ends=15).get("Totals", "a", A3),
    "what is the same everywhere": Story().get("Totals", "z", level="latest").get("Totals", "z"),
    "a session": Story()
    .opened("session", "s", 1)
    .get("Totals", "a", A1, stream="s")
    .write(4, ("T", (1,), None), stream="s")
    .get("Totals", "a", A4, stream="s")
    .get("Totals", "b", B5, stream="s"),
    "a snapshot": Story()
    .opened("snapshot", "p", 4, head=4)
    .scan("T", *(row(*cells)[2] or {} for cells in ((2, "a", 2), (3, "b", 5))), snapshot="p")
    .scan("Totals", A1, snapshot="p")
    .get("Groups", "a", {"g": "a"}, snapshot="p")
    .get("Groups", "b", snapshot="p")
    .scan("Sync", A4, B3, snapshot="p"),
    "excused": Story()
    .get("Totals", "a", level="latest", error="read.view_behind")
    .opened("snapshot", "p", 5)
    .get("Totals", "a", snapshot="p", error="position.not_retained"),
}

WRONG = {
    "lost": (
        Story().write(7, row(9, "z", 1)),
        "commit: h: write of 1 rows acknowledged at 7: no transaction ends there",
    ),
    "inside a transaction": (
        Story().write(2, row(2, "a", 2)),
        "commit: h: write of 1 rows acknowledged at 2: no transaction ends there",
    ),
    "half of it is in the log": (
        Story().write(3, row(2, "a", 2), row(3, "b", 5), row(4, "b", 1)),
        "commit: h: write of 3 rows acknowledged at 3: it is not there",
    ),
    "two transactions in one": (
        Story().write(3, row(2, "a", 2)),
        "commit: h: write of 1 rows acknowledged at 3: the transaction that ends there is another one",
    ),
    "half a transaction": (
        Story().scan("Totals", A3),
        "moment: h: scan of Totals: matches no moment: [{'g': 'a', 'c': 2, 's': 3}]",
    ),
    "half a batch": (
        Story().scan("Totals", A1, B5),
        "moment: h: scan of Totals: matches no moment: [{'g': 'a', 'c': 1, 's': 1}, {'g': 'b', 'c': 1, 's': 7}]",
    ),
    "a value that never was": (
        Story().get("Totals", "a", {"g": "a", "c": 3, "s": 3}),
        "moment: h: get of Totals ('a',): matches no moment: [{'g': 'a', 'c': 3, 's': 3}]",
    ),
    "a row twice": (
        Story().scan("Groups", {"g": "a"}, {"g": "a"}, limit=2),
        "moment: h: scan of Groups limit 2: matches no moment: [{'g': 'a'}, {'g': 'a'}]",
    ),
    "more than the limit": (
        Story().scan("Groups", {"g": "a"}, {"g": "b"}, limit=1),
        "moment: h: scan of Groups limit 1: matches no moment: [{'g': 'a'}, {'g': 'b'}]",
    ),
    "a row skipped": (
        Story().scan("Totals", B5, limit=1),
        "moment: h: scan of Totals limit 1: matches no moment: [{'g': 'b', 'c': 1, 's': 7}]",
    ),
    "a row outside of the interval": (
        Story().scan("Groups", {"g": "a"}, lower=("b",)),
        "moment: h: scan of Groups from ('b',): matches no moment: [{'g': 'a'}]",
    ),
    "out of order": (
        Story().scan("Totals", B5, A4),
        (
            "moment: h: scan of Totals: is not in the order of its key: "
            "[{'g': 'b', 'c': 1, 's': 7}, {'g': 'a', 'c': 1, 's': 2}]"
        ),
    ),
    "less than asked for": (
        Story().scan("Totals", A1, level="at_least", asked=(1, 2)),
        "level: h: scan of Totals at at_least 1, 2: is as of 1, and not of 3 or later",
    ),
    "not the latest": (
        Story().scan("Totals", A4, B3, level="latest"),
        "level: h: scan of Totals at latest: is as of 4, and not of 5 or later",
    ),
    "staler than max_lag": (
        Story().scan("Totals", A1, level="max_lag", lag_ms=3000),
        "level: h: scan of Totals at max_lag 3000 ms: is as of 1, and not of 3 or later",
    ),
    "an old table": (
        Story().get("T", 3, row(3, "b", 5)[2] or {}),
        "level: h: get of T (3,): is as of 4, and not of 5 or later",
    ),
    "an old sync view": (
        Story().get("Sync", "b", B3, level="any"),
        "level: h: get of Sync ('b',) at any: is as of 4, and not of 5 or later",
    ),
    "an old lazy view": (
        Story().get("Lazy", "b", B3),
        "level: h: get of Lazy ('b',): is as of 4, and not of 5 or later",
    ),
    "the future": (
        Story().get("Totals", "b", B5, after=4),
        "level: h: get of Totals ('b',): is as of 5, behind 4, where the head was",
    ),
    "a position inside a transaction": (
        Story().scan("Totals", A3, B3, position=2),
        "position: h: scan of Totals: says 2, where no transaction ends",
    ),
    "a position of another moment": (
        Story().scan("Totals", A3, B3, position=4),
        "position: h: scan of Totals: says 4, and is not what was there",
    ),
    "a position that is not enough": (
        Story().get("Totals", "a", A4, position=4, level="latest"),
        "position: h: get of Totals ('a',) at latest: says 4, which is not from 5 to 5",
    ),
    "latest, then any": (
        Story().get("Totals", "a", A4, level="latest").get("Totals", "a", A3, level="any"),
        "timeline: h: row ('a',) of Totals goes back: get at any is older than get at latest, which is of 5 or later",
    ),
    "a row of a scan goes back": (
        Story().get("Totals", "a", A3).scan("Totals", A1),
        "timeline: h: row ('a',) of Totals goes back: scan is older than get, which is of 3 or later",
    ),
    "a row vanishes": (
        Story().scan("Totals", A3, B3).get("Totals", "b"),
        "timeline: h: row ('b',) of Totals goes back: get is older than scan, which is of 3 or later",
    ),
    "there and back, though each pair could be": (
        Story().get("Totals", "a", A1).get("Totals", "a", A3).get("Totals", "a", A4).get("Totals", "a", A3),
        "timeline: h: row ('a',) of Totals goes back: get is older than get, which is of 4 or later",
    ),
    "a snapshot behind what its handle has seen": (
        Story().get("Totals", "a", A4).opened("snapshot", "p", 5).get("Totals", "a", A1, snapshot="p"),
        "timeline: h: row ('a',) of Totals goes back: get in snapshot p is older than get, which is of 4 or later",
    ),
    "not its own write": (
        Story().opened("session", "s", 0).write(4, ("T", (1,), None), stream="s").get("Totals", "a", A3, stream="s"),
        "timeline: session s: get of Totals is older than its write at 4, which is of 4",
    ),
    "before its start": (
        Story().opened("session", "s", 3).get("Totals", "b", stream="s"),
        "timeline: session s: get of Totals is older than its start at 3, which is of 3",
    ),
    "another view of the session is older": (
        Story().opened("session", "s", 0).get("Totals", "a", A4, stream="s").get("Groups", "b", stream="s"),
        "timeline: session s: get of Groups is older than get of Totals, which is of 4",
    ),
    "the session by what answers say": (
        Story()
        .opened("session", "s", 0)
        .scan("Totals", B3, lower=("b",), position=4, stream="s")
        .scan("Totals", B3, lower=("b",), position=3, stream="s"),
        "timeline: session s: scan of Totals is older than scan of Totals, which is of 4",
    ),
    "a snapshot of two moments": (
        Story().opened("snapshot", "p", 5).get("Totals", "a", A4, snapshot="p").get("Totals", "b", snapshot="p"),
        (
            "snapshot: snapshot p: reads of g are of different moments, the last one is h: get of Totals ('b',) "
            "in snapshot p"
        ),
    ),
    "a snapshot of half a group": (
        Story()
        .opened("snapshot", "p", 5)
        .get("Totals", "a", A1, snapshot="p")
        .get("Groups", "b", {"g": "b"}, snapshot="p"),
        (
            "snapshot: snapshot p: reads of g are of different moments, the last one is h: get of Groups ('b',) "
            "in snapshot p"
        ),
    ),
    "a table behind its snapshot": (
        Story().opened("snapshot", "p", 4, head=4).get("T", 3, row(3, "b", 7)[2] or {}, snapshot="p"),
        "level: h: get of T (3,) in snapshot p: is as of 5, behind 4, where the head was",
    ),
    "a view past its snapshot": (
        Story().opened("snapshot", "p", 4, head=4).get("Totals", "b", B5, snapshot="p"),
        "level: h: get of Totals ('b',) in snapshot p: is as of 5, behind 4, where the head was",
    ),
    "a sync view before its snapshot": (
        Story().opened("snapshot", "p", 5).get("Sync", "b", B3, snapshot="p"),
        "level: h: get of Sync ('b',) in snapshot p: is as of 4, and not of 5 or later",
    ),
    "a lazy view before its snapshot": (
        Story().opened("snapshot", "p", 5).get("Lazy", "b", B3, snapshot="p"),
        "level: h: get of Lazy ('b',) in snapshot p: is as of 4, and not of 5 or later",
    ),
    "a snapshot of the past": (
        Story().opened("snapshot", "p", 3),
        "snapshot: snapshot p: is of 3; the head was 5 to 5",
    ),
    "an error that only a snapshot may have": (
        Story().get("Totals", "a", error="position.not_retained"),
        "error: h: get of Totals ('a',): failed with position.not_retained",
    ),
    "an error": (
        Story().get("Totals", "a", error="store.damaged"),
        "error: h: get of Totals ('a',): failed with store.damaged",
    ),
}
