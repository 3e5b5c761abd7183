"""Runs a function in an interpreter of its own, where it may fork, crash or run out of room.

The function is at the top of its module, takes texts, and tells what it saw with `say`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import viewkeeper as vk

TIMEOUT = 30.0
_CODE = "import sys; from {module} import {name}; {name}(*sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: exit status (negative: the signal that killed it), what it said, and its last words."""

    status: int
    said: list[Any]
    errors: str


def command(function: Callable[..., None], *arguments: object) -> list[str]:
    """The command that runs a function of a module in a fresh interpreter."""
    code = _CODE.format(module=function.__module__, name=function.__name__)
    return [sys.executable, "-c", code, *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def start(function: Callable[..., None], *arguments: object) -> subprocess.Popen[str]:
    """Start it and go on; it says what it has to say line by line."""
    return subprocess.Popen(
        command(function, *arguments), env=environment(), stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )


def run(function: Callable[..., None], *arguments: object, within: Sequence[str] = ()) -> Ended:
    """Run it to its end. `within`: a command that runs the rest of its arguments, such as unshare."""
    process = subprocess.Popen(
        [*within, *command(function, *arguments)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, errors = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        # With it goes whatever it has forked; else a child that hangs outlives the tests.
        os.killpg(process.pid, signal.SIGKILL)
        said, errors = process.communicate()
        raise AssertionError(f"{function.__name__} hangs; it said {said}\n{errors}") from None
    return Ended(process.returncode, [json.loads(line) for line in said.splitlines()], errors)


def tell(function: Callable[..., None], *arguments: object, within: Sequence[str] = ()) -> list[Any]:
    """Run it, see that it ended well, and give what it said."""
    ended = run(function, *arguments, within=within)
    assert ended.status == 0, f"ended with {ended.status}, said {ended.said}\n{ended.errors}"
    return ended.said


def say(value: Any) -> None:
    print(json.dumps(value), flush=True)


def outcome(action: Callable[[], Any]) -> str:
    """ "ok", or the code of the error that was raised; an error that is not ours, or has no hint, says so."""
    try:
        action()
    except vk.ViewkeeperError as error:
        return error.code if error.hint else f"{error.code} without a hint: {error}"
    except BaseException as error:  # noqa: BLE001 - what it is, is the question
        return repr(error)
    return "ok"
