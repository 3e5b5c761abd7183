"""How many rows a view has at most: a factor of the rows of one of its tables.

From the key of each table the attributes that follow are gathered, by the dependencies of the view; if all columns of
all tables are reached, or all group columns, there are at most the product of the weights used as many rows as in that
table. The least such factor is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from viewkeeper.analysis.block import WORD, Block, Source, SourceKind, aliases
from viewkeeper.analysis.dependencies import Dependency, dependencies, is_given, reach, unreached
from viewkeeper.analysis.kept import kept_by_view
from viewkeeper.analysis.paths import branches, definition_of, window_rows
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.sqltext import sql
from viewkeeper.plan.expr import Call, Expr, Input

ONE_ROW = "one row"
"""What a view is a factor of that has no more rows however many its tables have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageBound:
    """At most `factor` × the rows of `table`; without a factor, `unreached` are the columns that nothing limits."""

    factor: int | None
    table: str
    unreached: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()


@kept_by_view
def storage_bound(view: Stored, schema: Schema) -> StorageBound:
    """How many rows a view has at most; one that is a UNION ALL, over all its tables together."""
    parts = [_bound_of_branch(branch, schema) for branch in branches(view)]
    if len(parts) == 1:
        return parts[0]
    factors: dict[str, int] = {}
    for part in parts:
        if part.factor is None:
            return part
        factors[part.table] = factors.get(part.table, 0) + part.factor
    return StorageBound(
        factor=max(factors.values()),
        table=_together(factors),
        dependencies=tuple(dict.fromkeys(one for part in parts for one in part.dependencies)),
    )


def largest(views: Sequence[Stored], schema: Schema) -> tuple[int, str] | None:
    """How many rows each of some views has at most: a factor of a table, or of several tables together."""
    factors: dict[str, int] = {}
    for view in views:
        bound = storage_bound(view, schema)
        if bound.factor is not None:
            factors[bound.table] = max(bound.factor, factors.get(bound.table, 0))
    growing = {table: factor for table, factor in factors.items() if table != ONE_ROW}
    found = growing or factors
    return (max(found.values()), _together(found)) if found else None


def _together(tables: Iterable[str]) -> str:
    """Several tables as one name."""
    names = list(dict.fromkeys(name for table in tables for name in table.strip("()").split(" + ")))
    return names[0] if len(names) == 1 else f"({' + '.join(names)})"


def _bound_of_branch(view: Stored, schema: Schema) -> StorageBound:
    known = definition_of(view, schema)
    if known is None:
        return StorageBound(factor=None, table="", unreached=("what its definition is made of",))
    return bound_of_block(known.block, schema)


def bound_of_block(block: Block, schema: Schema) -> StorageBound:
    """How many rows the definition of a view gives at most, before any limit of its own."""
    if block.limit_max is not None:
        return StorageBound(factor=block.limit_max, table=ONE_ROW)
    steps = dependencies(block)
    shown = tuple(described(block, steps))
    targets = _targets(block)
    if block.group is not None and not block.group:
        return StorageBound(factor=1, table=ONE_ROW, dependencies=shown)
    best: StorageBound | None = None
    missing: list[Expr] | None = None
    deeper: tuple[str, ...] = ()
    for source in block.sources:
        if source.stored is None or source.kind in (SourceKind.SEMI, SourceKind.ANTI) or source.stored.unique is None:
            continue
        key = _key(source)
        found = reach(key, targets, steps)
        if found is None:
            left = unreached(key, targets, steps)
            missing = left if missing is None or len(left) < len(missing) else missing
            continue
        factor, table = found.factor * block.factor, source.stored.name
        if not source.stored.is_table:
            below = storage_bound(source.stored, schema)
            if below.factor is None:
                deeper = below.unreached
                continue
            factor, table = factor * below.factor, below.table
        if best is None or (best.factor is not None and factor < best.factor):
            best = StorageBound(factor=factor, table=table, dependencies=shown)
    best = best or _of_window(block, schema)
    if best is not None:
        return best
    names = tuple(sql(expr, lambda one: block.name(one.index)) for expr in missing or ()) or deeper
    return StorageBound(factor=None, table="", unreached=names, dependencies=shown)


def _of_window(block: Block, schema: Schema) -> StorageBound | None:
    """The bound of what is over a window: for each of its rows, as many as are looked up from one; None without."""
    rows = window_rows(block, schema)
    if rows is None:
        return None
    inner = next(part for source in block.sources if source.derived is not None for part in source.derived.parts)
    assert inner.rows_wanted is not None
    below = bound_of_block(replace(inner, limit=None, limit_max=None, offset=0), schema)
    if below.factor is None:
        return None
    return replace(below, factor=rows // inner.rows_wanted * below.factor)


def _key(source: Source) -> list[Expr]:
    assert source.stored is not None
    stored = source.stored
    return [Input(source.start + n, stored.columns[n].type) for n in sorted(stored.unique or ())]


def _targets(block: Block) -> list[Expr]:
    """What has to be reached: the group columns, or all columns of all tables, and every word that is shown."""
    if block.group is not None:
        return [expr for expr in block.group if not is_given(expr)]
    found: list[Expr] = []
    for source in block.sources:
        if source.stored is not None and source.kind in (SourceKind.INNER, SourceKind.LEFT):
            if source.stored.unique is None:
                found.append(
                    Call(
                        "rows of", (Input(source.start, source.stored.columns[0].type),), source.stored.columns[0].type
                    )
                )
            else:
                found += _key(source)
    found += [expr for expr in block.outputs if isinstance(expr, Call) and expr.name == WORD]
    return found


def described(block: Block, steps: Sequence[Dependency]) -> list[str]:
    """Dependencies as they are written in the paper that they are from."""
    short = aliases([source.name for source in block.sources])

    def name(column: Input) -> str:
        number = block.source_at(column.index)
        source = block.sources[number]
        columns = source.stored.columns if source.stored is not None else None
        text = columns[column.index - source.start].name if columns else str(column.index - source.start)
        return f"{short[number]}.{text}"

    def side(exprs: frozenset[Expr]) -> str:
        texts = [sql(expr, name) for expr in sorted(exprs, key=lambda one: (getattr(one, "index", 0), repr(one)))]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})" if texts else "∅"

    found: list[str] = []
    seen: set[frozenset[frozenset[Expr]]] = set()
    for step in steps:
        both = frozenset({step.given, step.found})
        if both in seen:
            continue
        mutual = any(other.given == step.found and other.found == step.given for other in steps)
        arrow = "↔" if mutual else "→" if step.weight == 1 else f"→{step.weight}"
        seen.add(both)
        found.append(f"{side(step.given)} {arrow} {side(step.found)}")
    return found
