"""A grant that is taken back ends in every process at once, whatever they have in memory."""

from __future__ import annotations

import pytest

import longmind
from harness.crew import Line, ada, run_together, start_process
from longmind.memory import Memory

TOOL = {"type": "RECALL_BY_TOPIC", "name": "recallHandbook", "memorySpaceId": "$space"}


def librarian(engine: longmind.Engine) -> Memory:
    return engine.context(tenant_id="acme", app_id="support", user_id="librarian").memory


def share(engine: longmind.Engine) -> tuple[Memory, longmind.MemorySpace]:
    owner = librarian(engine)
    space = owner.create_memory_space("handbook", kind="shared")
    owner.add_atom(space.id, {"text": "Lunch is at noon", "category": {"name": "food", "kind": "FACT"}})
    return owner, space


def read_when_asked(line: Line, url: str, space_id: str) -> None:
    with ada(url, embedder=None) as (_, ctx):
        (tool,) = ctx.memory.agent_tools(TOOL, {"space": space_id})
        while line.hear() != "end":
            try:
                line.say(tool.run({"query": "lunch"}))
            except longmind.NotFound:
                line.say(None)


@pytest.mark.conforms("T6", "T7")
def test_a_process_that_has_a_space_in_memory_sees_at_once_that_its_grant_was_taken_back(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        owner, space = share(engine)
        with start_process(read_when_asked, database_url, space.id) as reader:

            def told() -> object:
                reader.say("read")
                return reader.hear()

            assert told() is None
            for _ in range(3):
                owner.grant_space(space.id, "ada")
                assert told() == told() == "Lunch is at noon"
                owner.revoke_space(space.id, "ada")
                assert told() is None
            owner.grant_space(space.id, "*")
            assert told() == "Lunch is at noon"
            owner.delete_memory_space(space.id)
            assert told() is None
            reader.say("end")


def grant_and_revoke(line: Line, url: str, space_id: str, times: int) -> None:
    with longmind.open(url, embedder=None) as engine:
        owner = librarian(engine)
        line.wait_for_others()
        for _ in range(times):
            owner.grant_space(space_id, "ada")
            owner.revoke_space(space_id, "ada")


@pytest.mark.conforms("T6")
def test_processes_that_grant_and_take_back_at_once_leave_nothing_half_done(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        owner, space = share(engine)
        cursor = engine.last_cursor()
        run_together(grant_and_revoke, [(database_url, space.id, 10)] * 3)
        told = [change.kind for change in engine.follow(cursor)]
        # Each takes back last, and no two changes of one kind follow each other: none was told that was none.
        assert told == ["space.granted", "space.revoked"] * (len(told) // 2)
        assert len(told) >= 20
        assert owner.list_grants(space.id) == []
