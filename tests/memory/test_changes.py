"""Whatever changes memory is told, once, and without what was remembered."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import longmind
from longmind.memory import Memory
from longmind.models.change import ChangeKind
from tests.memory.facts import administrator, fact


@pytest.mark.conforms("A0.6")
def test_every_write_of_memory_emits_its_change(engine: longmind.Engine, memory: Memory) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    space = memory.create_memory_space("personal", kind="shared")
    bob, rob = (memory.create_entity(space.id, "PERSON", name) for name in ("Bob", "Rob"))
    one, two = memory.add_atoms(space.id, [fact("SECRET one", entity_ids=[bob.id]), fact("SECRET two")])
    new = memory.supersede_atom(one.id, fact("SECRET three"))
    memory.archive_atom(two.id)
    memory.merge_entities(bob.id, rob.id)
    binding = memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    memory.update_binding(binding.id, enabled=False)
    memory.delete_binding(binding.id)
    memory.grant_space(space.id, "bob")
    memory.revoke_space(space.id, "bob")
    memory.delete_atom(new.id)
    administrator(engine).restore_atom(one.id)
    memory.delete_memory_space(space.id)

    expected: list[tuple[str, dict[str, Any]]] = [
        ("space.created", {"spaceId": space.id}),
        ("entity.created", {"spaceId": space.id, "entityId": bob.id}),
        ("entity.created", {"spaceId": space.id, "entityId": rob.id}),
        ("atoms.added", {"spaceId": space.id, "atomIds": [one.id, two.id]}),
        ("atom.superseded", {"spaceId": space.id, "atomId": one.id, "supersededBy": new.id}),
        ("atom.archived", {"spaceId": space.id, "atomId": two.id}),
        ("entity.merged", {"spaceId": space.id, "entityId": bob.id, "aliasId": rob.id}),
        ("binding.created", {"bindingId": binding.id}),
        ("binding.updated", {"bindingId": binding.id}),
        ("binding.deleted", {"bindingId": binding.id}),
        ("space.granted", {"spaceId": space.id, "readerId": "bob"}),
        ("space.revoked", {"spaceId": space.id, "readerId": "bob"}),
        ("atom.deleted", {"spaceId": space.id, "atomId": new.id}),
        ("atom.restored", {"spaceId": space.id, "atomId": one.id}),
        ("space.deleted", {"spaceId": space.id}),
    ]
    assert [(change.kind, change.data) for change in told] == expected
    assert list(engine.follow()) == told
    for change in told:
        assert (change.tenant_id, change.app_id, change.user_id) == ("acme", "support", "ada")
        assert change.conversation_id is None
        assert change.event_id.startswith("evt_")
        assert "SECRET" not in change.model_dump_json()
    others = ("conversation", "message", "block", "event", "agent", "user", "sleep_time")
    of_memory = {kind for kind in get_args(ChangeKind) if kind.split(".")[0] not in others}
    # Extraction alone confirms and ends facts, and what it has decided is undone.
    assert {change.kind for change in told} == of_memory - {"atom.reinforced", "atom.ended", "decision.undone"}


@pytest.mark.conforms("A0.6")
def test_a_write_that_was_refused_emits_nothing(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    atom = memory.add_atom(space.id, fact())
    memory.supersede_atom(atom.id, fact("New."))
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    for refused in (
        lambda: memory.add_atom("ms_none", fact()),
        lambda: memory.add_atoms(space.id, [fact(), fact(entity_ids=["ent_none"])]),
        lambda: memory.supersede_atom(atom.id, fact()),
        lambda: memory.restore_atom(atom.id),
        lambda: administrator(engine).restore_atom(atom.id),
        lambda: memory.delete_atom("atom_none"),
        lambda: memory.archive_atom("atom_none"),
        lambda: memory.merge_entities("ent_none", "ent_none"),
        lambda: memory.delete_memory_space("ms_none"),
    ):
        with pytest.raises(longmind.LongmindError):
            refused()
    assert told == []
    assert [change.kind for change in engine.follow()] == ["space.created", "atoms.added", "atom.superseded"]
