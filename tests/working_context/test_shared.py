"""A working context over memory that somebody else shares."""

from __future__ import annotations

from typing import Any

import pytest

import longmind

HANDBOOK: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "handbook"}


@pytest.mark.conforms("T6", "A8.3")
def test_shared_memory_is_in_a_context_as_long_as_it_is_granted(engine: longmind.Engine, ctx: longmind.Context) -> None:
    owner = engine.context(**HANDBOOK).memory
    space = owner.create_memory_space("handbook", kind="shared")
    policy = {"text": "Refunds take five days.", "category": {"name": "policy", "kind": "FACT"}}
    owner.add_atom(space.id, policy)
    talk = ctx.conversations.create_conversation("support-chat")

    def texts() -> list[str]:
        context = ctx.working_context.build_working_context(
            talk.id, memory_space_id=space.id, recall_query="How long do refunds take?"
        )
        return [atom.text for atom in context.atoms_used]

    with pytest.raises(longmind.NotFound):
        texts()
    owner.grant_space(space.id, ctx.scope.user_id)
    assert texts() == ["Refunds take five days."]
    owner.revoke_space(space.id, ctx.scope.user_id)
    with pytest.raises(longmind.NotFound):
        texts()
