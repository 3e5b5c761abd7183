"""Why a query has no bound, in sentences: which step, which attribute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viewkeeper.analysis.block import Block, SourceKind
from viewkeeper.analysis.conditions import core
from viewkeeper.analysis.construct import Refused
from viewkeeper.analysis.planning import NotPlanned
from viewkeeper.analysis.reads import Stuck
from viewkeeper.plan.expr import Input
from viewkeeper.plan.filling import ANY_LENGTH, parameters_in

NO_HELP = "even from one that is made for it, any number of rows would be read"
"""The refusal of a view that does not make fewer rows of the answer."""


def reason_of(failed: NotPlanned, refusals: Sequence[Refused]) -> str:
    """What stands in the way of a bounded plan, then of a view."""
    found = [_stuck(failed)]
    for refusal in refusals[-1:]:
        text = str(refusal)
        if text == NO_HELP:
            found += _shown_alike(failed)
        else:
            found.append(f"A view does not help: {text}{'' if text.endswith('.') else '.'}")
    return " ".join(found)


def _shown_alike(failed: NotPlanned) -> list[str]:
    """Why no view makes what is read fewer."""
    block = failed.block
    if any(True for conjunct in block.conjuncts for one in parameters_in(conjunct) if one.element == ANY_LENGTH):
        return []
    if block.rows_wanted is not None:
        return ["No order of rows puts those that it asks for side by side."]
    if failed.stuck and block.sources[_nearest(failed).source].kind in (SourceKind.SEMI, SourceKind.ANTI):
        return ["What EXISTS asks of them is not one range of keys, of which the first would do."]
    return ["So many rows may belong to its answer, however they are stored."]


def _stuck(failed: NotPlanned) -> str:
    block = failed.block
    lists = sorted(
        {str(one.key) for conjunct in block.conjuncts for one in parameters_in(conjunct) if one.element == ANY_LENGTH}
    )
    if lists:
        return f"The list :{lists[0]} may have any length."
    if not failed.stuck:
        return "Any number of rows may be read."
    return _sentence(block, _nearest(failed))


def _nearest(failed: NotPlanned) -> Stuck:
    """The read that has values for the most columns."""
    return max(failed.stuck, key=lambda one: len(fixed_columns(failed.block, one)))


def _sentence(block: Block, stuck: Stuck) -> str:
    source = block.sources[stuck.source]
    assert source.stored is not None
    columns = [source.stored.columns[n].name for n in fixed_columns(block, stuck)]
    name = source.stored.name
    if not columns:
        if block.rows_wanted is not None and block.group is None:
            return f'The scan of "{name}" may have to read any number of rows before LIMIT is reached.'
        return f'The scan of "{name}" reads all of its rows.'
    by = ", ".join(columns)
    step = "lookup" if source.kind is SourceKind.INNER and not stuck.read else "join"
    text = f'The {step} of "{name}" by {by} may find any number of rows'
    if block.limit is not None and block.limit_max is None:
        return f"{text}: LIMIT has no declared maximum."
    if block.rows_wanted is not None and block.group is None:
        return f"{text}, and LIMIT does not stop it: {_behind(block, stuck)}."
    return f"{text}."


def _behind(block: Block, stuck: Stuck) -> str:
    """What is done with the rows of a read before they are counted for LIMIT."""
    others = [one for number, one in enumerate(block.sources) if number != stuck.source and number not in stuck.read]
    dropping = [one.name for one in others if one.kind in (SourceKind.INNER, SourceKind.SEMI)]
    if dropping:
        return f"rows that have no partner in {_listed(dropping)} are dropped behind it"
    without = [one.name for one in others if one.kind is SourceKind.ANTI]
    if without:
        return f"rows that have a partner in {_listed(without)} are dropped behind it"
    if block.order:
        return f"rows are sorted by {_listed(list(_sorted_by(block)))} behind it, or dropped by a condition"
    return "rows are dropped by a condition behind it"


def _sorted_by(block: Block) -> Iterator[str]:
    """The columns of ORDER BY; what is only sorted by has no name of its own."""
    for sort in block.order:
        expr = core(block.outputs[sort.column])
        if isinstance(expr, Input):
            yield block.name(expr.index).split(".", 1)[1]
        elif sort.column < len(block.names):
            yield block.names[sort.column]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in dict.fromkeys(names))


def fixed_columns(block: Block, stuck: Stuck) -> list[int]:
    """The columns of the source itself that a read has values for."""
    start = block.sources[stuck.source].start
    shown = (stuck.path.shown[place] for place in stuck.fixed)
    return list(dict.fromkeys(expr.index - start for expr in shown if isinstance(expr, Input)))
