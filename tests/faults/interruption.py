"""Ctrl-C at a chosen place of a commit."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from tests.faults.threads import Thread
from viewkeeper.store import commit, embedded, groupcommit, log


class Interruption:
    """Raises KeyboardInterrupt at the n-th place, in code of the given modules, at which Python lets signals in."""

    INSIDE = frozenset({groupcommit.__file__, embedded.__file__, commit.__file__, log.__file__})

    def __init__(self, place: int) -> None:
        self.left = place
        self.where = ""
        # By id: a frame that is kept alive keeps its transaction open.
        self._last: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in self.INSIDE:
            return None
        frame.f_trace_opcodes = True
        if event == "call":
            self._last.pop(id(frame), None)
        if event == "call" or (event == "opcode" and self._is_let_in(frame)):
            if self.left == 0:
                self.where = f"{frame.f_code.co_name} line {frame.f_lineno}"
                sys.settrace(None)
                raise KeyboardInterrupt
            self.left -= 1
        return self

    def _is_let_in(self, frame: FrameType) -> bool:
        """Behind a call, and where a loop begins again."""
        last = self._last.get(id(frame))
        self._last[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        return last in ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD")


def interrupted_at(place: int, action: Callable[[], Any]) -> tuple[Interruption, Any]:
    """Run an action with an interruption; where it came, and the result or the error."""
    interruption = Interruption(place)

    def traced() -> Any:
        sys.settrace(interruption)
        try:
            return action()
        finally:
            sys.settrace(None)

    return interruption, Thread(traced)
