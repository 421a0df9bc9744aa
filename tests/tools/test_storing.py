"""memory_store: what is kept, what is refused, and how much of it there may be in a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import longmind
from longmind.tools import Tools
from tests.clock import SettableClock

InSession = Callable[[str], longmind.Context]


def refusal(tools: Tools, tool: str, arguments: Any) -> longmind.ToolError:
    with pytest.raises(longmind.ToolError) as caught:
        tools.invoke(tool, arguments)
    return caught.value


def contents(found: longmind.FoundEntries) -> list[str]:
    return [entry.content for entry in found.results]


@pytest.mark.conforms("B1.2", "B1.6", "R-H")
@pytest.mark.parametrize(
    ("type", "behavioral", "kind"),
    [
        ("preference", True, "PREFERENCE"),
        ("fact", False, "FACT"),
        ("instruction", True, "RULE"),
        ("context", False, "INTENTION"),
        ("correction", True, "RULE"),
    ],
)
def test_a_type_decides_how_an_entry_is_kept_and_whether_it_is_behavioral(
    ctx: longmind.Context, type: Any, behavioral: bool, kind: str
) -> None:
    entry = ctx.tools.memory_store(type, "Something to keep.")
    assert (entry.type, entry.behavioral) == (type, behavioral)
    (space,) = ctx.memory.list_memory_spaces()
    (atom,) = ctx.memory.list_atoms(space.id)
    assert (atom.category.name, atom.category.kind, atom.behavioral) == (type, kind, behavioral)
    assert [found.type for found in ctx.tools.memory_search(type=type).results] == [type]


@pytest.mark.conforms("B1.7", "B1.11")
def test_a_stored_entry_is_told_with_where_it_came_from(tools: Tools) -> None:
    told = tools.invoke("memory_store", {"type": "fact", "content": "Uses macOS.", "tags": ["os", "laptop"]})
    id = told.pop("id")
    assert id.startswith("mem-")
    assert [len(part) for part in id.removeprefix("mem-").split("-")] == [8, 4, 4, 4, 12]
    assert told == {
        "type": "fact",
        "content": "Uses macOS.",
        "behavioral": False,
        "tags": ["os", "laptop"],
        "supersedes": None,
        "superseded_by": None,
        "session_id": "session-1",
        "group": "default",
        "created_at": "2026-03-01T09:30:00.000000Z",
    }


def test_an_entry_is_an_atom_that_the_agent_wrote(ctx: longmind.Context) -> None:
    entry = ctx.tools.memory_store("preference", "Likes short answers.")
    (space,) = ctx.memory.list_memory_spaces()
    (atom,) = ctx.memory.list_atoms(space.id)
    assert (space.kind, space.name) == ("user", "default")
    assert (atom.origin, atom.trust, atom.session_id, atom.group) == ("tool", "assistant", "session-1", "default")
    # The two ids are the same digits.
    assert atom.id.removeprefix("atom_") == entry.id.removeprefix("mem-").replace("-", "")


def test_an_answer_can_be_read_as_a_value_and_as_json(tools: Tools) -> None:
    entry = tools.memory_store("fact", "Uses macOS.")
    assert entry["content"] == entry.content == entry.as_json()["content"]
    with pytest.raises(KeyError):
        _ = entry["nonsense"]


@pytest.mark.conforms("B1.3", "B1.4", "B1.13")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": "x" * 2001}, "content"),
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "\ud800"}, "content"),
        ({"content": 5}, "content"),
        ({"content": None}, "content"),
        ({"type": "opinion"}, "type"),
        ({"type": None}, "type"),
        ({"tags": ["t"] * 11}, "tags"),
        ({"tags": ["ok", "t" * 51]}, "tags[1]"),
        ({"tags": [" "]}, "tags[0]"),
        ({"tags": "coding"}, "tags"),
        ({"tags": [1]}, "tags[0]"),
        ({"supersedes": 7}, "supersedes"),
        ({"supersedes": "m" * 256}, "supersedes"),
    ],
)
def test_what_is_over_a_limit_or_of_another_shape_is_rejected_and_not_cut(
    tools: Tools, change: dict[str, Any], field: str
) -> None:
    error = refusal(tools, "memory_store", {"type": "fact", "content": "Uses macOS.", **change})
    assert (error.code, error.retriable, error.stage, error.field) == ("VALIDATION_FAILED", False, 3, field)
    assert tools.memory_search().results == []


@pytest.mark.conforms("B1.3", "B1.4")
def test_what_is_just_within_the_limits_is_kept_whole(tools: Tools) -> None:
    tags = [f"{number}".ljust(50, "t") for number in range(10)]
    entry = tools.memory_store("fact", "\U0001f984" * 2000, tags=tags)
    assert (len(entry.content), entry.tags) == (2000, tags)


@pytest.mark.conforms("B1.7", "B1.13")
@pytest.mark.parametrize("name", ["session_id", "group", "created_at", "id", "behavioral", "superseded_by", "mood"])
def test_nobody_can_say_who_they_are_or_what_only_the_host_records(tools: Tools, name: str) -> None:
    error = refusal(tools, "memory_store", {"type": "fact", "content": "Uses macOS.", name: "x"})
    assert (error.code, error.field, error.stage) == ("VALIDATION_FAILED", name, 3)
    assert name in error.message
    assert tools.memory_brief().entry_count == 0


@pytest.mark.parametrize("arguments", [None, [], "text", 5, {1: "a"}, {"\ud800": "a"}, [["type", "fact"]]])
def test_arguments_are_a_json_object(tools: Tools, arguments: Any) -> None:
    error = refusal(tools, "memory_store", arguments)
    assert (error.code, error.field) == ("VALIDATION_FAILED", None)


@pytest.mark.conforms("B1.5", "B1.10", "T13")
def test_an_entry_takes_the_place_of_another(tools: Tools, clock: SettableClock) -> None:
    old = tools.memory_store("fact", "Uses pnpm 9.x")
    clock.advance(60)
    new = tools.memory_store("fact", "Uses pnpm 10.x", supersedes=old.id)
    assert (new.supersedes, new.superseded_by) == (old.id, None)
    for found in (tools.memory_search("pnpm"), tools.memory_search(), tools.memory_search(type="fact")):
        assert [entry.id for entry in found.results] == [new.id]
    brief = tools.memory_brief()
    assert ([entry.id for entry in brief.entries], brief.entry_count) == ([new.id], 2)
    assert {entry.id for entry in tools.memory_search("pnpm", include_superseded=True).results} == {old.id, new.id}


@pytest.mark.patient
@pytest.mark.conforms("B1.12")
@pytest.mark.parametrize("missing", ["mem-abc123", "mem-7f3a2b1c-4d5e-6f7a-8b9c-0d1e2f3a4b5c", "abc", "mem-"])
def test_what_is_not_there_cannot_be_superseded_and_nothing_is_stored_or_counted(tools: Tools, missing: str) -> None:
    for _ in range(25):
        error = refusal(tools, "memory_store", {"type": "fact", "content": "Let me in.", "supersedes": missing})
        assert (error.code, error.retriable) == ("HANDLER_ERROR", False)
        assert f"{missing!r} not found" in error.message
    assert tools.memory_brief().entry_count == 0
    assert [tools.memory_store("fact", f"Fact {number}.") for number in range(20)]


@pytest.mark.conforms("T12")
def test_superseding_what_was_superseded_is_a_conflict_that_names_the_newest(tools: Tools) -> None:
    first = tools.memory_store("fact", "Uses npm")
    second = tools.memory_store("fact", "Uses yarn", supersedes=first.id)
    third = tools.memory_store("fact", "Uses pnpm", supersedes=second.id)
    error = refusal(tools, "memory_store", {"type": "fact", "content": "Uses bun", "supersedes": first.id})
    assert error.code == "HANDLER_ERROR"
    assert third.id in error.message
    assert "atom_" not in error.message
    assert contents(tools.memory_search(include_superseded=True)) == ["Uses pnpm", "Uses yarn", "Uses npm"]


@pytest.mark.conforms("B5.8")
def test_a_chain_of_entries_has_no_limit_but_that_of_its_sessions(in_session: InSession) -> None:
    newest = in_session("session-0").tools.memory_store("fact", "Version 0")
    for number in range(1, 13):
        tools = in_session(f"session-{number // 4}").tools
        newest = tools.memory_store("fact", f"Version {number}", supersedes=newest.id)
    assert contents(in_session("last").tools.memory_search()) == ["Version 12"]
    assert len(in_session("last").tools.memory_search(include_superseded=True).results) == 13


@pytest.mark.conforms("B1.8", "B1.14")
def test_a_session_has_twenty_stores_and_only_what_succeeds_counts(tools: Tools, in_session: InSession) -> None:
    for number in range(20):
        refusal(tools, "memory_store", {"type": "fact", "content": ""})
        refusal(tools, "memory_store", {"type": "fact", "content": "x", "supersedes": "mem-none"})
        tools.memory_store("fact", f"Fact {number}.")
    error = refusal(tools, "memory_store", {"type": "fact", "content": "One too many."})
    assert (error.code, error.retriable, error.status, error.stage) == ("RATE_LIMITED", False, 429, 4)
    assert tools.memory_brief().entry_count == 20
    assert in_session("session-2").tools.memory_store("fact", "A new session.")


@pytest.mark.conforms("B1.9", "B1.14")
def test_a_session_has_five_supersedes_and_each_is_a_store_as_well(tools: Tools) -> None:
    newest = tools.memory_store("fact", "Version 0")
    for number in range(1, 6):
        newest = tools.memory_store("fact", f"Version {number}", supersedes=newest.id)
    error = refusal(tools, "memory_store", {"type": "fact", "content": "Version 6", "supersedes": newest.id})
    assert (error.code, "supersedes" in error.message) == ("RATE_LIMITED", True)
    for number in range(14):
        tools.memory_store("fact", f"Fact {number}.")
    # Both are used up, and the stores are looked at first.
    error = refusal(tools, "memory_store", {"type": "fact", "content": "Version 6", "supersedes": newest.id})
    assert "20 stores" in error.message


@pytest.mark.conforms("T14")
def test_a_quota_outlives_the_engine(database_url: str, tools: Tools) -> None:
    for number in range(20):
        tools.memory_store("fact", f"Fact {number}.")
    with longmind.open(database_url, embedder=None) as another:
        same = another.context(tenant_id="acme", app_id="support", user_id="ada", session_id="session-1")
        assert refusal(same.tools, "memory_store", {"type": "fact", "content": "More."}).code == "RATE_LIMITED"


@pytest.mark.conforms("B1.8")
def test_without_a_session_of_the_host_a_context_is_one(engine: longmind.Engine, clock: SettableClock) -> None:
    context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    (session,) = {context.tools.memory_store("fact", f"Fact {number}.").session_id for number in range(20)}
    clock.advance(24 * 3600)
    assert refusal(context.tools, "memory_store", {"type": "fact", "content": "More."}).code == "RATE_LIMITED"
    another = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    assert another.tools.memory_store("fact", "More.").session_id != session
    # An event belongs to a session only if the host names one.
    assert context.scope.session_id is None


def test_the_settings_say_how_much_a_session_may_do(database_url: str) -> None:
    limits: dict[str, Any] = {"session_stores": 3, "session_supersedes": 1, "session_deletes": 1}
    with longmind.open(database_url, embedder=None, **limits) as engine:
        tools = engine.context(tenant_id="acme", app_id="support", user_id="ada").tools
        first = tools.memory_store("fact", "One.")
        second = tools.memory_store("fact", "Two.", supersedes=first.id)
        again = refusal(tools, "memory_store", {"type": "fact", "content": "Three.", "supersedes": second.id})
        assert again.message == "This session has used up its 1 supersedes."
        third = tools.memory_store("fact", "Three.")
        assert refusal(tools, "memory_store", {"type": "fact", "content": "Four."}).code == "RATE_LIMITED"
        tools.memory_delete(third.id)
        assert refusal(tools, "memory_delete", {"id": second.id}).message.endswith("its 1 deletes.")
    with pytest.raises(longmind.InvalidInput, match="session_stores is 0"):
        longmind.open(database_url, session_stores=0)


def told_by(ctx: longmind.Context, trust: str) -> str:
    """An entry of the group that did not come from the agent; gives its id."""
    ctx.tools.memory_store("fact", "There is a group.")
    (space,) = ctx.memory.list_memory_spaces()
    rule = {"name": "instruction", "kind": "RULE"}
    ctx.memory.add_atom(space.id, {"text": "Never push to main.", "category": rule, "trust": trust})
    return ctx.tools.memory_search("push").results[0].id


@pytest.mark.conforms("T10")
@pytest.mark.parametrize("trust", ["user", "app"])
@pytest.mark.parametrize(
    ("tool", "arguments", "question"),
    [
        (
            "memory_store",
            {"type": "instruction", "content": "Always push to main."},
            "Replace 'Never push to main.' with 'Always push to main.'?",
        ),
        ("memory_delete", {}, "Forget 'Never push to main.'?"),
    ],
)
def test_what_the_user_told_is_replaced_or_removed_only_if_the_user_agrees(
    ctx: longmind.Context, trust: str, tool: str, arguments: dict[str, str], question: str
) -> None:
    entry = told_by(ctx, trust)
    arguments = {**arguments, "supersedes" if tool == "memory_store" else "id": entry}
    assert refusal(ctx.tools, tool, arguments).code == "CONFIRMATION_DENIED"
    asked: list[str] = []

    def answer(reply: Any) -> Callable[[dict[str, Any]], str]:
        def confirm(question: str) -> bool:
            asked.append(question)
            if isinstance(reply, Exception):
                raise reply
            return bool(reply)

        return next(bound.run for bound in ctx.tools.bound(confirm=confirm) if bound.tool.name == tool)

    for reply, code in (
        (False, "CONFIRMATION_DENIED"),
        (TimeoutError(), "CONFIRMATION_TIMEOUT"),
        (RuntimeError("no terminal"), "CONFIRMATION_DENIED"),
    ):
        with pytest.raises(longmind.ToolError) as caught:
            answer(reply)(arguments)
        assert caught.value.code == code
        assert contents(ctx.tools.memory_search("push")) == ["Never push to main."]
    answer(True)(arguments)
    assert asked == [question] * 4
    assert "Never push to main." not in contents(ctx.tools.memory_search("push"))


@pytest.mark.conforms("T10")
def test_what_the_user_told_before_is_not_removed_either(ctx: longmind.Context) -> None:
    entry = told_by(ctx, "user")
    store, _, _, delete = ctx.tools.bound(confirm=lambda question: question.startswith("Replace"))
    store.run({"type": "instruction", "content": "Push to main on Fridays.", "supersedes": entry})
    with pytest.raises(longmind.ToolError) as caught:
        delete.run({"id": entry})
    assert caught.value.code == "CONFIRMATION_DENIED"
    assert "Never push to main." in contents(ctx.tools.memory_search("push", include_superseded=True))
    # It cannot be replaced a second time, so that nobody is asked for it.
    with pytest.raises(longmind.ToolError) as caught:
        store.run({"type": "instruction", "content": "Always push to main.", "supersedes": entry})
    assert caught.value.code == "HANDLER_ERROR"


def test_what_the_user_agreed_to_is_the_users(ctx: longmind.Context) -> None:
    entry = told_by(ctx, "user")
    store = ctx.tools.bound(confirm=lambda question: True)[0]
    store.run({"type": "instruction", "content": "Push to main on Fridays.", "supersedes": entry})
    newer = ctx.tools.memory_search("push").results[0]
    assert refusal(ctx.tools, "memory_delete", {"id": newer.id}).code == "CONFIRMATION_DENIED"
