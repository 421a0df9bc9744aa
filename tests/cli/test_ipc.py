"""`ipc`, as an agent calls it from a shell: each command as the agent's instructions have it, word for word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import longmind
from tests.cli.command_calls import Ended, Typed

FOLDER = Path(sys.executable).parent

STORE_USAGE = (
    """ipc tool.invoke.memory_store '{"type": "preference", "content": "User prefers dark mode in all editors"}'"""
)
STORE_PREFERENCE = (
    """ipc tool.invoke.memory_store '{"type": "preference", """
    """"content": "Prefers functional programming patterns over OOP"}'"""
)
STORE_FACT = (
    """ipc tool.invoke.memory_store '{"type": "fact", """
    """"content": "Primary language is TypeScript, secondary is Rust", "tags": ["coding", "languages"]}'"""
)
SUPERSEDE = (
    """ipc tool.invoke.memory_store '{"type": "fact", "content": "Uses pnpm 10.x (upgraded from 9.x)", """
    """"supersedes": "mem-abc123"}'"""
)
SEARCH_USAGE = """ipc tool.invoke.memory_search '{"query": "TypeScript"}'"""
SEARCH_TEXT = """ipc tool.invoke.memory_search '{"query": "programming language preferences"}'"""
SEARCH_TYPE = """ipc tool.invoke.memory_search '{"type": "preference"}'"""
SEARCH_TAGS = """ipc tool.invoke.memory_search '{"tags": ["coding", "typescript"]}'"""
BROWSE = """ipc tool.invoke.memory_search '{}'"""
BRIEF = """ipc tool.invoke.memory_brief '{}'"""
BRIEF_PROVENANCE = """ipc tool.invoke.memory_brief '{"include_provenance": true}'"""
DELETE_USAGE = """ipc tool.invoke.memory_delete '{"id": "mem-abc123"}'"""
DELETE = """ipc tool.invoke.memory_delete '{"id": "mem-7f3a2b1c-4d5e-6f7a-8b9c-0d1e2f3a4b5c"}'"""

DARK = "User prefers dark mode in all editors"
FUNCTIONAL = "Prefers functional programming patterns over OOP"
LANGUAGES = "Primary language is TypeScript, secondary is Rust"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert (FOLDER / "ipc").exists(), f"The command ipc is not installed beside {sys.executable}: install the package."
    return tmp_path


def in_a_process(command: str, home: Path, **environment: str) -> Ended:
    """Run a command in a real shell with an empty home, and nothing set up."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LONGMIND_")}
    path = f"{FOLDER}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        env={**inherited, "LONGMIND_OFFLINE": "1", "PATH": path, "HOME": str(home), **environment},
        cwd=home,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    # In an empty home there is no model, and the log says so.
    said = [line for line in done.stderr.splitlines(True) if not line.startswith("recall goes by words alone")]
    return Ended(done.returncode, done.stdout, "".join(said))


def answer(ended: Ended) -> Any:
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def error(ended: Ended) -> Any:
    assert (ended.code, ended.out) == (1, "")
    return json.loads(ended.err)


def contents(found: Any) -> list[str]:
    return [entry["content"] for entry in found["results"]]


def test_the_program_is_called_from_a_real_shell(home: Path) -> None:
    stored = answer(in_a_process(STORE_FACT, home))
    assert stored["content"] == LANGUAGES
    assert error(in_a_process("ipc tool.invoke.memory_drop '{}'", home))["code"] == "UNKNOWN_TOOL"


@pytest.mark.conforms("B1.1", "B1.5", "B2.2", "B2.3", "B2.6", "B3.2", "B4.1", "V12")
def test_every_command_of_the_instructions_answers_as_they_say(shell: Typed) -> None:
    stored = [answer(shell(command)) for command in (STORE_USAGE, STORE_PREFERENCE, STORE_FACT)]
    assert [entry["behavioral"] for entry in stored] == [True, True, False]
    assert stored[2]["tags"] == ["coding", "languages"]
    # The ids of the instructions are examples: there is no such entry, and nothing is stored.
    assert error(shell(SUPERSEDE))["code"] == "HANDLER_ERROR"
    assert contents(answer(shell(SEARCH_USAGE))) == [LANGUAGES]
    assert {FUNCTIONAL, LANGUAGES} <= set(contents(answer(shell(SEARCH_TEXT))))
    assert contents(answer(shell(SEARCH_TYPE))) == [FUNCTIONAL, DARK]
    assert contents(answer(shell(SEARCH_TAGS))) == []
    assert contents(answer(shell(BROWSE))) == [LANGUAGES, FUNCTIONAL, DARK]
    brief = answer(shell(BRIEF))
    assert [entry["content"] for entry in brief["entries"]] == [FUNCTIONAL, DARK, LANGUAGES]
    assert (brief["entry_count"], brief["brief_count"]) == (3, 3)
    assert {entry["group"] for entry in answer(shell(BRIEF_PROVENANCE))["entries"]} == {"default"}
    for command in (DELETE_USAGE, DELETE):
        assert "not found" in error(shell(command))["message"]
    # And with ids that there are.
    newer = answer(shell(SUPERSEDE.replace("mem-abc123", stored[2]["id"])))
    assert newer["supersedes"] == stored[2]["id"]
    assert answer(shell(DELETE_USAGE.replace("mem-abc123", newer["id"]))) == {"deleted": True, "id": newer["id"]}
    assert contents(answer(shell(BROWSE))) == [FUNCTIONAL, DARK]


@pytest.mark.conforms("B1.1")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("ipc", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief '{}' '{}'", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief '{}' --nonsense", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief '[]'", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief 'null'", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief '{'", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief ''", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_drop '{}'", "UNKNOWN_TOOL"),
        ("ipc memory_brief '{}'", "UNKNOWN_TOOL"),
        ("ipc tool.invoke.memory_brief '{}' --group '../x'", "VALIDATION_FAILED"),
        ("ipc tool.invoke.memory_brief '{}' --url nonsense", "PLUGIN_UNAVAILABLE"),
        ("ipc tool.invoke.memory_brief '{}' --user '*'", "PLUGIN_UNAVAILABLE"),
    ],
)
def test_what_cannot_be_done_is_an_error_in_json(shell: Typed, command: str, code: str) -> None:
    told = error(shell(command))
    assert (told["code"], told["retriable"]) == (code, False)
    assert "Traceback" not in told["message"]


def test_options_and_the_environment_say_whose_memory_it_is(shell: Typed, home: Path) -> None:
    whose = {"LONGMIND_TENANT": "acme", "LONGMIND_USER": "ada", "LONGMIND_GROUP": "team", "LONGMIND_SESSION": "s1"}
    stored = answer(shell(STORE_FACT, **whose))
    assert (stored["group"], stored["session_id"]) == ("team", "s1")
    assert contents(answer(shell(BROWSE, **whose))) == [LANGUAGES]
    for other in ("--tenant umbrella", "--user bob", "--group others", "--app sales"):
        assert contents(answer(shell(f"{BROWSE} {other}", **whose))) == []
    with longmind.open(f"sqlite:///{home}/.longmind/longmind.db", embedder=None) as engine:
        context = engine.context(tenant_id="acme", app_id="ipc", user_id="ada", group="team")
        assert [entry.id for entry in context.tools.memory_search().results] == [stored["id"]]


def test_any_letter_gets_through_a_terminal_of_another_encoding(home: Path) -> None:
    command = """ipc tool.invoke.memory_store '{"type": "fact", "content": "Grüße \\u732b 🦄"}'"""
    assert answer(in_a_process(command, home, LC_ALL="C", PYTHONUTF8="1"))["content"] == "Grüße 猫 🦄"
    assert contents(answer(in_a_process(BROWSE, home, LC_ALL="C", PYTHONIOENCODING="ascii"))) == ["Grüße 猫 🦄"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="There is no device that is always full.")
@pytest.mark.parametrize("where", ["> /dev/full", ">&-"], ids=["full", "closed"])
def test_an_answer_that_cannot_be_written_is_an_error_too(home: Path, where: str) -> None:
    told = error(in_a_process(f"{BRIEF} {where}", home))
    assert (told["code"], told["retriable"]) == ("PLUGIN_ERROR", False)
    # Nor does it matter when nobody hears the error.
    done = in_a_process(f"ipc tool.invoke.memory_drop '{{}}' 2{where}", home)
    assert (done.code, done.out, done.err) == (1, "", "")


@pytest.mark.conforms("B5.7")
def test_a_database_of_a_newer_version_is_refused(shell: Typed, home: Path) -> None:
    answer(shell(BRIEF))
    connection = apsw.Connection(f"{home}/.longmind/longmind.db")
    connection.execute("UPDATE longmind_schema SET version = 9999 WHERE version = 1")
    connection.close()
    told = error(shell(BRIEF))
    assert (told["code"], "9999" in told["message"]) == ("PLUGIN_UNAVAILABLE", True)


def test_a_call_loads_nothing_that_draws_and_no_search_without_need(home: Path) -> None:
    code = (
        "import sys, longmind.cli.ipc as ipc; ipc.main(['tool.invoke.memory_brief', '{}']); "
        "needless = {'rich', 'typer', 'numpy', 'asyncio', 'psycopg', 'longmind.extraction.model.extractor'}; "
        "print(sorted(needless & set(sys.modules)), file=sys.stderr)"
    )
    done = in_a_process(f'"{sys.executable}" -c "{code}"', home)
    assert (done.code, done.err) == (0, "[]\n")


@pytest.mark.conforms("B5.4")
def test_the_audit_is_verified_exported_and_verified_again_from_the_command_line(shell: Typed, home: Path) -> None:
    answer(shell(STORE_FACT))
    error(shell(DELETE))
    verified = shell("longmind audit verify --json")
    assert (verified.code, json.loads(verified.out)) == (0, {"chains": 1, "lines": 3, "problems": []})
    exported = shell("longmind audit export --output audit.jsonl")
    assert exported.code == 0, exported.err
    assert shell("longmind audit export").out == (home / "audit.jsonl").read_text("utf-8")
    assert shell("longmind audit verify --file audit.jsonl").out == "3 lines in 1 chains: intact.\n"
    lines = (home / "audit.jsonl").read_text("utf-8").splitlines(keepends=True)
    (home / "cut.jsonl").write_text("".join(lines[:1] + lines[2:]), "utf-8")
    found = shell("longmind audit verify --file cut.jsonl")
    assert found.code == 1
    assert "local/ipc/default, group default, line 3: line 2 is missing before it" in found.out
    keyed = shell("longmind audit verify", LONGMIND_AUDIT_KEY="another")
    assert (keyed.code, "NOT intact" in keyed.out) == (1, True)


@pytest.mark.conforms("B5.4")
def test_the_audit_is_rotated_from_the_command_line(shell: Typed, home: Path) -> None:
    answer(shell(STORE_FACT))
    error(shell(DELETE))
    for wrong in ("", "--before 2026-01-01 --keep-days 1", "--before yesterday"):
        assert shell(f"longmind audit rotate --folder old {wrong}").code == 1
    kept = shell("longmind audit rotate --folder old --keep-days 1")
    assert (kept.code, kept.out) == (0, "Moved 0 lines of 0 chains.\n")
    rotated = shell("longmind audit rotate --folder old --keep-days 0 --json")
    (moved,) = json.loads(rotated.out)["moved"]
    assert (moved["owner"], moved["first"], moved["last"]) == ("local/ipc/default", 1, 3)
    answer(shell(BRIEF))
    assert shell("longmind audit verify").out == "1 lines in 1 chains: intact.\n"
    file = f"old/{moved['file']}"
    verified = shell(f"longmind audit verify --file {file}")
    assert verified.out == "3 lines in 1 chains: intact.\nThe database continues from there.\n"
    apart = shell(f"longmind audit verify --file {file} --url sqlite:///none.db")
    assert (apart.code, apart.out) == (0, "3 lines in 1 chains: intact.\n")
    with (home / file).open("a") as changed:
        changed.write("\n")
    assert shell(f"longmind audit verify --file {file} --alone").code == 0
    assert "line 3: this is not the file" in shell(f"longmind audit verify --file {file}").out
    connection = apsw.Connection(f"{home}/.longmind/longmind.db")
    connection.execute("UPDATE tool_audit_heads SET anchor_digest = ''")
    connection.close()
    refused = shell("longmind audit rotate --folder old --before 2100-01-01")
    assert (refused.code, "its beginning" in refused.out) == (1, True)
    assert len(list((home / "old").iterdir())) == 1


@pytest.mark.conforms("B5.9")
def test_the_guidance_for_agents_is_printed(shell: Typed) -> None:
    printed = shell("longmind skill")
    assert printed.code == 0
    for word in ("memory_store", "memory_search", "memory_brief", "memory_delete", "supersedes", "not commands"):
        assert word in printed.out
    for heading in ("## When to store an entry", "## What not to store", "## Before a session ends"):
        assert heading in printed.out


@pytest.mark.conforms("B1.8", "B4.2")
def test_without_a_session_the_process_that_calls_is_one(home: Path) -> None:
    """Calls of one shell are counted together, and those of another shell apart from them."""
    stores = [f"""ipc tool.invoke.memory_store '{{"type": "fact", "content": "Fact {n}."}}'""" for n in range(4)]
    limited = {"LONGMIND_EMBEDDER": "none", "LONGMIND_SESSION_STORES": "2"}
    done = in_a_process("; ".join(stores[:3]), home, **limited)
    sessions = {json.loads(line)["session_id"] for line in done.out.splitlines()}
    assert (len(sessions), len(done.out.splitlines())) == (1, 2)
    assert json.loads(done.err)["code"] == "RATE_LIMITED"
    another = in_a_process(f"{stores[3]}; true", home, **limited)
    assert json.loads(another.out)["session_id"] not in sessions


def test_a_tool_is_called_by_keywords_as_by_ipc(shell: Typed) -> None:
    stored = shell("longmind tool memory_store type=fact 'content=Uses tabs = 4' tags=a,b").json
    assert (stored["content"], stored["tags"]) == ("Uses tabs = 4", ["a", "b"])
    by_ipc = shell("""ipc tool.invoke.memory_search '{"query": "tabs", "limit": 3, "tags": ["a"]}'""").json
    for arguments in ("query=tabs limit=3 tags=a", """'{"query": "tabs", "limit": 3, "tags": ["a"]}'"""):
        found = shell(f"longmind tool memory_search {arguments}").json
        # Relevance fades with time, so the scores of two calls differ.
        assert [each["id"] for each in found["results"]] == [each["id"] for each in by_ipc["results"]] == [stored["id"]]
    assert (
        stored["session_id"] == shell("longmind tool tool.invoke.memory_store type=fact content=1").json["session_id"]
    )
    assert shell("longmind tool memory_search include_superseded=true type=null").json["results"][0]["content"] == "1"
    refused, by_ipc_refused = (
        shell("longmind tool memory_search limit=x"),
        shell("""ipc tool.invoke.memory_search '{"limit": "x"}'"""),
    )
    assert (refused.code, refused.err) == (by_ipc_refused.code, by_ipc_refused.err)
    for arguments, said in (
        ("query", "'query' is neither a JSON object nor a keyword."),
        ("a=1 a=2", "a is given twice."),
    ):
        wrong = shell(f"longmind tool memory_search {arguments}")
        assert (wrong.code, said in wrong.err) == (1, True)


def test_an_unknown_tool_is_named_with_those_there_are(shell: Typed) -> None:
    for line in ("longmind tool memory_serch", "ipc tool.invoke.memory_serch {}"):
        error = json.loads(shell(line).err)
        assert error["code"] == "UNKNOWN_TOOL"
        assert error["message"].startswith("Unknown tool 'memory_serch'. Call one of memory_store,")
