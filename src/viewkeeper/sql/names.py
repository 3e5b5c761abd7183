"""Names as they are written in a text."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def written(name: str) -> str:
    """A name as the parser reads it back; in quotes if it is a keyword of some kind or has other characters.

    >>> written("Price"), written("order"), written('a "b"')
    ('Price', '"order"', '"a ""b\"""')
    """
    from viewkeeper.sql.dialect import Viewkeeper
    from viewkeeper.sql.reader import RESERVED

    if _PLAIN.fullmatch(name) and name.upper() not in RESERVED and name.upper() not in Viewkeeper.Tokenizer.KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'
