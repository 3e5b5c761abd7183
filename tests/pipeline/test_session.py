"""The session of maintenance: signals wait while the JVM starts, and a start that fails says why."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from viewkeeper.pipeline.session import _signals_later, _told


def test_ctrl_c_waits_until_the_start_has_ended() -> None:
    before = signal.getsignal(signal.SIGINT)
    reached = False
    with pytest.raises(KeyboardInterrupt), _signals_later():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_that_the_start_has_set_stays() -> None:
    before = signal.getsignal(signal.SIGINT)

    def theirs(*_: object) -> None: ...

    try:
        with _signals_later():
            signal.signal(signal.SIGINT, theirs)
        assert signal.getsignal(signal.SIGINT) is theirs
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_reason_of_a_failed_start_is_no_line_of_a_stack(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("warning\nException: no such master\n\tat a.b(C.scala)\n\tat d.e(F.scala)\n")
    assert _told(RuntimeError("gone"), log) == "gone Exception: no such master"
