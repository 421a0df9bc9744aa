"""What commands say when they cannot do what they were asked: to people in words, to programs as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import longmind
from tests.cli.command_calls import Run
from tools.commands import all_commands


@pytest.fixture
def made(sqlite_url: str) -> str:
    with longmind.open(sqlite_url, embedder=None) as engine:
        engine.context(tenant_id="local", app_id="ipc", user_id="ada").memory.create_memory_space("home")
    return sqlite_url


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("memory", "show", "atom_none"), 1, "not-found"),
        (("recall", "topic", "x", "--limit", "0"), 1, "invalid-input"),
        (("blocks", "write", "core", "x" * 5_000), 1, "limit-exceeded"),
        (("memory", "add"), 2, "misused"),
        (("memory", "add", "x", "--importance", "9"), 2, "misused"),
        (("memory", "nonsense"), 2, "misused"),
        (("jobs", "list", "--status", "lost"), 2, "misused"),
        (("audit", "export", "--output", "/nonexistent/lines.jsonl"), 1, "file-trouble"),
    ],
)
def test_with_json_an_error_is_json_as_well(
    run: Run, made: str, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    ended = run(*arguments, "--json", LONGMIND_URL=made, LONGMIND_EMBEDDER="none")
    assert (ended.code, ended.out) == (code, "")
    told = json.loads(ended.err)
    assert told["type"] == f"urn:longmind:problem:{kind}"
    assert told["detail"]
    assert told["hint"]


def test_a_conflict_of_blocks_is_told_to_programs_with_what_the_block_holds(run: Run, made: str) -> None:
    where = {"LONGMIND_URL": made, "LONGMIND_EMBEDDER": "none"}
    run("blocks", "write", "core", "Ada likes tea.", **where)
    late = run("blocks", "write", "core", "Ada likes coffee.", "--json", **where)
    assert (late.code, json.loads(late.err)["current"]["content"]) == (1, "Ada likes tea.")


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "verify"),
        ("audit", "export"),
        ("audit", "rotate", "--folder", "old", "--keep-days", "1"),
        ("export", "--user", "ada"),
        ("erase", "--user", "ada", "--yes"),
        ("erase", "--vacuum"),
        ("erase", "verify", "--text", "Graz"),
        ("keys", "list"),
        ("keys", "revoke", "rk_none"),
        ("jobs", "list"),
        ("reindex",),
        ("events", "rebuild-jsonl", "--dir", "files"),
    ],
)
def test_a_database_that_is_not_there_is_an_error_and_is_not_made(
    run: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ended = run(*arguments, "--url", f"sqlite:///{tmp_path}/mistyped.db")
    assert (ended.code, ended.out) == (1, "")
    assert "There is no database at" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_a_database_that_is_not_there_is_an_error(run: Run, tmp_path: Path) -> None:
    ended = run("copy", "--from", f"sqlite:///{tmp_path}/mistyped.db", "--to", f"sqlite:///{tmp_path}/new.db")
    assert (ended.code, "There is no database at" in ended.err) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_a_proof_of_erasure_looks_only_where_it_was_told_to(run: Run, made: str) -> None:
    # The option would be that of `erase`, and another database be looked through.
    misplaced = run("erase", "--url", made, "verify", "--text", "home")
    assert (misplaced.code, misplaced.out) == (1, "")
    assert "before the subcommand" in misplaced.err
    assert run("erase", "verify", "--url", made, "--text", "home").code == 1


def test_nobody_is_erased_when_nobody_can_be_asked(run: Run, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    refused = run("erase", "--user", "ada", "--url", made)
    assert (refused.code, "--yes" in refused.err) == (1, True)
    with longmind.open(made, embedder=None) as engine:
        ada = engine.context(tenant_id="local", app_id="ipc", user_id="ada")
        assert [space.name for space in ada.memory.list_memory_spaces()] == ["home"]


def test_a_file_that_cannot_be_used_is_an_error_with_a_hint(run: Run, made: str, tmp_path: Path) -> None:
    words = tmp_path / "words.bin"
    words.write_bytes(b"Graz \xff")
    for arguments in (
        ("audit", "export", "--output", str(tmp_path / "none" / "lines.jsonl")),
        ("export", "--user", "ada", "--output", str(tmp_path / "none" / "ada.zip")),
        ("erase", "verify", "--file", str(words)),
    ):
        ended = run(*arguments, "--url", made)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith("Error: ")
        assert "\nHint: " in ended.err


def test_lists_that_are_empty_say_so(run: Run, made: str) -> None:
    assert run("keys", "list", "--url", made).out == "There are no keys. Create one with: longmind keys create\n"
    assert run("jobs", "list", "--url", made).out == "There are no such jobs.\n"
    assert run("erase", "--user", "nobody", "--yes", "--url", made).out.startswith("This user had no data.\n")


def test_an_export_goes_out_and_comes_in_and_tells_programs_how_much(run: Run, made: str, tmp_path: Path) -> None:
    file = tmp_path / "ada.zip"
    told = run("export", "--user", "ada", "--output", str(file), "--url", made, "--json").json
    assert told == {"file": str(file), "bytes": file.stat().st_size}
    other = f"sqlite:///{tmp_path}/other.db"
    assert run("import", str(file), "--user", "ada", "--url", other, "--json").json["imported"]["spaces"] == 1


def test_the_version_and_help_are_where_people_look_for_them(run: Run) -> None:
    assert run("--version").out == f"{longmind.__version__}\n"
    assert run("memory", "add", "-h").out == run("memory", "add", "--help").out != ""


def test_an_option_is_told_in_the_same_words_wherever_it_is() -> None:
    known = all_commands()

    def helps(option: str, *commands: str) -> set[str]:
        return {each.help for name in commands for each in known[name].params if each.name == option}

    assert len(helps("url", *known)) == 1
    for option in ("tenant", "app"):
        assert len(helps(option, *(f"longmind {name}" for name in ("memory add", "export", "import", "erase")))) == 1
