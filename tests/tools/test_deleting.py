"""memory_delete: gone for good, a few in each session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import longmind
from longmind.tools import Tools
from tests.tools.test_storing import contents, refusal

InSession = Callable[[str], longmind.Context]


@pytest.mark.conforms("B4.1", "B4.3")
def test_a_deleted_entry_is_gone_from_the_store_and_the_index(ctx: longmind.Context) -> None:
    entry = ctx.tools.memory_store("fact", "Uses macOS.")
    assert ctx.tools.invoke("memory_delete", {"id": entry.id}) == {"deleted": True, "id": entry.id}
    assert ctx.tools.memory_search("macOS", include_superseded=True).results == []
    assert ctx.tools.memory_search(include_superseded=True).results == []
    assert ctx.tools.memory_brief().entry_count == 0
    (space,) = ctx.memory.list_memory_spaces()
    assert ctx.memory.list_atoms(space.id, status=None) == []
    assert refusal(ctx.tools, "memory_delete", {"id": entry.id}).code == "HANDLER_ERROR"


@pytest.mark.conforms("B4.3")
@pytest.mark.parametrize("id", ["mem-abc123", "mem-7f3a2b1c-4d5e-6f7a-8b9c-0d1e2f3a4b5c", "nonsense"])
def test_an_entry_that_is_not_there_is_not_found(tools: Tools, id: str) -> None:
    error = refusal(tools, "memory_delete", {"id": id})
    assert (error.code, error.message) == ("HANDLER_ERROR", f"Entry {id!r} not found.")


@pytest.mark.conforms("B4.2")
def test_a_session_has_five_deletes_and_only_successes_count(tools: Tools, in_session: InSession) -> None:
    entries = [tools.memory_store("fact", f"Fact {number}") for number in range(7)]
    for entry in entries[:5]:
        refusal(tools, "memory_delete", {"id": "mem-none"})
        tools.memory_delete(entry.id)
    assert refusal(tools, "memory_delete", {"id": entries[5].id}).code == "RATE_LIMITED"
    assert contents(tools.memory_search()) == ["Fact 6", "Fact 5"]
    in_session("session-2").tools.memory_delete(entries[5].id)
    # Stores are counted apart.
    assert tools.memory_store("fact", "One more.")


@pytest.mark.conforms("T11")
def test_deleting_the_newer_entry_does_not_bring_the_older_back(tools: Tools) -> None:
    old = tools.memory_store("fact", "Uses npm")
    new = tools.memory_store("fact", "Uses pnpm", supersedes=old.id)
    tools.memory_delete(new.id)
    assert tools.memory_search("npm").results == []
    assert tools.memory_search().results == []
    assert tools.memory_brief().entries == []
    assert contents(tools.memory_search(include_superseded=True)) == ["Uses npm"]


@pytest.mark.parametrize("arguments", [{}, {"id": None}, {"id": ""}, {"id": 5}, {"id": "mem-x", "group": "g"}])
def test_an_id_and_nothing_else_is_needed(tools: Tools, arguments: dict[str, object]) -> None:
    assert refusal(tools, "memory_delete", arguments).code == "VALIDATION_FAILED"
