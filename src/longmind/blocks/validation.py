"""Validation of the types, agents, texts and limits of blocks, and of sleep-time settings."""

from __future__ import annotations

from typing import get_args

from longmind.clock import Instant, Micros, to_micros
from longmind.errors import InvalidInput, LimitExceeded
from longmind.models.block import (
    ARCHIVAL_LIMIT,
    CORE_ENTRIES_LIMIT,
    CORE_LIMIT,
    BlockType,
    list_entries,
)
from longmind.scope import validate_identity
from longmind.store.tables.blocks import BlockPlace
from longmind.validation.text import quote_value, validate_text

_CHARACTERS: dict[BlockType, int] = {"core": CORE_LIMIT, "archival": ARCHIVAL_LIMIT}
_MAX_IDLE_SECONDS = 365 * 24 * 3600


def validate_place(block_type: object, agent_id: object) -> BlockPlace:
    """Return the place of a block from its type and its agent; None as agent means the user."""
    return BlockPlace(validate_type(block_type), validate_agent(agent_id))


def validate_type(block_type: object) -> BlockType:
    """Return a block type."""
    if block_type in get_args(BlockType):
        return block_type  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"block_type is {quote_value(block_type)}.", hint="Use 'core' or 'archival'.")


def validate_agent(agent_id: object) -> str | None:
    """Return an agent id, or None for the user's own blocks."""
    return None if agent_id is None else validate_identity("agent_id", agent_id)


def validate_expectation(expected_updated_at: Instant | None) -> Micros | None:
    """Return the instant of the last write that the caller has read, in UTC if it has no zone; None stays None."""
    return None if expected_updated_at is None else to_micros(expected_updated_at, "expected_updated_at")


def validate_content(block_type: BlockType, content: object) -> str:
    """Return a block's text with `\\n` for every line break; raise LimitExceeded if it is too long: it is never cut."""
    text = normalise_breaks(validate_text("content", content))
    excess = _find_excess(block_type, text)
    if excess is not None:
        raise excess
    return text


def fits(block_type: BlockType, content: str) -> bool:
    """Return whether a text keeps within the limits of a block."""
    return _find_excess(block_type, content) is None


def normalise_breaks(content: str) -> str:
    """Return a text with `\\n` for every line break."""
    return content.replace("\r\n", "\n").replace("\r", "\n")


def _find_excess(block_type: BlockType, content: str) -> LimitExceeded | None:
    limit = _CHARACTERS[block_type]
    name = f"The content of a {block_type} block" if block_type == "core" else "The content of an archival block"
    if len(content) > limit:
        return LimitExceeded(name, limit=limit, given=len(content), unit="characters")
    # A core block is in every prompt, so its lines are limited too.
    if block_type == "core":
        entries = len(list_entries(content))
        if entries > CORE_ENTRIES_LIMIT:
            unit = "entries (lines that are not blank)"
            return LimitExceeded(name, limit=CORE_ENTRIES_LIMIT, given=entries, unit=unit)
    return None


def validate_idle(idle_seconds: object) -> Micros:
    """Return the time after which a conversation counts as idle."""
    if (
        isinstance(idle_seconds, bool)
        or not isinstance(idle_seconds, int | float)
        or not 0 < idle_seconds <= _MAX_IDLE_SECONDS
    ):
        raise InvalidInput(
            f"idle_seconds is {quote_value(idle_seconds)}.", hint="Pass a number of seconds above 0, at most 365 days."
        )
    return int(idle_seconds * 1_000_000)
