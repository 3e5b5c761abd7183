"""Every order of the steps of small scripts keeps what reads are promised."""

from __future__ import annotations

from pathlib import Path

import pytest

import viewkeeper as vk
from tests.histories.checker import check
from tests.histories.history import Event
from tests.histories.interleaving import merges
from tests.histories.scripts import (
    Script,
    World,
    copy_of,
    fold,
    maintain,
    maintain_late,
    one_put,
    prepare,
    puts,
    reads,
    replace_view,
    session,
    shop_views,
    snapshot,
    snapshot_behind_fold,
)
from tests.histories.shop import BASE

MODES = ("DEFERRED",)
SETS: dict[str, tuple[Script, ...]] = {
    "reads beside a maintainer": (puts, reads, maintain),
    "two maintainers": (puts, maintain, maintain),
    "a snapshot": (puts, snapshot, maintain),
    "a snapshot behind a fold": (one_put, snapshot_behind_fold, maintain),
    "a session": (one_put, session, maintain),
    "a fold that is committed late": (puts, fold, reads),
    "a fold beside a maintainer": (one_put, fold, maintain),
    "a view replaced": (one_put, replace_view("Totals"), reads),
    "a view replaced beside a maintainer": (one_put, replace_view("Totals"), maintain),
    "a view replaced behind the back of a maintainer": (one_put, replace_view("Joined"), maintain_late),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SETS)
def test_every_order_of_steps_keeps_what_reads_are_promised(
    name: str, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "template"
    first = prepare(template, mode)
    orders = list(merges([1 if script is one_put else 2 for script in SETS[name]]))
    checked = sum(
        run(copy_of(template, tmp_path / str(number)), SETS[name], order, mode, first)
        for number, order in enumerate(orders)
    )
    with capsys.disabled():
        print(f"\n{name}, {mode}: {len(orders)} orders, {checked:,} reads checked", end="", flush=True)


def run(path: Path, scripts: tuple[Script, ...], order: tuple[int, ...], mode: str, first: list[Event]) -> int:
    """One order of steps on a database of its own; how many reads were checked."""
    views = shop_views(mode)
    with (
        pytest.MonkeyPatch.context() as patch,
        vk.open(path) as db,
        vk.open(path) as other,
        vk.open(path, read_only=True) as w,
    ):
        world = World(db, other, w, patch, mode, views, [*first])
        steps = [iter(script(world)) for script in scripts]
        for script in order:
            next(steps[script])()
            world.look()
        history = world.history()
    found = check(history, (*BASE, *views))
    assert not found, f"order {order}:\n" + "\n".join(map(str, found))
    return len(history.reads)
