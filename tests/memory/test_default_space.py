"""The default space: one for each user, with one binding, whichever thread or process asks first."""

from __future__ import annotations

import contextlib

import pytest

import longmind
from harness.crew import Line, ada, run_together
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.memory.facts import at_once, kinds_since


def test_the_default_space_and_its_binding_are_created_once(engine: longmind.Engine, memory: Memory) -> None:
    space = memory.open_default_space()
    assert (space.name, space.kind, space.user_id) == ("default", "user", "ada")
    (binding,) = memory.list_bindings()
    assert [vars(member) for member in binding.members] == [{"namespace": "chat", "user_id": "ada"}]
    assert (binding.memory_space_ids, binding.enabled) == ([space.id], True)
    assert binding.extraction_policy.on_conversation_closed
    cursor = engine.last_cursor()
    assert memory.open_default_space() == space
    assert memory.list_bindings() == [binding]
    assert kinds_since(engine, cursor) == []


def test_what_is_said_in_chats_is_read_into_the_default_space(engine: longmind.Engine, ctx: longmind.Context) -> None:
    space = ctx.memory.open_default_space()
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(conversation.id, "I live in Graz.")
    ctx.conversations.close_conversation(conversation.id)
    engine.work()
    assert [atom.text for atom in ctx.memory.list_atoms(space.id)] == ["User lives in Graz."]


def test_the_only_space_is_the_default_and_gets_the_binding(memory: Memory) -> None:
    space = memory.create_memory_space("personal")
    assert memory.open_default_space() == space
    assert [binding.memory_space_ids for binding in memory.list_bindings()] == [[space.id]]
    assert memory.list_memory_spaces() == [space]


def test_of_several_spaces_the_one_called_default_is_used(memory: Memory, clock: SettableClock) -> None:
    memory.create_memory_space("personal")
    clock.advance(1)
    memory.create_memory_space("work")
    with pytest.raises(longmind.InvalidInput) as refused:
        memory.open_default_space()
    assert refused.value.hint == "Name one of these: personal, work."
    assert memory.list_bindings() == []
    called = memory.create_memory_space("default")
    assert memory.open_default_space() == called


def test_a_user_of_the_memory_tools_alone_keeps_their_space(ctx: longmind.Context) -> None:
    ctx.tools.memory_store("fact", "Ada drinks coffee black.")
    (space,) = ctx.memory.list_memory_spaces()
    assert ctx.memory.open_default_space() == space


def test_a_deleted_default_space_is_created_anew_with_a_binding(memory: Memory, clock: SettableClock) -> None:
    first = memory.open_default_space()
    clock.advance(1)
    memory.delete_memory_space(first.id)
    second = memory.open_default_space()
    assert second.id != first.id
    assert [binding.memory_space_ids for binding in memory.list_bindings()] == [[second.id], [first.id]]


def test_a_missing_binding_is_created_and_a_paused_one_left_alone(memory: Memory) -> None:
    memory.open_default_space()
    (binding,) = memory.list_bindings()
    paused = memory.update_binding(binding.id, enabled=False)
    memory.open_default_space()
    assert memory.list_bindings() == [paused]
    memory.delete_binding(paused.id)
    memory.open_default_space()
    assert len(memory.list_bindings()) == 1


@pytest.mark.parametrize("namespace", ["chat", "*"])
def test_a_binding_that_covers_chats_already_is_enough(memory: Memory, namespace: str) -> None:
    space = memory.create_memory_space("default")
    own = memory.create_binding({"namespace": namespace, "user_id": "ada"}, [space.id])
    assert memory.open_default_space() == space
    assert memory.list_bindings() == [own]


def test_a_binding_of_the_host_for_all_users_is_enough(engine: longmind.Engine, memory: Memory) -> None:
    host = engine.context(tenant_id="acme", app_id="support", user_id="host", capabilities={"admin"}).memory
    host.create_binding({"namespace": "*", "user_id": "*"}, [host.create_memory_space("default").id])
    memory.open_default_space()
    assert memory.list_bindings() == []


def test_a_binding_to_another_space_or_namespace_is_not_enough(memory: Memory) -> None:
    other, space = memory.create_memory_space("other"), memory.create_memory_space("default")
    memory.create_binding({"namespace": "chat", "user_id": "ada"}, [other.id])
    memory.create_binding({"namespace": "mail", "user_id": "ada"}, [space.id])
    memory.open_default_space()
    made = [binding.memory_space_ids for binding in memory.list_bindings()]
    assert sorted(made) == sorted([[space.id], [space.id], [other.id]])


def test_users_have_default_spaces_of_their_own(engine: longmind.Engine, memory: Memory) -> None:
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob").memory
    assert bob.open_default_space().id != memory.open_default_space().id
    assert len(bob.list_bindings()) == len(memory.list_bindings()) == 1


def test_eight_threads_that_open_it_at_once_get_one_space_and_one_binding(
    engine: longmind.Engine, memory: Memory
) -> None:
    opened = at_once(8, lambda _: memory.open_default_space())
    assert len({space.id for space in opened}) == 1
    assert kinds_since(engine, 0) == ["space.created", "binding.created"]


def test_opening_never_fails_while_others_delete(memory: Memory) -> None:
    def work(index: int) -> None:
        for _ in range(10):
            space = memory.open_default_space()
            if index % 2:
                # Another thread may be faster; that is no failure of opening.
                with contextlib.suppress(longmind.NotFound):
                    memory.delete_memory_space(space.id)

    at_once(6, work)
    space = memory.open_default_space()
    assert [binding.memory_space_ids for binding in memory.list_bindings()].count([space.id]) == 1


def open_together(line: Line, url: str) -> tuple[str, int]:
    with ada(url, embedder=None) as (_, ctx):
        line.wait_for_others()
        space = ctx.memory.open_default_space()
        return space.id, len(ctx.memory.list_bindings())


def test_processes_that_open_it_at_once_get_one_space_and_one_binding(database_url: str) -> None:
    assert len(set(run_together(open_together, [(database_url,)] * 4))) == 1
    with ada(database_url, embedder=None) as (_, ctx):
        assert len(ctx.memory.list_memory_spaces()) == len(ctx.memory.list_bindings()) == 1
