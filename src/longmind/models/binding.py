"""Bindings: rules for which conversations become memory, in which spaces, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, StrictBool

from longmind.models.value import Value
from longmind.validation.parameter_limits import Label, Namespace

EVERYBODY = "*"
"""Stands for all users, or all namespaces."""


class ConversationScope(Value):
    """Conversations of one user, or of all (`*`), in one namespace, or in all."""

    namespace: Namespace = Field(strict=True)
    user_id: str = Field(strict=True)


class ExtractionPolicy(Value):
    """The rules of a binding for when to extract: by default once, when a conversation closes."""

    extraction_version: Label = Field(default="v1", strict=True)
    """The version of the extractor's instructions: `v1`, `v2` or `v3`, or one that an extractor of the program's own
    declares. A new one applies to later extractions."""
    on_conversation_closed: StrictBool = True
    windowed: StrictBool = False
    """True to extract an open conversation too, after every `window_turns` answered turns."""
    window_turns: int = Field(default=0, strict=True)


class Binding(Value):
    """A rule that sends conversations of a scope to memory spaces. The scope never changes; the policy may."""

    id: str
    tenant_id: str
    app_id: str
    user_id: str
    """The user who made the binding."""
    conversation_scope: ConversationScope | list[ConversationScope]
    memory_space_ids: list[str]
    extraction_policy: ExtractionPolicy
    enabled: bool
    created_at: str
    updated_at: str

    @property
    def members(self) -> list[ConversationScope]:
        """Return the alternatives of the scope; the binding covers a conversation that matches one of them."""
        scope = self.conversation_scope
        return [scope] if isinstance(scope, ConversationScope) else scope


class PlannedAtom(Value):
    """A fact as a dry run of extraction found it, with the decision about it."""

    text: str
    kind: str
    category_name: str
    source_message_ids: list[str]
    because: str
    atom_id: str | None = None
    """The known atom that the fact confirms, supersedes or repeats; None if there is none."""


class ExtractionPreview(Value):
    """The changes that extraction of a conversation would make in one space; nothing was written."""

    binding_id: str
    memory_space_id: str | None
    """None if the space does not exist yet."""
    extraction_version: str
    added: list[PlannedAtom]
    reinforced: list[PlannedAtom]
    superseded: list[PlannedAtom]
    skipped: list[PlannedAtom]


ScopeInput = ConversationScope | dict[str, Any] | Sequence[ConversationScope | dict[str, Any]]
PolicyInput = ExtractionPolicy | dict[str, Any]
