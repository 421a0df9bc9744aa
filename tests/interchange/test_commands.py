"""`longmind import` and `longmind export` with a format of another product."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command_calls import Run, Typed
from tests.cli.conftest import run, shell  # noqa: F401
from tests.interchange import samples
from tests.interchange.samples import SAMPLES


def test_a_preview_shows_what_would_come_in_and_makes_no_database(shell: Typed, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "files").mkdir()
    file = SAMPLES["chatgpt"](tmp_path / "files")
    ended = shell(f"longmind import {file} --format chatgpt --preview")
    assert ended.code == 0, ended.err
    assert "Would import from conversations.json (chatgpt, from 2024-05-01 to 2024-05-01):" in ended.out
    assert "Weather in Graz (2 messages)" in ended.out
    assert "branches that were edited away" in ended.out
    assert [each.name for each in tmp_path.iterdir()] == ["files"]


def test_a_preview_of_several_users_says_how_to_choose_one(run: Run, sqlite_url: str, tmp_path: Path) -> None:  # noqa: F811
    memories = [{"id": f"m-{name}", "memory": f"{name} likes tea", "user_id": name} for name in ("ada", "bob")]
    file = samples.write_json(tmp_path / "mem0.json", {"results": memories})
    line = ("import", str(file), "--format", "mem0", "--url", sqlite_url, "--preview")
    assert "choose with --source-user" in run(*line).err
    assert "choose with" not in run(*line, "--source-user", "ada").err


def test_an_import_is_read_and_found_and_repeating_it_adds_nothing(
    run: Run,  # noqa: F811
    sqlite_url: str,
    tmp_path: Path,
) -> None:
    talk = [{"messages": [{"role": "user", "content": "I live in Graz.", "created_at": "2024-02-03T04:05:06Z"}]}]
    file = samples.write_lines(tmp_path / "talk.jsonl", talk)
    line = ("import", str(file), "--format", "jsonl", "--url", sqlite_url, "--user", "ada", "--yes", "--json")
    first = run(*line).json
    assert (first["applied"], first["conversationsNew"], first["messagesNew"]) == (True, 1, 1)
    again = run(*line).json
    assert (again["conversationsNew"], again["conversationsKnown"]) == (0, 1)
    listed = run("memory", "list", "--url", sqlite_url, "--user", "ada")
    assert "Graz" in listed.out


def test_without_an_answer_nothing_is_imported(run: Run, sqlite_url: str, tmp_path: Path) -> None:  # noqa: F811
    file = SAMPLES["mcp-memory"](tmp_path)
    ended = run("import", str(file), "--format", "mcp-memory", "--url", sqlite_url)
    assert ended.code == 1
    assert "Give --yes to confirm it." in ended.err
    assert "facts, new" in ended.out
    asked = run("import", str(file), "--format", "mcp-memory", "--url", sqlite_url, "--json")
    assert (asked.code, "does not ask" in asked.err) == (1, True)
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize("name", ["mem0", "chatgpt", "claude-code", "letta"])
def test_a_file_of_another_product_without_its_format_is_refused_with_the_format(
    run: Run,  # noqa: F811
    sqlite_url: str,
    name: str,
    tmp_path: Path,
) -> None:
    file = SAMPLES[name](tmp_path)
    ended = run("import", str(file), "--url", sqlite_url, "--user", "ada")
    assert ended.code == 1
    assert f"It looks like {name}: import it with --format {name}." in ended.err.replace("\n", " ")


def test_an_own_export_needs_a_user_and_no_options_of_other_formats(
    run: Run,  # noqa: F811
    sqlite_url: str,
    tmp_path: Path,
) -> None:
    assert run("import", str(tmp_path), "--preview", "--url", sqlite_url).code == 1
    export = tmp_path / "ada.json"
    run("memory", "add", "Ada likes tea.", "--url", sqlite_url, "--user", "ada")
    assert run("export", "--user", "ada", "--url", sqlite_url, "-o", str(export)).code == 0
    ended = run("import", str(export), "--url", sqlite_url)
    assert (ended.code, "No --user." in ended.err) == (1, True)
    wrong = run("import", str(export), "--format", "chatgpt", "--url", sqlite_url, "--yes")
    assert "It looks like longmind" in wrong.err.replace("\n", " ")


def test_an_export_goes_to_a_file_or_to_standard_output(run: Run, sqlite_url: str, tmp_path: Path) -> None:  # noqa: F811
    run("memory", "add", "Ada likes tea.", "--url", sqlite_url, "--user", "ada")
    line = ("export", "--user", "ada", "--url", sqlite_url, "--format")
    shown = run(*line, "jsonl")
    assert json.loads(shown.out)["text"] == "Ada likes tea."
    file = tmp_path / "ada.md"
    assert run(*line, "markdown", "-o", str(file), "--json").json == {
        "format": "markdown",
        "facts": 1,
        "conversations": 0,
    }
    assert "- Ada likes tea." in file.read_text()
    unknown = run(*line, "csv")
    assert (unknown.code, "Use jsonl, markdown, mem0." in unknown.err) == (1, True)
