"""Conversations, memory, recall, context and blocks from the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import longmind
from tests.cli.command_calls import Call, caller


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Call:
    url = request.getfixturevalue("database_url" if "database_url" in request.fixturenames else "sqlite_url")
    monkeypatch.setenv("LONGMIND_URL", url)
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    return caller(capsys)


@pytest.mark.usefixtures("database_url")
def test_a_conversation_is_held_closed_learned_from_and_recalled(call: Call) -> None:
    conversation = call("conversations", "create", "check-in", "--title", "Monday").out.strip()
    assert call("memory", "bind", "check-in", "--json").json["enabled"] is True
    turn = call("conversations", "turn", conversation, "I live in Graz.", "Noted.", "--json").json
    assert turn["assistantMessage"]["sequence"] == 2
    assert call("conversations", "append", conversation, "I prefer tea.").out.endswith("is message 3.\n")
    shown = call("conversations", "show", conversation)
    assert "check-in, open, 3 messages, Monday" in shown.out
    assert "I live in Graz." in shown.out
    assert call("conversations", "close", conversation, "--work", "--json").json["status"] == "closed"
    facts = {atom["text"] for atom in call("memory", "list", "--json").json}
    assert facts == {"User lives in Graz.", "User prefers tea."}
    found = call("recall", "topic", "Where does the user live?", "--explain")
    assert found.out.splitlines()[0].split() == ["1", "User", "lives", "in", "Graz.", found.out.split()[5]]
    assert "said in msg_" in found.out
    assert "- very likely to be about the question (" in found.out
    assert call("recall", "where", "does", "the", "user", "live").out.splitlines()[0] == found.out.splitlines()[0]
    assert call("recall", "entity", "Graz", "--json").json["hits"][0]["atom"]["text"] == "User lives in Graz."
    assert [each["canonicalName"] for each in call("memory", "entities", "--json").json] == ["Graz"]
    built = call("context", conversation, "Where do I live?")
    assert "User lives in Graz." in built.out
    assert "tokens" in built.err
    assert call("conversations", "append", conversation, "More.").code == 1


def test_a_fact_is_added_replaced_put_away_and_removed(call: Call) -> None:
    old = call("memory", "add", "Ada lives in Graz.", "--tag", "home", "--valid-from", "2026-01-01", "--json").json
    new = call("memory", "supersede", old["id"], "Ada lives in Vienna.", "--valid-from", "2026-05-01", "--json").json
    assert (new["supersedes"], new["category"]) == (old["id"], {"name": "note", "kind": "FACT"})
    timeline = call("recall", "timeline").out
    assert timeline.index("Graz") < timeline.index("Vienna")
    assert "since 2026-01-01 until 2026-05-01, superseded" in timeline
    unlinked = call("recall", "entity", "Ada")
    assert unlinked.out == "Nothing is remembered about that.\n"
    assert "search by topic" in unlinked.err
    in_march = call("recall", "topic", "Where does Ada live?", "--valid-at", "2026-03-01", "--json").json
    assert [hit["atom"]["text"] for hit in in_march["hits"]] == ["Ada lives in Graz."]
    assert "replaces: atom_" in call("memory", "show", new["id"]).out
    why = call("memory", "why-not", old["id"], "Where does Ada live?")
    assert why.out.startswith("It is not among the hits.\n- ")
    call("memory", "archive", new["id"])
    assert [atom["id"] for atom in call("memory", "list", "--json").json] == [old["id"]]
    assert [atom["id"] for atom in call("memory", "list", "--status", "archived", "--json").json] == [new["id"]]
    assert call("memory", "list", "--category", "none").out == "The space has no such facts.\n"
    assert call("memory", "delete", new["id"], "--yes", "--json").json == {"deleted": new["id"]}
    gone = call("memory", "show", new["id"])
    assert (gone.code, "Error: There is no atom" in gone.err, "Hint:" in gone.err) == (1, True, True)


def test_a_decision_is_listed_and_undone(call: Call) -> None:
    conversation = call("conversations", "create", "check-in").out.strip()
    call("memory", "bind", "check-in")
    call("conversations", "turn", conversation, "I live in Graz.", "Noted.")
    call("conversations", "close", conversation, "--work")
    (decision,) = call("memory", "decisions", "--json").json
    listed = call("memory", "decisions", "--fact", decision["atomId"]).out
    assert decision["because"] in listed
    undone = call("memory", "undo", decision["id"]).out
    assert undone.startswith(f"Undid {decision['id']} with dec_")
    assert call("memory", "undo", decision["id"], "--take-back", "--json").json["undoes"] == decision["id"]
    assert "add, undone" in call("memory", "decisions").out
    assert call("memory", "list", "--json").json == []


def test_what_cannot_be_undone_is_not_done_when_nobody_can_be_asked(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    atom = call("memory", "add", "Ada has a cat.").out.strip()
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    refused = call("memory", "delete", atom)
    assert (refused.code, "--yes" in refused.err) == (1, True)
    assert call("memory", "show", atom).code == 0


def test_a_text_can_come_from_standard_input(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Ada has a cat.\n"))
    assert call("memory", "add", "-", "--json").json["text"] == "Ada has a cat."


def test_users_are_kept_apart_by_the_options_that_name_them(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call("memory", "add", "Ada has a cat.", "--user", "ada", "--tenant", "acme")
    assert call("memory", "spaces", "--user", "bob", "--tenant", "acme", "--json").json == []
    monkeypatch.setenv("LONGMIND_USER", "ada")
    monkeypatch.setenv("LONGMIND_TENANT", "acme")
    assert [each["userId"] for each in call("memory", "spaces", "--json").json] == ["ada"]
    assert call("memory", "list", "--user", "*").code == 1


def test_a_space_is_meant_by_its_name_and_has_to_be_named_when_there_are_several(call: Call) -> None:
    for name in ("work", "home"):
        call("memory", "create", name)
    unsure = call("memory", "add", "Ada has a cat.")
    assert (unsure.code, "Name one of these: work, home." in unsure.err) == (1, True)
    call("memory", "add", "Ada has a cat.", "--space", "home")
    assert [each["atomCount"] for each in call("memory", "spaces", "--json").json] == [0, 1]
    assert "Name one of these" in call("memory", "add", "Ada has a dog.", "--space", "garden").err
    call("memory", "create", "default")
    assert call("memory", "add", "Ada has a dog.").code == 0


def test_blocks_are_written_by_who_has_read_them(call: Call) -> None:
    assert call("blocks", "show", "core").code == 1
    first = call("blocks", "write", "core", "Ada likes tea.", "--json").json
    late = call("blocks", "write", "core", "Ada likes coffee.")
    assert (late.code, f"--expected {first['updated_at']}" in late.err) == (1, True)
    call("blocks", "write", "core", "Ada likes coffee.", "--expected", first["updated_at"])
    assert call("blocks", "show", "core").out == "Ada likes coffee.\n"
    (revision,) = call("blocks", "history", "core", "--json").json
    now = call("blocks", "show", "core", "--json").json["updated_at"]
    call("blocks", "restore", "core", str(revision["revision"]), "--expected", now)
    assert call("blocks", "show", "core").out == "Ada likes tea.\n"
    call("blocks", "write", "archival", "The cat is called Bella.")
    assert "Bella" in call("blocks", "recall", "cat").out
    assert call("blocks", "show", "core", "--scope", "agent").code == 1
    call("blocks", "write", "core", "Be brief.", "--scope", "agent", "--agent", "helper")
    assert len(call("blocks", "list", "--json").json) == 3
    assert call("blocks", "delete", "core", "--yes").code == 0


@pytest.mark.usefixtures("database_url")
def test_events_are_recorded_and_read_back(call: Call) -> None:
    deployed = call("events", "record", "deploy.done", "Version 3 is out.", "--data", '{"version": 3}', "--tag", "ops")
    assert deployed.code == 0, deployed.err
    event = call("events", "show", deployed.out.strip(), "--json").json
    assert (event["kind"], event["text"], event["data"]["version"]) == ("deploy.done", "Version 3 is out.", 3)
    for value in ("1", '{"open": true}'):
        call("events", "state", "door", "--set", value)
    assert call("events", "state", "door").out == '{"open": true}\n'
    assert len(call("events", "state", "door", "--history", "--json").json) == 2
    assert "Version 3 is out." in call("events", "recent", "--tag", "ops").out
    found = call("events", "search", "which version is out", "--mode", "lexical", "--within", "1h", "--json").json
    assert found[0]["event_id"] == event["event_id"]
    assert [each["kind"] for each in call("events", "recent", "--limit", "2", "--json").json] == ["state.snapshot"] * 2
    counted = {each["kind"]: each["events"] for each in call("events", "usage", "--json").json}
    assert counted == {"deploy.done": 1, "state.snapshot": 2}
    assert call("events", "recent", "--level", "run").out == "There are no events.\n"


def test_a_summary_is_shown_and_made(call: Call) -> None:
    conversation = call("conversations", "create", "check-in").out.strip()
    assert "no summary yet" in call("conversations", "summary", conversation).out
    call("conversations", "turn", conversation, "I planted a pear tree in the garden.", "Lovely.")
    assert "pear tree" in call("conversations", "summary", conversation, "--refresh").out


def test_a_list_that_is_cut_says_how_to_go_on(call: Call) -> None:
    for number in range(3):
        call("memory", "add", f"Fact {number}.")
    first = call("memory", "list", "--limit", "2")
    cursor = first.err.split("--cursor ")[1].strip()
    assert json.loads(call("memory", "list", "--limit", "2", "--json").err) == {"nextCursor": cursor}
    rest = call("memory", "list", "--limit", "2", "--cursor", cursor, "--json")
    assert ([atom["text"] for atom in rest.json], rest.err) == (["Fact 0."], "")


def test_what_a_user_wrote_is_shown_as_it_is(call: Call) -> None:
    conversation = call("conversations", "create", "check-in", "--title", "[bold]x[/bold]").out.strip()
    call("conversations", "append", conversation, "[red]not red[/red] :smile:")
    assert "[red]not red[/red] :smile:" in call("conversations", "show", conversation).out
    assert "[bold]x[/bold]" in call("conversations", "list").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("conversations", "show", "conv_none"),
        ("conversations", "append", "conv_none", "Hello."),
        ("conversations", "close", "conv_none"),
        ("conversations", "create", " "),
        ("conversations", "list", "--cursor", "nonsense"),
        ("memory", "supersede", "atom_none", "New."),
        ("memory", "add", ""),
        ("memory", "add", "x", "--valid-from", "yesterday"),
        ("recall", "topic", "x", "--limit", "0"),
        ("recall", "timeline", "--entity", "x", "--query", "y"),
        ("context", "conv_none", "x"),
        ("blocks", "write", "core", "x" * 5_000),
        ("memory", "list", "--url", "nonsense"),
        ("events", "record", "deploy.done"),
        ("events", "record", "deploy.done", "--data", "[1]"),
        ("events", "state", "door", "--set", "{"),
        ("events", "show", "evt_none"),
    ],
)
def test_bad_input_ends_with_one_a_message_and_a_hint(call: Call, arguments: tuple[str, ...]) -> None:
    ended = call(*arguments)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("Error: ")
    assert "\nHint: " in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("conversations", "list", "--status", "ajar"),
        ("memory", "add"),
        ("memory", "add", "x", "--importance", "9"),
        ("blocks", "show", "heart"),
        ("recall", "topic", "x", "--limit", "many"),
    ],
)
def test_misuse_ends_with_two_and_shows_the_usage(call: Call, arguments: tuple[str, ...]) -> None:
    ended = call(*arguments)
    assert (ended.code, "Usage:" in ended.err) == (2, True)


@pytest.mark.usefixtures("database_url")
def test_the_schema_is_looked_at_without_changing_it_and_brought_up_to_date(
    call: Call, request: pytest.FixtureRequest
) -> None:
    assert call("migrate", "apply", "--json").json["missing"] == []
    current = call("migrate", "status")
    assert (current.code, "missing" in current.out) == (0, False)


def test_a_database_that_is_not_there_yet_is_not_made_by_looking(call: Call, sqlite_url: str) -> None:
    looked = call("migrate", "status")
    assert (looked.code, "- 0001 conversations is missing" in looked.out) == (1, True)
    assert "empty or missing" in call("migrate", "status").out
    assert " migrations; the schema is version " in call("migrate", "apply").out
    assert call("migrate", "status").code == 0
    with longmind.open(sqlite_url) as engine:
        assert engine.last_cursor() == 0


@pytest.mark.usefixtures("database_url")
def test_a_question_is_answered_and_put_into_a_prompt_at_the_top_level(call: Call) -> None:
    call("memory", "add", "Ada lives in Graz.")
    for command in (
        ("search", "Where does Ada live?"),
        ("search", "where", "does", "Ada", "live"),
        ("recall", "home Ada"),
    ):
        found = call(*command)
        assert (found.code, "Ada lives in Graz." in found.out) == (0, True), found.err
    assert call("search", "Ada", "--json").json["hits"][0]["atom"]["text"] == "Ada lives in Graz."
    prompt = call("context", "Where", "does", "Ada", "live?")
    assert "Ada lives in Graz." in prompt.out
    assert " tokens, " in prompt.err
    conversation = call("conversations", "create", "chat").out.strip()
    call("conversations", "append", conversation, "Where is home?")
    continued = call("context", conversation, "Where does Ada live?", "--json").json
    assert [message["content"][0]["text"] for message in continued["messages"]] == ["Where is home?"]
    assert call("search", " ").code == 1


@pytest.mark.usefixtures("database_url")
def test_a_mistyped_user_is_told_who_there_is(call: Call) -> None:
    call("memory", "add", "Ada has a cat.", "--user", "adele")
    for arguments in (("search", "cat"), ("memory", "list"), ("recall", "timeline"), ("context", "cat")):
        mistyped = call(*arguments, "--user", "adelle")
        assert (mistyped.code, "Did you mean --user adele?" in mistyped.err) == (1, True)
        elsewhere = call(*arguments, "--user", "adele", "--tenant", "acme")
        assert (elsewhere.code, "give --tenant local --app ipc" in elsewhere.err) == (1, True)
    # Reading twice leaves no trace that would pass for data, and somebody with another name is nobody's mistake.
    assert call("search", "cat", "--user", "adelle").code == 1
    assert call("search", "cat", "--user", "bob").out == "Nothing is remembered about that.\n"
    assert call("memory", "add", "Bob.", "--user", "adelle").code == 0
    assert call("search", "cat", "--user", "adelle").code == 0


def test_a_mistyped_path_is_an_error_with_a_suggestion(call: Call, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    call("memory", "add", "Ada has a cat.", "--url", f"sqlite:///{tmp_path}/data/memory.db")
    for arguments in (("search", "cat"), ("memory", "add", "x"), ("keys", "list"), ("serve",), ("worker",), ("mcp",)):
        mistyped = call(*arguments, "--url", f"sqlite:///{tmp_path}/dta/memory.db")
        assert (mistyped.code, f"Did you mean {tmp_path}/data?" in mistyped.err) == (1, True)
    file = call("search", "cat", "--url", f"sqlite:///{tmp_path}/data/memori.db")
    assert (file.code, f"Did you mean {tmp_path}/data/memory.db?" in file.err) == (1, True)
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_dir()) == ["data"]
    nothing = call("search", "cat")
    assert (nothing.code, "There is no database at" in nothing.err, "longmind add" in nothing.err) == (1, True, True)


@pytest.mark.usefixtures("database_url")
def test_what_is_added_is_learned_shown_and_shared_with_all_else(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call("add", "I", "live", "in", "Graz.")
    assert first.out.splitlines()[0] == "Learned:", first.err
    assert "User lives in Graz." in first.out
    moved = call("add", "I moved to Vienna.", "--json").json
    assert [fact["text"] for fact in moved["learned"]] == ["User moved to Vienna."]
    assert [each["fact"]["text"] for each in moved["replaced"]] == ["User lives in Graz."]
    monkeypatch.setattr("sys.stdin", io.StringIO("Hm, ok.\n"))
    assert call("add", "-").out.startswith("Stored. No fact was learned from it")
    chat, lines = tmp_path / "chat.json", tmp_path / "chat.jsonl"
    messages = [{"role": "user", "content": "My sister is called Eva."}, {"role": "assistant", "content": "Nice!"}]
    chat.write_text(json.dumps({"model": "gpt", "messages": messages}))
    lines.write_text(json.dumps({"role": "user", "content": "I work at Siemens."}))
    assert "sister is called Eva" in call("add", "--file", str(chat)).out
    assert "Siemens" in call("add", "--file", str(lines), "--at", "2026-01-01T00:00:00Z").out
    assert call("add", "The code is 7.", "--key", "code").out.splitlines()[1].startswith("  The code is 7.")
    for command in (("search", "sister"), ("recall", "sister"), ("context", "sister"), ("memory", "list")):
        assert "Eva" in call(*command).out
    assert call("tool", "memory_search", "query=sister").json["results"][0]["content"].endswith("called Eva.")
    assert len(call("memory", "spaces", "--json").json) == 1
    for arguments in ((), ("x", "--file", str(chat)), ("x", "--space", "nowhere"), ("x", "--conversation", "conv_no")):
        assert call("add", *arguments).code == 1
