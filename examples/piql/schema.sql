-- Documents and their tags, as in the paper on PIQL: at most ten tags on a document, and moments that grow with time.

CREATE TABLE Documents (docId BIGINT PRIMARY KEY, timestamp TIMESTAMP TEMPORAL, text STRING);

CREATE TABLE Tags (
  docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL, PRIMARY KEY (docId, tag)
) WITH CARDINALITY (tag, 10);
