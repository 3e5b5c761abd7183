"""The tree of errors: its drawing, its codes, its texts, and its way through pickle."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from viewkeeper import errors
from viewkeeper.errors import Conflict, ViewkeeperError


def subclasses(kind: type[ViewkeeperError]) -> list[type[ViewkeeperError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in subclasses(child))]


EVERY_ERROR = [kind for kind in subclasses(ViewkeeperError) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", EVERY_ERROR)
def test_pickle_and_copy_keep_class_message_detail_and_hint(kind: type[ViewkeeperError]) -> None:
    error = kind('row "é" is wrong', detail="Because.", hint="Do so.")
    pickled = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in (*pickled, copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert (again.message, again.detail, again.hint) == ('row "é" is wrong', "Because.", "Do so.")
        assert again.args == error.args
        assert str(again) == str(error)


def test_str_shows_only_what_there_is_to_say() -> None:
    assert str(Conflict("m")) == "m"
    assert str(Conflict("m", detail="D.")) == "m\n  detail: D."
    assert str(Conflict("m", hint="H.")) == "m\n  hint: H."
    assert str(Conflict("m", detail="D.", hint="H.")) == "m\n  detail: D.\n  hint: H."


def test_message_alone_is_in_args() -> None:
    assert Conflict("m", detail="D.", hint="H.").args == ("m",)


def test_codes_are_unique_and_follow_the_tree() -> None:
    codes = [kind.code for kind in EVERY_ERROR]
    assert len(set(codes)) == len(codes)
    for kind in EVERY_ERROR:
        for parent in kind.__bases__:
            if parent not in (Exception, ViewkeeperError):
                assert issubclass(parent, ViewkeeperError)
                assert re.fullmatch(rf"{parent.code}\.[a-z_]+", kind.code), kind


def test_drawing_in_the_docstring_is_the_tree() -> None:
    drawing = (errors.__doc__ or "").split("\n\n")[1]
    drawn: dict[str, str] = {}
    above = {0: "ViewkeeperError"}
    for line in drawing.splitlines():
        names = re.findall(r"\b[A-Z][A-Za-z]+\b", line)
        if "──" in line:
            depth = line.index("──") // 4
            drawn.update(dict.fromkeys(names, above[depth - 1]))
            above[depth] = names[0]
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in EVERY_ERROR if kind is not ViewkeeperError}


def test_codes_do_not_change() -> None:
    """Programs match on these: an error may come to the list, none may leave it or change."""
    published = {
        "ViewkeeperError": "error",
        "DefinitionError": "definition",
        "UnknownTable": "definition.unknown_table",
        "UnknownColumn": "definition.unknown_column",
        "TableExists": "definition.table_exists",
        "BadDefinition": "definition.bad",
        "DataError": "data",
        "WrongType": "data.wrong_type",
        "OutOfRange": "data.out_of_range",
        "NullKey": "data.null_key",
        "BadText": "data.bad_text",
        "KeyTooLong": "data.key_too_long",
        "RowTooLarge": "data.row_too_large",
        "MissingColumn": "data.missing_column",
        "KeyExists": "data.key_exists",
        "CardinalityExceeded": "data.cardinality_exceeded",
        "BadRow": "data.bad_row",
        "SqlError": "sql",
        "SqlSyntax": "sql.syntax",
        "Unsupported": "sql.unsupported",
        "BadParameter": "sql.bad_parameter",
        "TooManyRows": "sql.too_many_rows",
        "TransactionError": "transaction",
        "Conflict": "transaction.conflict",
        "TransactionOver": "transaction.over",
        "ReadError": "read",
        "RowsConsumed": "read.rows_consumed",
        "ViewNotReady": "read.view_not_ready",
        "ViewBehind": "read.view_behind",
        "NotUnique": "read.not_unique",
        "PositionError": "position",
        "BadPosition": "position.bad",
        "ForeignPosition": "position.foreign",
        "FuturePosition": "position.future",
        "NotRetained": "position.not_retained",
        "StoreError": "store",
        "NotADatabase": "store.not_a_database",
        "NewerFormat": "store.newer_format",
        "DurabilityMismatch": "store.durability_mismatch",
        "ReadOnly": "store.read_only",
        "StoreFull": "store.full",
        "StoreDamaged": "store.damaged",
        "ForkedHandle": "store.forked_handle",
        "Closed": "store.closed",
        "DiskError": "store.disk",
        "TooManyReaders": "store.too_many_readers",
        "LocksLost": "store.locks_lost",
    }
    codes = {kind.__name__: kind.code for kind in EVERY_ERROR}
    assert {name: codes.get(name) for name in published} == published
