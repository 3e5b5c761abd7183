-- A query of each level, over the tables of schema.sql.

-- name: tagsOfDocument
-- One range of the primary key, ten rows at most.
SELECT tag, timestamp FROM Tags WHERE docId = :doc;

-- name: newestOfTag
-- An index by tag has them in this order.
SELECT docId FROM Tags WHERE tag = :tag ORDER BY timestamp DESC LIMIT 10;

-- name: twoTags
-- With an index alone, any number of documents may have the one tag and not the other.
SELECT t1.docId
FROM Tags t1, Tags t2, Documents d
WHERE t1.docId = t2.docId AND t1.docId = d.docId AND t1.tag = :tag1 AND t2.tag = :tag2
ORDER BY d.timestamp DESC LIMIT 5;

-- name: countTags
SELECT COUNT(*) AS cnt FROM Tags WHERE tag = :tag;

-- name: docsPerTagWindowed
-- The same for one minute: the epoch is the moment at which it begins.
SELECT COUNT(*) AS cnt FROM Tags WHERE timestamp - (timestamp % (60*1000)) = :minute AND tag = :tag;

-- name: popularTags
-- An index by time would take all new tags at one end: a hotspot.
SELECT tag, COUNT(*) AS cnt
FROM (SELECT * FROM Tags ORDER BY timestamp DESC LIMIT 5000) AS recent
GROUP BY tag;
