"""A binding: which conversations become memory, in which spaces, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, StrictBool

from longmind.models.value import Value
from longmind.validation.annotated import Label, Namespace

EVERYBODY = "*"
"""In the place of a user or a namespace: all of them."""


class ConversationScope(Value):
    """Conversations of one user, or of all (`*`), in one namespace, or in all."""

    namespace: Namespace = Field(strict=True)
    user_id: str = Field(strict=True)


class ExtractionPolicy(Value):
    extraction_version: Label = Field(default="v1", strict=True)
    """Which version of the extractor's instructions is used. A new one is for what is extracted from then on."""
    on_conversation_closed: StrictBool = True
    windowed: StrictBool = False
    """Whether to extract also every `window_turns` answered turns of an open conversation."""
    window_turns: int = Field(default=0, strict=True)


class Binding(Value):
    id: str
    tenant_id: str
    app_id: str
    user_id: str
    """Who made it."""
    conversation_scope: ConversationScope | list[ConversationScope]
    memory_space_ids: list[str]
    extraction_policy: ExtractionPolicy
    enabled: bool
    created_at: str
    updated_at: str

    @property
    def members(self) -> list[ConversationScope]:
        """The alternatives: a conversation that falls under one of them falls under the binding."""
        scope = self.conversation_scope
        return [scope] if isinstance(scope, ConversationScope) else scope


class PlannedAtom(Value):
    """What extraction would do with one fact."""

    text: str
    kind: str
    category_name: str
    source_message_ids: list[str]
    because: str
    atom_id: str | None = None
    """The atom that is known already: the one it confirms, takes the place of, or is left out for."""


class ExtractionPreview(Value):
    """What extraction of a conversation would change in one space; nothing was written."""

    binding_id: str
    memory_space_id: str | None
    """None when the space would be made."""
    extraction_version: str
    added: list[PlannedAtom]
    reinforced: list[PlannedAtom]
    superseded: list[PlannedAtom]
    skipped: list[PlannedAtom]


ScopeInput = ConversationScope | dict[str, Any] | Sequence[ConversationScope | dict[str, Any]]
PolicyInput = ExtractionPolicy | dict[str, Any]
