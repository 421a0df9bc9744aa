"""Operations on what was said: recorded turns, and the messages of conversations beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from longmind.errors import InvalidInput
from longmind.events.recording import Recording
from longmind.events.validation import validate_names, validate_tags
from longmind.models.event import CHAT_TURN, EVENT_DATA_LIMIT, EVENT_TEXT_LIMIT, ChatRole, Event
from longmind.scope import Level
from longmind.store.tables import events as store
from longmind.validation.annotated import LIMIT, Limit, Text
from longmind.validation.text import encode_json, validate_size, validate_text

CHAT_TAG = "chat"
_BESIDE_THE_TEXT = 1024
"""Bytes that the data has for the role and the names."""


class Chat(Recording):
    def record_chat(
        self,
        role: ChatRole,
        text: Text,
        *,
        tags: Sequence[str] | None = None,
        data: dict[str, Any] | None = None,
        severity: int = 2,
        signal: float | None = None,
    ) -> Event:
        """Record that somebody said something. What `data` says of a role or a text does not replace the given ones."""
        said = {"role": _validate_role(role), "text": validate_text("text", text, limit=EVENT_TEXT_LIMIT)}
        # It stands in the data too, of which there may be fewer bytes than characters of text.
        validate_size("text", text, EVENT_DATA_LIMIT - _BESIDE_THE_TEXT)
        base = {
            "kind": CHAT_TURN,
            "stage": role,
            "tags": [*validate_tags(tags), CHAT_TAG],
            "data": {**said, **_validate_data(data), **said},
            "severity": severity,
            "signal": signal,
        }
        return self.record_raw(base=base, text=text)

    def record_chat_user(
        self,
        text: Text,
        *,
        tags: Sequence[str] | None = None,
        data: dict[str, Any] | None = None,
        severity: int = 2,
        signal: float | None = None,
    ) -> Event:
        """Record what the user said."""
        return self.record_chat("user", text, tags=tags, data=data, severity=severity, signal=signal)

    def record_chat_assistant(
        self,
        text: Text,
        *,
        tags: Sequence[str] | None = None,
        data: dict[str, Any] | None = None,
        severity: int = 2,
        signal: float | None = None,
    ) -> Event:
        """Record what the assistant said."""
        return self.record_chat("assistant", text, tags=tags, data=data, severity=severity, signal=signal)

    def record_chat_system(
        self,
        text: Text,
        *,
        tags: Sequence[str] | None = None,
        data: dict[str, Any] | None = None,
        severity: int = 1,
        signal: float | None = None,
    ) -> Event:
        """Record what the system said."""
        return self.record_chat("system", text, tags=tags, data=data, severity=severity, signal=signal)

    def recent_chat(
        self,
        *,
        limit: Limit = 50,
        roles: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        level: Level | None = None,
        use_persistence: bool = False,
        return_event: bool = False,
    ) -> list[Any]:
        """What was said last, newest last: recorded turns and messages of conversations on the same timeline.

        Of several answers to one message the last one counts, and what is hidden is left out. A turn must have at least
        one of the tags. Each is a dict of ts, role, text and tags, or an event if that is asked for.
        """
        most = LIMIT.check("limit", limit)
        known = get_args(ChatRole)
        wanted = validate_names(roles, "roles")
        wanted = wanted if wanted is None else tuple(role for role in wanted if role in known)
        window = self._window(level, any_tags=tags, hot=not use_persistence)
        if window is None or wanted == ():
            return []
        found = self._database.read(self._scope, store.newest_chat, self._scope, window, most, wanted)
        if return_event:
            return found
        return [{"ts": turn.ts, "role": turn.stage, "text": turn.text, "tags": turn.tags} for turn in found]


def _validate_role(role: object) -> str:
    if role in get_args(ChatRole):
        return role  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"role is {role!r}.", hint=f"It is one of {', '.join(get_args(ChatRole))}.")


def _validate_data(data: object) -> dict[str, Any]:
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidInput(f"data must be a dict, not {type(data).__name__}.")
    encode_json("data", data, limit=EVENT_DATA_LIMIT)
    return data
