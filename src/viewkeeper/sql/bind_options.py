"""SET: the options of a database, each with its values."""

from __future__ import annotations

from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import unsupported
from viewkeeper.sql.statements import SetOption
from viewkeeper.sql.tree import SetTree

OPTIONS: dict[str, tuple[str, ...]] = {"scale_independence": ("warn", "strict")}
"""The values of each option, its default first.

`scale_independence`: whether a view whose cost has no bound is made with a warning, or refused.
"""


def bind_option(parsed: Parsed, tree: SetTree) -> SetOption:
    """The option and its value, lowered; Unsupported with the choices if there is no such one."""
    name, value = tree.option.text.lower(), tree.value.text.lower()
    choices = OPTIONS.get(name)
    if choices is None:
        raise unsupported(
            parsed.source,
            tree.option.start,
            f'the option "{tree.option.text}"',
            detail=f"The options are {', '.join(OPTIONS)}.",
            hint="db.configure(…) sets how long the log is kept and how many rows a statement may write.",
        )
    if value not in choices:
        raise unsupported(
            parsed.source,
            tree.value.start,
            f'the value "{tree.value.text}" of option {name}',
            detail=f"The values are {' and '.join(choices)}; {choices[0]} is the default.",
            hint=f"Write {' or '.join(f'SET {name} = {choice}' for choice in choices)}.",
        )
    return SetOption(name=name, value=value)
