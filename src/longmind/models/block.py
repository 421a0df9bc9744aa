"""Memory blocks: short documents of a user, or of one agent of a user, that are replaced as a whole.

Core blocks stand in every prompt and are small; archival blocks are searched line by line.
"""

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
    """Base of the values of blocks, whose JSON keeps its original snake_case names."""

    model_config = ConfigDict(serialize_by_alias=False)


class Block(BlockValue):
    """A memory block with its present content."""

    id: str
    block_type: BlockType
    content: str
    scope: BlockScope
    agent_id: str | None
    created_at: str
    updated_at: str
    """Grows with every write; the next write has to pass it."""
    version: int
    """Grows by one with every write, and never restarts, even if the block was deleted in between."""

    @property
    def entries(self) -> list[str]:
        """Return the lines that are not blank."""
        return list_entries(self.content)


class BlockRevision(BlockValue):
    """An earlier content of a block, kept when the block was written again."""

    revision: int
    """The version of the block that this was."""
    block_type: BlockType
    scope: BlockScope
    agent_id: str | None
    content: str
    written_by: Writer
    updated_at: str
    """The time at which it was written."""
    replaced_at: str
    shrunk: bool
    """True if a model or sleep-time memory then kept less than half of it: the revision to check after a mishap."""


class BlockLine(BlockValue):
    """A line of archival memory that a search found."""

    content: str
    score: float
    """A number from 0 to 1 that grows with `raw_score`."""
    raw_score: float
    block_type: BlockType
    scope: BlockScope
    agent_id: str | None
    line_number: int
    """Counted from 1, blank lines included."""
    updated_at: str


class MemoryPolicy(BlockValue):
    """The memory that reaches the model without a tool call.

    A turn and a working context take one. What it leaves out stays available to tools and to explicit reads.

    archival_mode: `auto` adds archival lines about the user's message; `tool_only` and `off` add none.
    archival_limit, archival_min_score: the most lines that `auto` adds, and the least score of each.
    include_brief: whether a turn shows the brief of the memory tools, what agents noted in earlier sessions.
    """

    # The defaults that hosts of agents expect: core memory in each prompt, archival memory by tool.
    archival_mode: ArchivalMode = "tool_only"
    archival_limit: int = Field(default=10, ge=1, le=200, strict=True)
    archival_min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False, strict=True)
    include_user_core: bool = Field(default=True, strict=True)
    include_agent_core: bool = Field(default=True, strict=True)
    include_brief: bool = Field(default=True, strict=True)


class SleepTime(BlockValue):
    """Settings of sleep-time memory: `enabled`, and the seconds of silence after which a conversation is read.

    They are those of the user or the agent, or else those of the engine.
    """

    enabled: bool
    idle_seconds: float


def split_lines(content: str) -> list[str]:
    """Return the lines of a block, blank ones included, so that line numbers stay true."""
    return content.split("\n")


def list_entries(content: str) -> list[str]:
    """Return the lines of a block that are not blank."""
    return [line for line in split_lines(content) if line.strip()]
