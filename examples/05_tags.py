"""The newest documents that have two tags: a table joined with itself.

No index on tags answers this with a bounded number of reads: one tag may be on many documents, of which few have the
other. The view has every pair of tags of each document, so that an answer is one short scan; and with at most K tags
on a document, a new tag adds fewer than 2K rows to it, however many documents there are.

Run it with `python examples/05_tags.py`.
"""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import viewkeeper as vk

TABLES = """
CREATE TABLE Documents (docId BIGINT PRIMARY KEY, timestamp TIMESTAMP TEMPORAL, text STRING);
CREATE TABLE Tags (
  docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL, PRIMARY KEY (docId, tag)
) WITH CARDINALITY (tag, 5)
"""

VIEWS = """
CREATE VIEW twoTagsView KEY (t1tag, t2tag, timestamp DESC)
SELECT t1.tag AS t1tag, t2.tag AS t2tag, d.timestamp, d.docId
FROM Tags t1, Tags t2, Documents d
WHERE t1.docId = t2.docId AND t1.docId = d.docId;

CREATE VIEW docsPerTag
SELECT tag, COUNT(*) AS cnt FROM Tags t GROUP BY tag;

CREATE VIEW docsPerTagWindowed
SELECT timestamp - (timestamp % (60*1000)) AS minute, tag, COUNT(*) AS cnt
FROM Tags t GROUP BY timestamp - (timestamp % (60*1000)), tag
"""

TWO_TAGS = "SELECT docId FROM twoTagsView WHERE t1tag = :tag1 AND t2tag = :tag2 ORDER BY timestamp DESC LIMIT 5"

TAGS = ["python", "spark", "sql", "views", "rare"]
START = datetime(2024, 5, 1, 12, tzinfo=UTC)


def write_document(db: vk.Database, number: int, chance: random.Random) -> vk.Position:
    """A document and its tags, in one transaction."""
    when = START + timedelta(seconds=number)
    with db.transaction() as tx:
        tx.put("Documents", {"docId": number, "timestamp": when, "text": f"document {number}"})
        for tag in chance.sample(TAGS[:-1], chance.randint(1, 4)):
            tx.put("Tags", {"docId": number, "tag": tag, "timestamp": when})
        if number % 50 == 0:
            tx.put("Tags", {"docId": number, "tag": "rare", "timestamp": when})
    return tx.position


def newest(db: vk.Database, tag1: str, tag2: str) -> list[int]:
    rows = db.query(TWO_TAGS, tag1=tag1, tag2=tag2)
    found = [row["docId"] for row in rows]
    print(f"  {tag1} and {tag2}: {found}, {rows.meta.operations} operation")
    return found


def main() -> None:
    chance = random.Random(5)
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "documents") as db:
        db.execute(TABLES)
        db.execute(VIEWS)
        for number in range(200):
            write_document(db, number, chance)
        db.maintain()
        print("newest of 200 documents:")
        newest(db, "python", "spark")
        newest(db, "spark", "rare")

        # A tag is taken from a document, another is put on, and a document goes with its tags: the pairs follow.
        [tag] = db.scan("Tags", prefix=(150, "rare"))
        db.delete("Tags", 150, "rare")
        db.put("Tags", {**tag, "docId": 199})
        with db.transaction() as tx:
            for row in tx.scan("Tags", prefix=(100,)):
                tx.delete("Tags", 100, row["tag"])
            tx.delete("Documents", 100)
        db.maintain()
        print("rare leaves 150 and comes to 199; 100 goes:")
        newest(db, "rare", "rare")

        # The bound of the view is one of the data: a sixth tag is refused when it is written.
        try:
            for tag_name in [*TAGS, "sixth"]:
                db.put("Tags", {"docId": 7, "tag": tag_name})
        except vk.CardinalityExceeded as error:
            print("refused:", error.message)

        db.maintain()
        print("documents by tag:", {row["tag"]: row["cnt"] for row in db.scan("docsPerTag")})
        minute = db.scan("docsPerTagWindowed", prefix=(START + timedelta(minutes=2),))
        print("in the third minute:", {row["tag"]: row["cnt"] for row in minute})

        for view in db.views():
            checked = db.verify(view.name)
            print(checked)
            assert checked.ok


if __name__ == "__main__":
    main()
