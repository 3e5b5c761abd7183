"""Rows that differ from the expected ones in sums of DOUBLE only, by more than the tolerance: right all the same?

A deviation can magnify the last digit of a sum ten thousand times. Where rows are stored apart from the states that
they follow from, as behind HAVING, such a row is right if a stored state gives it to the bit. The states themselves are
compared, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import Program, Storage
from viewkeeper.execute.encodedrows import RowEncoder
from viewkeeper.execute.groupstate import decode_state, finishers
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row

Doubt = tuple[bytes, bytes, bytes]
"""A stored key, the stored and the expected row."""
MOST = 100_000
"""Doubts that are kept to be settled; what is more counts as different."""


def states_of(program: Program) -> int | None:
    """The object whose states the rows of a view follow from; None where no row is stored apart from its state."""
    stages = program.tables.stages
    if program.storage is not Storage.KEYED or not stages or stages[-1].states is None:
        return None
    return stages[-1].states.id


def unsettled(program: Program, doubts: list[Doubt], states: Iterable[tuple[bytes, bytes]]) -> list[Doubt]:
    """The doubts whose stored rows no stored state gives."""
    given = {stored for _, stored, _ in doubts}.intersection(_given(program, states))
    return [doubt for doubt in doubts if doubt[1] not in given]


def _given(program: Program, states: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The encoded rows of a view that follow from the stored states of its last aggregate."""
    layout, sink = program.tables.stages[-1].states, program.plan.stages[-2].sink
    assert layout is not None
    assert isinstance(sink, AggregateSink)
    codec, encoder = RowCodec(layout), RowEncoder(program)
    pipe, finish = Pipe(program.plan.stages[-1].linear), finishers(sink)
    for _, value in states:
        try:
            *group, state = codec.decode(value)
            known = decode_state(sink, state)  # type: ignore[arg-type]
            output: Row = (*group, *(one(known)[0] for one in finish))
            yield from encoder.encode([row for row, _ in pipe.run([(output, 1)])[0]])[1]
        except Exception:  # noqa: BLE001  bytes that nobody wrote may fail to decode in any way
            continue
