"""One CREATE statement, or one query, while it is bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from viewkeeper.errors import BadDefinition, Unsupported, WrongType
from viewkeeper.model.schema import Table
from viewkeeper.sql.constructs import start_of
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import at, unsupported
from viewkeeper.sql.query.refused import Refusal
from viewkeeper.sql.query.refused_queries import IN_QUERIES
from viewkeeper.sql.sources import Source

if TYPE_CHECKING:
    from viewkeeper.sql.query.columns import Columns
    from viewkeeper.sql.query.parameters import Parameters

Find = Callable[[str], Table | Source]

_PERIODIC = "or MAINTAIN PERIODIC n MINUTES in front of AS: the view is then computed whole at that interval."


@dataclass(slots=True, kw_only=True)
class Context:
    """`periodic` allows what has to be computed whole. `parameters` are those of a query; a view has none.

    `edits` are the pieces of the text to replace, by offset: the end, not included, and the new piece. `around` are the
    columns of the queries around the one that is being bound, outermost first, none of which it may read: each with
    the reason.
    """

    parsed: Parsed
    find: Find
    periodic: bool
    parameters: Parameters | None = None
    edits: dict[int, tuple[int, str]] = field(default_factory=dict)
    around: list[tuple[Columns, Refusal]] = field(default_factory=list)

    def start(self, node: exp.Expr) -> int:
        return start_of(node, self.parsed.start)

    def at(self, node: exp.Expr) -> str:
        return at(self.parsed.source, self.start(node))

    def is_comma(self, node: exp.Join) -> bool:
        """Whether a join is written as a comma."""
        return self.parsed.source[self.start(node) :][:1] == ","

    def refuse(self, node: exp.Expr, construct: str, *, detail: str, hint: str) -> Unsupported:
        return unsupported(self.parsed.source, self.start(node), construct, detail=detail, hint=hint)

    def refusal(self, node: exp.Expr, refusal: Refusal, name: str = "") -> Unsupported:
        """What refused.py says of a construct, or refused_queries.py; `name` if it is not the same each time."""
        told = refusal if self.parameters is None else IN_QUERIES.get(refusal, refusal)
        return self.refuse(node, name or told.name, detail=told.detail, hint=told.hint)

    def only_whole(self, node: exp.Expr, construct: str, *, detail: str, hint: str) -> None:
        """Unsupported, for a construct that needs all rows at once, unless the view is PERIODIC.

        `hint` is a sentence without its end, to which the other way out is added.
        """
        if not self.periodic:
            raise self.refuse(node, construct, detail=detail, hint=f"{hint}, {_PERIODIC}")

    def bad(self, node: exp.Expr, problem: str, *, detail: str = "", hint: str = "") -> BadDefinition:
        return BadDefinition(f"{problem}, {self.at(node)}", detail=detail, hint=hint)

    def wrong_type(self, node: exp.Expr, problem: str, *, detail: str = "", hint: str = "") -> WrongType:
        return WrongType(f"{problem}, {self.at(node)}", detail=detail, hint=hint)
