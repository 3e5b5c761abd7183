"""The words of a text, for indexes with one entry per word, conditions on words, and limits of their number."""

from __future__ import annotations

import re

from viewkeeper.model.letters import lower

_WORD = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    """The different words of a text in lower case, in order of first appearance.

    A word is a longest run of letters and digits, of any script.

    >>> tokens("The cat_and the CAT, 2 of them")
    ['the', 'cat', 'and', '2', 'of', 'them']
    """
    return list(dict.fromkeys(_WORD.findall(lower(text))))
