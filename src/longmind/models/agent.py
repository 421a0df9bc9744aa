"""Agents as JSON defines them, and as they are registered."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from longmind.models.value import Value


class AgentMemory(Value):
    """The memory that an agent sees in its system prompt at each invocation."""

    memory_space_id: str
    recall_query: str = "$userMessage"
    recall_limit: int = Field(default=8, ge=0, le=200)
    token_budget: int = Field(default=4_000, ge=1, le=10_000_000)
    always_on_category_names: list[str] = Field(default_factory=list, max_length=100)


class AgentDefinition(Value):
    """An agent. A text that is a `$` and a name stands for the argument of that name at the invocation."""

    name: str
    """Up to 64 letters, digits, `_` and `-`."""
    model: str
    """`vendor:model`, or the model of `provider`."""
    provider: str | None = None
    description: str | None = None
    system_prompt: str | None = None
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


class Agent(Value):
    """A registered agent."""

    name: str
    tenant_id: str
    app_id: str
    definition: AgentDefinition
    created_at: str
    updated_at: str
