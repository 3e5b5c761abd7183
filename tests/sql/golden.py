"""Refused texts and their errors, word for word: golden/*.txt.

    case  := text "\\n=> " code "\\n" error "\\n"
    file  := case ("\\n====\\n" case)*

Those of golden/queries.txt are queries whose parameters have no values yet. `python -m tests.sql.golden` writes the
errors anew; read the difference before you keep it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sql.tables import catalog
from viewkeeper.errors import ViewkeeperError
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse

FOLDER = Path(__file__).parent / "golden"
_BETWEEN = "\n====\n"
_GIVES = "\n=> "


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def cases(file: Path) -> list[tuple[str, str]]:
    """The texts of a file, each with the error that it has to give."""
    pairs = (case.strip("\n").partition(_GIVES) for case in file.read_text(encoding="utf-8").split(_BETWEEN))
    return [(text, expected) for text, _, expected in pairs]


QUERIES = "queries"
"""The file of SELECTs that are bound with their parameters open."""


def error_of(text: str, kind: str = "") -> str:
    """The code and the error of a text over the tables of tables.py; every parameter is 1, in queries it is open."""
    try:
        if kind == QUERIES:
            (parsed,) = parse(text)
            query_of(parsed, catalog().find)
        else:
            catalog().run(text, _params(text))
    except ViewkeeperError as error:
        return f"{error.code}\n{error}"
    return "accepted"


def _params(text: str) -> Any:
    return {"p": 1} if ":p" in text else [1] * text.count("?") if "?" in text else None


if __name__ == "__main__":
    for file in files():
        written = (f"{text}{_GIVES}{error_of(text, file.stem)}\n" for text, _ in cases(file))
        file.write_text(_BETWEEN.join(written), encoding="utf-8")
