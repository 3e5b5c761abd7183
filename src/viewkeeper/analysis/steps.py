"""A plan for people: its reads with their bounds, then what is done in memory.

What cannot change anything is left out: a filter where the keys of the reads see to every condition, and a sort where
the rows of one source are read in the order wanted. Of joins and groups it is not known in which order they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from viewkeeper.analysis.block import Block, conjuncts_of
from viewkeeper.analysis.reads import Reads
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.sqltext import sql
from viewkeeper.plan.access import Access, Beyond, Found, Operand
from viewkeeper.plan.expr import Call, Expr, Input, Literal, Parameter
from viewkeeper.plan.relation import Project, Scan, scans


def described(block: Block, reads: Reads, schema: Schema) -> str:
    """One line a step."""
    return "\n".join(_lines(block, reads, schema))


def _lines(block: Block, reads: Reads, schema: Schema) -> Iterator[str]:
    for number, access in enumerate(reads.accesses, 1):
        yield f"{number}. {_access(block, reads, access, schema)}"
    number = len(reads.accesses)
    for step in _local(block, reads, schema):
        number += 1
        yield f"{number}. {step}"


def _local(block: Block, reads: Reads, schema: Schema) -> Iterator[str]:
    """What is done with the rows that were read."""
    filtered = any(_is_filtered(access, block, reads, schema) for access in reads.accesses)
    joined = sum(source.stored is not None for source in block.sources) > 1
    if joined or filtered:
        yield "local join" if joined and not filtered else "local join and filter" if joined else "local filter"
    if block.group is not None:
        yield "local aggregate"
    if block.distinct:
        yield "local distinct"
    if block.order and not _is_in_order(block, reads, schema):
        yield "local sort"
    if block.limit is not None:
        yield f"stop at {block.limit_max if block.limit_max is not None else _operand_text(block.limit)}"


def _is_filtered(access: Access, block: Block, reads: Reads, schema: Schema) -> bool:
    """Whether rows that a read finds may have to be dropped again."""
    if access.condition is None or access.leaf is None:
        return False
    columns = list(scans(block.relation))[access.leaf].columns
    return not all(_is_seen_to(one, columns, access, reads, schema) for one in conjuncts_of(access.condition))


def _is_seen_to(condition: Expr, columns: Sequence[int], access: Access, reads: Reads, schema: Schema) -> bool:
    """Whether a condition over some columns of what is read compares a column of the key as the key does."""
    if not isinstance(condition, Call) or condition.name != "=":
        return False
    for one, other in (condition.args, condition.args[::-1]):
        if isinstance(one, Input):
            column = columns[one.index]
            place = column if access.shows is None else access.shows[column]
            fixed = dict(zip(schema[access.object].key, access.equal, strict=False))
            if place is not None and fixed.get(place) == (other,):
                return True
            if _by_entries(access, reads, schema).get(column) == (other,):
                return True
    return False


def _by_entries(access: Access, reads: Reads, schema: Schema) -> dict[int, tuple[Operand, ...]]:
    """The columns of a table that have one value each in the entries of an index by which its rows are looked up."""
    first = next((one.access for values in access.equal for one in values if isinstance(one, Found)), None)
    entries = None if first is None else reads.accesses[first]
    plan = None if entries is None or entries.leaf is not None else schema[entries.object].plan
    if entries is None or not isinstance(plan, Project) or not isinstance(plan.input, Scan):
        return {}
    if plan.input.object != access.object:
        return {}
    shown = [plan.exprs[column] for column in schema[entries.object].key]
    return {
        plan.input.columns[expr.index]: values
        for expr, values in zip(shown, entries.equal, strict=False)
        if isinstance(expr, Input)
    }


def _is_in_order(block: Block, reads: Reads, schema: Schema) -> bool:
    """Whether the rows of one source are read in the order wanted."""
    if len(block.sources) != 1 or block.sources[0].stored is None or block.group is not None or block.distinct:
        return False
    first, known = reads.accesses[0], reads.known[0]
    if any(len(values) > 1 for values in first.equal) or (first.words and first.starts is not None):
        return False
    if first.limit is not None:
        # Only then the first rows are enough.
        return True
    if first.reverse or len(reads.accesses) > 1:
        return False
    stored = schema[first.object]
    fixed = set(stored.key[: len(first.equal)])
    behind = list(zip(stored.key, stored.descending, strict=True))[len(first.equal) :]
    for sort in block.order:
        if stored.unique is not None and stored.unique <= fixed:
            return True
        column = known.columns.get(block.outputs[sort.column])
        if column in fixed:
            continue
        if column is None or not behind or behind.pop(0) != (column, sort.descending):
            return False
        fixed.add(column)
    return True


def _operand_text(limit: object) -> str:
    return limit.written if isinstance(limit, Parameter) else str(limit)


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
    if access.not_null:
        parts.append(f"{behind} IS NOT NULL")
    if access.beyond is not None:
        parts.append(_beyond(access.beyond, names[len(access.equal) :], stored.descending[len(access.equal) :]))
    text = f"{access.kind} {access.name}"
    if parts:
        text += f" ({', '.join(parts)})"
    if access.limit is not None:
        most = access.limit if isinstance(access.limit, int) else block.rows_wanted
        text += f", first {most:,}" if most is not None else ""
        text += " backwards" if access.reverse else ""
        text += " of each key" if access.kind == "sorted index join" else ""
    return f"{text}: {_count(access.operations, 'operation')}, {_count(access.rows, 'row')}"


def _beyond(beyond: Beyond, names: Sequence[str], descending: Sequence[bool]) -> str:
    """As a comparison of rows; column by column, if not all are compared alike."""
    signs = ["<" if down is not beyond.before else ">" for _, down in zip(beyond.values, descending, strict=False)]
    values = [one.written if isinstance(one, Parameter) else sql(one, lambda _: "") for one in beyond.values]
    last = "=" * beyond.inclusive
    if len(set(signs)) == 1:
        return f"({', '.join(names[: len(values)])}) {signs[0]}{last} ({', '.join(values)})"
    signs[-1] += last
    same: list[str] = []
    sides = []
    for name, sign, value in zip(names, signs, values, strict=False):
        sides.append(" and ".join((*same, f"{name} {sign} {value}")))
        same.append(f"{name} = {value}")
    return " or ".join(sides)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _operand(operand: Operand, reads: Reads, schema: Schema) -> str:
    match operand:
        case Found(access=number, column=column):
            source = reads.accesses[number]
            return f"{source.name}.{schema[source.object].columns[column].name.lstrip('_')}"
        case Parameter():
            return operand.written
        case Literal():
            return sql(operand, lambda _: "")
    assert_never(operand)
