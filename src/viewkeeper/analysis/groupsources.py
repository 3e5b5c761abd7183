"""Groups in FROM, answered from a view of these groups: what is joined with them then looks single groups up.

    posts LEFT JOIN (SELECT post, COUNT(*) AS n FROM likes GROUP BY post) l ON l.post = posts.id

reads all likes for the groups of a few posts. Over a view of the same groups it is one lookup a post.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from viewkeeper.analysis.block import Block, NotAnalysed, Source
from viewkeeper.analysis.build import placed, relation_of
from viewkeeper.analysis.conditions import core
from viewkeeper.analysis.construct import Refused, construct
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.matching import rewritten
from viewkeeper.analysis.overviews import ungrouped
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound
from viewkeeper.plan.expr import Expr, Input, rewrite
from viewkeeper.plan.filling import parameters_in


@dataclass(frozen=True, slots=True)
class OverGroups:
    """A block with views in place of all groups in its FROM; `made` are those of them that do not exist yet."""

    block: Block
    made: tuple[Stored, ...] = ()


def over_groups(block: Block, schema: Schema, name: str) -> OverGroups | None:
    """The block over views of the groups in its FROM, made where there are none; None if there are none in FROM.

    Also None where one of them is not of all groups of something, or its maintenance has no bound.
    """
    found = OverGroups(block)
    while (number := _first_derived(found.block)) is not None:
        part = _groups_of(found.block.sources[number])
        if part is None:
            return None
        known = schema.with_objects(*found.made)
        again = _existing(found.block, number, part, known) or _new(found.block, number, part, known, name)
        if again is None:
            return None
        found = OverGroups(again.block, (*found.made, *again.made))
    return None if found.block is block else found


def _first_derived(block: Block) -> int | None:
    """The place of the first query in FROM; asked anew of each block, as sources are put in another order."""
    return next((number for number, source in enumerate(block.sources) if source.derived is not None), None)


def _groups_of(source: Source) -> Block | None:
    """What a source is, if that is all groups of something."""
    assert source.derived is not None
    if len(source.derived.parts) != 1 or not source.derived.outputs:
        # Of several parts, or with more columns: those of window functions.
        return None
    (part,) = source.derived.parts
    exprs = (*part.conjuncts, *part.outputs, *(part.group or ()))
    is_whole = part.limit is None and not part.order and not part.offset and not part.having and part.factor == 1
    is_fixed = not any(True for expr in exprs for _ in parameters_in(expr))
    return part if part.group and is_whole and is_fixed else None


def _existing(block: Block, number: int, part: Block, schema: Schema) -> OverGroups | None:
    for view in schema.views():
        if view.mode != "PERIODIC":
            for again in _over(block, number, part, view, schema):
                return OverGroups(again)
    return None


def _new(block: Block, number: int, part: Block, schema: Schema, name: str) -> OverGroups | None:
    table = part.sources[0].name
    wanted = schema.name_for(name, table, "Groups")
    try:
        made = construct(part, wanted, schema.next_id()).stored
    except (Refused, NotAnalysed):
        return None
    known = schema.with_objects(made)
    if storage_bound(made, known).factor is None or made.id in totals(known).unlimited:
        return None
    again = next(_over(block, number, part, made, known), None)
    return None if again is None else OverGroups(again, (made,))


def _over(block: Block, number: int, part: Block, view: Stored, schema: Schema) -> Iterator[Block]:
    """The block with a view in place of a source, if the view has just its rows and the block can be written anew."""
    for again in rewritten(part, view, schema):
        flat = ungrouped(again, schema)
        if flat is None or flat.conjuncts or len(flat.sources) != 1:
            continue
        shown = [core(expr) for expr in flat.outputs]
        columns = [expr.index for expr in shown if isinstance(expr, Input)]
        if len(columns) == len(shown):
            with suppress(NotAnalysed):
                yield _replaced(block, number, view, columns)


def _replaced(block: Block, number: int, view: Stored, columns: list[int]) -> Block:
    old = block.sources[number]
    stands = replace(old, width=len(view.columns), name=view.name, stored=view, derived=None)
    sources, moved = placed([stands if one is old else one for one in block.sources])

    def one(column: Input) -> Expr:
        source = block.sources[block.source_at(column.index)]
        place = column.index - source.start
        return Input(moved[source.start] + (columns[place] if source is old else place), column.type)

    def translate(expr: Expr) -> Expr:
        return rewrite(expr, one)

    made = replace(
        block,
        sources=tuple(replace(source, on=tuple(map(translate, source.on))) for source in sources),
        conjuncts=tuple(map(translate, block.conjuncts)),
        outputs=tuple(map(translate, block.outputs)) if block.group is None else block.outputs,
        group=None if block.group is None else tuple(map(translate, block.group)),
        arguments=tuple(None if argument is None else translate(argument) for argument in block.arguments),
    )
    return replace(made, relation=relation_of(made))
