"""How keys are laid out in LMDB.

    base environment
      "catalog"    see catalog.py
      "log"        position (8 bytes, big-endian) → block, see blocks.py
      "pins"       pin id (16 bytes) → msgpack [position, deadline in µs, holder]
      "counts"     table (4) limit (1) group key → count (8), see cardinality.py
      "samples"    table (4) stored key → "", one key in 256, see samples.py
      "t" + slot in hex    stored key → row; the catalog says which table has which slot
    views environment
      "groups"     see groups.py

    stored key := key                          shorter than 495 bytes
                | its first 495 bytes, digest  else: always 511 bytes, LMDB's limit; digest is BLAKE2b-128 of the key

Keys that share their first 495 bytes are thereby stored in the order of their digests: a *run*, which readers sort
by the whole key, found in the row.
"""

from __future__ import annotations

from hashlib import blake2b

from viewkeeper.errors import KeyTooLong

LMDB_KEY = 511
DIGEST = 16
RUN = LMDB_KEY - DIGEST
"""Length of the prefix that the keys of a run share."""
MAX_KEY = 32 << 10
"""Bytes of an encoded key of a table. A run is sorted in memory, so a key has to stay small against a row."""


def stored_key(key: bytes) -> bytes:
    """The LMDB key of an encoded key of a table; KeyTooLong above 32 KiB."""
    if len(key) > MAX_KEY:
        raise KeyTooLong(
            f"a key takes {len(key):,} bytes, more than {MAX_KEY:,}",
            hint="Make a digest of the long column the key, and keep the column itself beside it.",
        )
    return stored_view_key(key)


def stored_view_key(key: bytes) -> bytes:
    """The LMDB key of an encoded key of a view, of whatever length. LMDB has no empty keys: that one is a NUL.

    The rows that it follows from are committed already, so it is too late to refuse one.
    """
    if len(key) < RUN:
        return key or b"\0"
    return key[:RUN] + blake2b(key, digest_size=DIGEST).digest()


def slot_database(slot: int) -> bytes:
    return b"t%08x" % slot
