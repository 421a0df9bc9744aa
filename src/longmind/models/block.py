"""Memory blocks: short documents of a user, or of one agent of a user, that are replaced as a whole."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from longmind.models.value import Value

BlockType = Literal["core", "archival"]
BlockScope = Literal["user", "agent"]
Writer = Literal["app", "tool", "sleep"]
ArchivalMode = Literal["tool_only", "auto", "off"]

CORE_LIMIT = 4_000
CORE_ENTRIES_LIMIT = 20
ARCHIVAL_LIMIT = 8_000
"""Limits count characters as code points, and an entry is a line that is not blank."""


class BlockValue(Value):
    """A value of blocks: their JSON has the names that blocks have had from the start, in snake_case."""

    model_config = ConfigDict(serialize_by_alias=False)


class Block(BlockValue):
    id: str
    block_type: BlockType
    content: str
    scope: BlockScope
    agent_id: str | None
    created_at: str
    updated_at: str
    """Grows with every write, and is what the next write has to name."""
    version: int
    """Grows by one with every write, and never begins anew, even if the block was deleted in between."""

    @property
    def entries(self) -> list[str]:
        return list_entries(self.content)


class BlockRevision(BlockValue):
    """What a block held before it was written again."""

    revision: int
    """The version of the block that this was."""
    block_type: BlockType
    scope: BlockScope
    agent_id: str | None
    content: str
    written_by: Writer
    updated_at: str
    """When it was written."""
    replaced_at: str
    shrunk: bool
    """Whether a model or sleep-time memory has left less than half of it: the one to look at after a mishap."""


class BlockLine(BlockValue):
    """A line of archival memory that was recalled."""

    content: str
    score: float
    """From 0 to 1, growing with `raw_score`."""
    raw_score: float
    block_type: BlockType
    scope: BlockScope
    agent_id: str | None
    line_number: int
    """Counted from 1, blank lines included."""
    updated_at: str


class MemoryPolicy(BlockValue):
    """Which memory reaches the model by itself."""

    archival_mode: ArchivalMode = "tool_only"
    archival_limit: int = Field(default=10, ge=1, le=200, strict=True)
    archival_min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False, strict=True)
    include_user_core: bool = Field(default=True, strict=True)
    include_agent_core: bool = Field(default=True, strict=True)


class SleepTime(BlockValue):
    """Whether blocks are updated from conversations that have settled, and when one has."""

    enabled: bool
    idle_seconds: float


def split_lines(content: str) -> list[str]:
    return content.split("\n")


def list_entries(content: str) -> list[str]:
    return [line for line in split_lines(content) if line.strip()]
