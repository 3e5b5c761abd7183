"""What a join raises that no join index answers."""

from __future__ import annotations


class NoJoinIndex(Exception):
    """No join index has all rows of a join under one key."""
