"""Names and places of what sqlglot read, for errors."""

from __future__ import annotations

from sqlglot import exp

_WORDS: dict[type[exp.Expr], str] = {
    exp.And: "AND",
    exp.Or: "OR",
    exp.Not: "NOT",
    exp.NEQ: "operator <>",
    exp.NullSafeEQ: "operator <=>",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Is: "IS",
    exp.Exists: "EXISTS",
    exp.RegexpLike: "RLIKE",
    exp.Add: "operator +",
    exp.Sub: "operator -",
    exp.Neg: "operator -",
    exp.Mul: "operator *",
    exp.Div: "operator /",
    exp.Mod: "operator %",
    exp.IntDiv: "operator DIV",
    exp.DPipe: "operator ||",
    exp.BitwiseAnd: "operator &",
    exp.BitwiseOr: "operator |",
    exp.BitwiseXor: "operator ^",
    exp.BitwiseNot: "operator ~",
    exp.BitwiseLeftShift: "operator <<",
    exp.BitwiseRightShift: "operator >>",
    exp.Star: "*",
    exp.Cast: "CAST",
    exp.TryCast: "CAST",
    exp.Case: "CASE",
    exp.Window: "OVER",
    exp.Tuple: "a tuple",
    exp.Struct: "a structure",
    exp.Bracket: "[…]",
    exp.Placeholder: "a parameter",
    exp.National: "N'…'",
    exp.Union: "UNION",
    exp.Except: "EXCEPT",
    exp.Intersect: "INTERSECT",
}


def construct(node: exp.Expr) -> str:
    """What a node is called in SQL."""
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Is | exp.In | exp.Between):
        return f"IS NOT {node.this.expression}" if isinstance(node.this, exp.Is) else f"NOT {construct(node.this)}"
    word = _WORDS.get(type(node))
    if word is not None:
        return word
    if isinstance(node, exp.Query):
        return "a sub-query"
    if isinstance(node, exp.Column):
        return f'column "{node.name}"'
    if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        return f"the constant {node.sql()}"
    if isinstance(node, exp.Anonymous):
        return f"function {node.name.upper()}"
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        return f"function {node.sql_name()}"
    return node.key.upper()


def start_of(node: exp.Expr, default: int) -> int:
    """The offset of a node: its own, else that of the first thing in it that has one, else `default`."""
    own = node.meta.get("start")
    if own is not None:
        return int(own)
    return min((int(part.meta["start"]) for part in node.walk() if "start" in part.meta), default=default)


def bare(node: exp.Expr) -> exp.Expr:
    """The node without parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node
