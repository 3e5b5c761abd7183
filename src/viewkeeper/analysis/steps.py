"""A plan for people: its reads with their bounds, then what is done in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.reads import Reads
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.sqltext import sql
from viewkeeper.plan.access import Access, Found, Operand
from viewkeeper.plan.expr import Literal, Parameter


def described(block: Block, reads: Reads, schema: Schema) -> str:
    """One line a step."""
    return "\n".join(_lines(block, reads, schema))


def _lines(block: Block, reads: Reads, schema: Schema) -> Iterator[str]:
    for number, access in enumerate(reads.accesses, 1):
        yield f"{number}. {_access(block, reads, access, schema)}"
    number = len(reads.accesses)
    for step in _local(block, any(access.condition is not None for access in reads.accesses)):
        number += 1
        yield f"{number}. {step}"


def _local(block: Block, filtered: bool) -> Iterator[str]:
    """What is done with the rows that were read."""
    joined = sum(source.stored is not None for source in block.sources) > 1
    if joined or filtered:
        yield "local join" if joined and not filtered else "local join and filter" if joined else "local filter"
    if block.group is not None:
        yield "local aggregate"
    if block.distinct:
        yield "local distinct"
    if block.order:
        yield "local sort"
    if block.limit is not None:
        yield f"stop at {block.limit_max if block.limit_max is not None else _operand_text(block.limit)}"


def _operand_text(limit: object) -> str:
    return f":{limit.key}" if isinstance(limit, Parameter) else str(limit)


def _access(block: Block, reads: Reads, access: Access, schema: Schema) -> str:
    stored = schema[access.object]
    names = [stored.columns[column].name.lstrip("_") for column in stored.key]
    parts = []
    for name, values in zip(names, access.equal, strict=False):
        texts = list(dict.fromkeys(_operand(value, reads, schema) for value in values))
        parts.append(f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in ({', '.join(texts)})")
    behind = names[len(access.equal)] if len(names) > len(access.equal) else ""
    for bound, signs in ((access.lower, (">", ">=")), (access.upper, ("<", "<="))):
        if bound is not None:
            parts.append(f"{behind} {signs[bound[1]]} {_operand(bound[0], reads, schema)}")
    if access.starts is not None:
        parts.append(f"{behind} LIKE {_operand(access.starts, reads, schema)}")
    text = f"{access.kind} {access.name}"
    if parts:
        text += f" ({', '.join(parts)})"
    if access.limit is not None:
        most = access.limit if isinstance(access.limit, int) else block.rows_wanted
        text += f", first {most:,}" if most is not None else ""
        text += " backwards" if access.reverse else ""
        text += " of each key" if access.kind == "sorted index join" else ""
    return f"{text}: {_count(access.operations, 'operation')}, {_count(access.rows, 'row')}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _operand(operand: Operand, reads: Reads, schema: Schema) -> str:
    match operand:
        case Found(access=number, column=column):
            source = reads.accesses[number]
            return f"{source.name}.{schema[source.object].columns[column].name.lstrip('_')}"
        case Parameter(key):
            return f":{key}" if isinstance(key, str) else "?"
        case Literal():
            return sql(operand, lambda _: "")
    assert_never(operand)
