"""The reads that answer a block with bounded work, in the order that takes the fewest.

One source after the other is read, by key columns whose values are constants or come from sources that were read
before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import le

from viewkeeper.analysis.block import Block, SourceKind
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.paths import Path
from viewkeeper.analysis.reading import Reading
from viewkeeper.analysis.reads import Known, Reads, Stuck, moved_known, renumbered
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.scope import Scope


class Search(Scope):
    """A search over one block; `paths` are the ways to read each source.

    What exists is preferred to what is to be made; with `widen`, fewer operations are.
    """

    def __init__(
        self,
        block: Block,
        schema: Schema,
        paths: Mapping[int, Sequence[Path]],
        conditions: Conditions,
        derived: Mapping[int, Reads],
        *,
        widen: bool = False,
    ) -> None:
        super().__init__(block, schema, conditions)
        self.widen = widen
        self.paths = paths
        self.derived = derived
        self.best: Reads | None = None
        self.stuck: list[Stuck] = []
        self.furthest = -1
        self._seen: dict[tuple[frozenset[int], bool, frozenset[int]], list[tuple[int, ...]]] = {}

    def run(self) -> Reads | None:
        """The cheapest way through all sources; None if there is none, and then `stuck` tells where it ends."""
        self._go(Reads())
        return self.best

    def _go(self, reads: Reads) -> None:
        if self.best is not None and self._cost(reads) >= self._cost(self.best):
            return
        left = [number for number in range(len(self.block.sources)) if number not in reads.known]
        if not left:
            self.best = reads
            return
        if self._is_beaten(reads):
            return
        stuck: list[Stuck] = []
        options: list[Reads] = []
        for number in left:
            found = self._worth_trying(self._next(reads, number, stuck))
            if any(self._is_sure(reads, option) for option in found):
                # One row by its key: nothing else is better, now or later.
                options = [option for option in found if self._is_sure(reads, option)][:1]
                break
            options += found
        for option in sorted(options, key=self._cost):
            self._go(option)
        if self.best is None and len(reads.known) >= self.furthest:
            if len(reads.known) > self.furthest:
                self.furthest, self.stuck = len(reads.known), []
            self.stuck += [one for one in stuck if one not in self.stuck]

    def _cost(self, reads: Reads) -> tuple[int, ...]:
        made, *work = reads.cost
        return (*work, made) if self.widen else reads.cost

    def _is_beaten(self, reads: Reads) -> bool:
        """Whether the same sources have been read before, as cheaply and with as few rows of each.

        Whatever comes next costs no less behind these reads than behind those. Without this, sources that all depend
        on one would be tried in every order.
        """
        kind = frozenset(reads.known), reads.limited, reads.made
        figures = (*reads.cost, reads.rows, *(one.rows for _, one in sorted(reads.known.items())))
        seen = self._seen.setdefault(kind, [])
        if any(all(map(le, before, figures)) for before in seen):
            return True
        seen.append(figures)
        return False

    def _is_sure(self, reads: Reads, option: Reads) -> bool:
        return option.rows == reads.rows and not option.limited and option.made == reads.made

    def _worth_trying(self, options: Iterable[Reads]) -> list[Reads]:
        """Of options of one kind only the cheapest: with new objects or without, limited or not."""
        best: dict[tuple[bool, bool], Reads] = {}
        for option in options:
            kind = bool(option.made), option.limited
            if kind not in best or self._cost(option) < self._cost(best[kind]):
                best[kind] = option
        return list(best.values())

    def _next(self, reads: Reads, number: int, stuck: list[Stuck]) -> Iterator[Reads]:
        source = self.block.sources[number]
        if reads.limited and source.kind is not SourceKind.LEFT:
            return
        if source.derived is not None:
            yield from self._derived(reads, number)
            return
        for path in self.paths[number]:
            found = Reading(self, reads, number, path)
            made = found.reads()
            if made is None:
                stuck.append(Stuck(number, path, found.fixed, frozenset(reads.known)))
            else:
                yield made

    def _derived(self, reads: Reads, number: int) -> Iterator[Reads]:
        inner = self.derived.get(number)
        if inner is None:
            return
        by = len(reads.accesses)
        accesses = tuple(renumbered(access, by) for access in inner.accesses)
        known = {key: moved_known(one, by) for key, one in inner.known.items()}
        yield Reads(
            accesses=(*reads.accesses, *accesses),
            known={**reads.known, number: Known(access=-1, columns={}, rows=inner.rows, inner=known)},
            rows=reads.rows * inner.rows,
            made=reads.made | inner.made,
        )
