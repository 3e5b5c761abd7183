"""An implementation for every name of plan/functions.py."""

from __future__ import annotations

from viewkeeper.execute.spark.arithmetic import NUMERIC
from viewkeeper.execute.spark.code import Implementation
from viewkeeper.execute.spark.logic import LOGICAL
from viewkeeper.execute.spark.moments import TIME
from viewkeeper.execute.spark.text import TEXT

IMPLEMENTATIONS: dict[str, Implementation] = {**NUMERIC, **LOGICAL, **TEXT, **TIME}
