"""How the demo speaks: headings, statements, results. Readable without colour."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from viewkeeper.cli.output import console, table_of
from viewkeeper.errors import ViewkeeperError


class Stage:
    """Prints the story on standard output."""

    def __init__(self) -> None:
        self._console = console()
        self._scene = 0

    def scene(self, title: str) -> None:
        self._scene += 1
        self._console.print(f"\n{self._scene}. {title}", style="bold cyan")

    def say(self, text: str) -> None:
        self._console.print(text)

    def code(self, text: str) -> None:
        for line in text.strip().splitlines():
            self._console.print(f"   > {line}", style="green")

    def rows(self, rows: list[dict[str, Any]]) -> None:
        from rich.padding import Padding

        self._console.print(Padding(table_of(list(rows[0]), rows), (0, 0, 0, 3), expand=False))

    def refusal(self, error: ViewkeeperError) -> None:
        self._console.print(f"   error[{error.code}]: {error.message}", style="red")
        for name, text in (("detail", error.detail), ("hint", error.hint)):
            if text:
                self._console.print(f"     {name}: {text}", style="dim")


def microseconds(action: Callable[[], Any], times: int) -> float:
    """The median time of an action, without the first calls that fill caches."""
    taken = []
    for _ in range(times):
        start = perf_counter_ns()
        action()
        taken.append(perf_counter_ns() - start)
    return sorted(taken)[times // 2] / 1000
