"""An implementation for every name of plan/functions.py.

COALESCE is not here but in expr.py, since it evaluates only what it needs.
"""

from __future__ import annotations

from viewkeeper.execute.rows.arithmetic import NUMERIC
from viewkeeper.execute.rows.code import Implementation
from viewkeeper.execute.rows.logic import LOGICAL
from viewkeeper.execute.rows.moments import TIME
from viewkeeper.execute.rows.text import TEXT

IMPLEMENTATIONS: dict[str, Implementation] = {**NUMERIC, **LOGICAL, **TEXT, **TIME}
LAZY = frozenset({"coalesce"})
"""Functions that do not evaluate all of their arguments."""
