"""Agents as JSON defines them, and as they are registered."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from longmind.models.value import Value


class AgentMemory(Value):
    """The memory that an agent sees in its system prompt at each invocation."""

    memory_space_id: str
    """The id of a space, or `$` and the name of the argument that brings it."""
    recall_query: str = "$userMessage"
    """The topic to recall facts and quotes about."""
    recall_limit: int = Field(default=8, ge=0, le=200)
    token_budget: int = Field(default=4_000, ge=1, le=10_000_000)
    """The longest that this part of the prompt may be, in tokens."""
    always_on_category_names: list[str] = Field(default_factory=list, max_length=100)
    """Categories whose facts are shown whatever the question is."""


class AgentDefinition(Value):
    """An agent. A text that is a `$` and a name stands for the argument of that name at the invocation."""

    name: str
    """Up to 64 letters, digits, `_` and `-`."""
    model: str
    """`vendor:model`, or the model of `provider`."""
    provider: str | None = None
    description: str | None = None
    """A note for people; no model sees it."""
    system_prompt: str | None = None
    """The instructions, which come before the memory."""
    user_text: str = "$userMessage"
    """The words of the user."""
    namespace: str | None = None
    """The namespace of a conversation that an invocation begins; by default the name of the agent."""
    memory: AgentMemory | None = None
    tools: list[str | dict[str, Any]] = Field(default_factory=list)
    """Names of registered tools, and recall tools."""
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_cycles: int = Field(default=8, ge=1, le=1_000)
    """Number of times that the model may be asked in one turn."""


class Agent(Value):
    """A registered agent."""

    name: str
    tenant_id: str
    app_id: str
    definition: AgentDefinition
    created_at: str
    updated_at: str
