"""`viewkeeper sql`: scripts from everywhere, results, and where it stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import make, ok, run


def test_a_database_that_is_absent_is_made_and_announced(tmp_path: Path) -> None:
    done = run("sql", tmp_path / "new", "-c", "CREATE TABLE T (a INT PRIMARY KEY)")
    assert done.code == 0
    assert done.err == f'made a new database at "{tmp_path / "new"}"\n'
    assert run("sql", tmp_path / "new", "-c", "INSERT INTO T (a) VALUES (1)").err == ""


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    done = run("sql", tmp_path, "-c", "CREATE TABLE T (a INT PRIMARY KEY)")
    assert done.code == 1
    assert done.err.startswith("error[store.not_a_database]:")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


SCRIPT = "INSERT INTO Items (ItemID, Name) VALUES (1, 'a;b'), (2, NULL); -- two\nSELECT ItemID, Name FROM Items"


def test_statements_come_from_an_option_a_file_or_standard_input(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_text("\ufeff" + SCRIPT)
    expected = '{"ItemID": 1, "Name": "a;b"}\n{"ItemID": 2, "Name": null}\n'
    for number, (args, text) in enumerate([(["-c", SCRIPT], None), ([file], None), (["-"], SCRIPT), ([], SCRIPT)]):
        if number:
            ok("sql", shop, "-c", "DELETE FROM Items WHERE ItemID IN (1, 2)")
        done = run("sql", shop, *args, "--format", "json", text=text)
        assert (done.code, done.out) == (0, expected)
        assert done.err.startswith("INSERT: 2 rows, position ")


def test_each_statement_says_what_it_did(shop: Path) -> None:
    out = ok(
        *("sql", shop, "-c"),
        "INSERT INTO Items (ItemID) VALUES (1); UPDATE Items SET Name = 'x' WHERE ItemID = 1;"
        "DELETE FROM Items WHERE ItemID = 9; DROP TABLE Tags",
    )
    said = [line.partition(", position ") for line in out.splitlines()]
    assert [before for before, _, _ in said] == ["INSERT: 1 row", "UPDATE: 1 row", "DELETE: 0 rows", "DROP: done"]
    assert all("@" in position for _, _, position in said)


def test_the_results_of_every_select_are_printed(shop: Path) -> None:
    out = ok("sql", shop, "-c", "SELECT * FROM Items; SELECT * FROM Tags", "--format", "csv")
    assert out.splitlines() == ["ItemID,Name,Price,Weight,Label,Day,At,Sold", "docId,tag"]


def test_a_script_stops_at_its_first_error_and_names_the_statement(shop: Path) -> None:
    script = """
    INSERT INTO Items (ItemID) VALUES (1);
    -- the next one fails
    INSERT INTO Items (ItemID)
      VALUES (1);
    INSERT INTO Items (ItemID) VALUES (2);
    """
    done = run("sql", shop, text=script)
    assert done.code == 1
    assert done.err.startswith("error[data.key_exists]: statement 2 (line 4): ")
    assert ok("query", shop, "SELECT ItemID FROM Items", "-f", "csv") == "ItemID\n1\n"


def test_a_lone_statement_is_not_numbered(shop: Path) -> None:
    done = run("sql", shop, "-c", "SELECT * FROM Nothing")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith('error[definition.unknown_table]: table "Nothing"')


def test_a_quote_that_is_not_closed_is_a_syntax_error(shop: Path) -> None:
    done = run("sql", shop, "-c", "SELECT * FROM Items;\nSELECT 'oops")
    assert done.code == 1
    assert done.err.startswith("error[sql.syntax]: statement 2 (line 2): ")


def test_parameters_go_to_the_statements_that_name_them(shop: Path) -> None:
    script = "INSERT INTO Items (ItemID, Name) VALUES (:id, :name); SELECT Name FROM Items WHERE ItemID = :id"
    done = run("sql", shop, "-c", script, "-p", "id=7", "--param", "name=';DROP TABLE Items'", "-f", "json")
    assert done.rows == [{"Name": ";DROP TABLE Items"}]


def test_a_parameter_that_no_statement_names_is_refused_before_anything_runs(shop: Path) -> None:
    done = run("sql", shop, "-c", "INSERT INTO Items (ItemID, Name) VALUES (1, ':b')", "-p", "b=1")
    assert done.code == 1
    assert "no statement has :b" in done.err
    assert ok("query", shop, "SELECT ItemID FROM Items", "-f", "json") == ""


def test_a_parameter_that_is_missing_is_named(shop: Path) -> None:
    done = run("sql", shop, "-c", "SELECT * FROM Items WHERE ItemID = :id")
    assert (done.code, done.err[:30]) == (1, "error[sql.bad_parameter]: miss")


def test_a_file_and_a_command_together_are_refused(shop: Path) -> None:
    done = run("sql", shop, "x.sql", "-c", "SELECT 1")
    assert done.code == 2
    assert "not both" in done.err


def test_a_script_that_cannot_be_read_is_a_clear_error_and_makes_nothing(tmp_path: Path) -> None:
    done = run("sql", tmp_path / "new", tmp_path / "gone.sql")
    assert done.code == 1
    assert done.err.startswith("error[store.disk]: ")
    assert not (tmp_path / "new").exists()


def test_a_script_in_another_encoding_is_named_by_line(tmp_path: Path) -> None:
    done = run("sql", tmp_path / "new", text=b"SELECT 1;\nSELECT '\xe9'")
    assert done.code == 1
    assert done.err.startswith("error[data.bad_text]: standard input line 2: ")


@pytest.mark.parametrize("text", ["", "  \n-- nothing\n;;"])
def test_an_empty_script_does_nothing(text: str, shop: Path) -> None:
    assert ok("sql", shop, text=text) == ""


def test_two_databases_do_not_mix(tmp_path: Path) -> None:
    make(tmp_path / "a", "CREATE TABLE A (x INT PRIMARY KEY)")
    make(tmp_path / "b", "CREATE TABLE B (x INT PRIMARY KEY)")
    assert run("query", tmp_path / "a", "SELECT * FROM B").code == 1
