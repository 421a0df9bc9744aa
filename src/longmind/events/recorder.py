"""Operations that record events, and that say on which timeline they do.

The service of events is built on this class; its operations that read are in `service.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, Self, get_args

from longmind.errors import InvalidInput, LimitExceeded
from longmind.events.event_builder import STATE_TAG, shorten_text, validate_state_key
from longmind.events.json_values import PlainJson
from longmind.events.timeline import TimelineLog, choose_timeline
from longmind.events.validation import validate_tags, validate_tool
from longmind.models.event import (
    CHAT_TURN,
    EVENT_DATA_LIMIT,
    EVENT_TEXT_LIMIT,
    RECORD_LIMIT,
    STATE_SNAPSHOT,
    TOOL_RESULT,
    ChatRole,
    Event,
)
from longmind.scope import Level
from longmind.validation.parameter_limits import Text
from longmind.validation.text import encode_json, validate_size, validate_text

CHAT_TAG = "chat"
_RESERVED_BYTES = 1024
"""Bytes of a chat turn's data that are left for the role and the names of fields."""


class EventRecorder:
    """Records events on one timeline of the current user.

    Operations validate before they write, so a refused event changes nothing. Each call is one transaction.
    """

    plain: ClassVar[frozenset[str]] = frozenset(
        {
            "at",
            "scope_id",
            "memory_level",
            "bucket_level",
            "timeline",
            "scope_info",
            "debug_print_scope",
            "uri_of",
            "jsonl_files",
        }
    )
    """Methods that wait for nothing: the async twin has them as they are."""

    def __init__(self, log: TimelineLog) -> None:
        self._log = log

    def at(self, level: Level | None = None, *, bucket: str | None = None) -> Self:
        """Return the same service for the timeline of another level, or of a bucket that the caller names.

        Each timeline has its own events: what is recorded at one is not read at another. Where the context lacks the
        id of the level there is nothing to read, and recording is refused.
        """
        return self._use(self._log.move_to(choose_timeline(self._log.scope, level, bucket)))

    def _use(self, log: TimelineLog) -> Self:
        """Return the same service on another log."""
        service = copy(self)
        service._log = log
        return service

    def scope_id(self) -> str | None:
        """Return the bucket that the timeline belongs to, such as `session:s1`; None if the context lacks the id."""
        return self._log.timeline.scope_id

    def memory_level(self) -> str | None:
        """Return the level that was asked for: `session` unless another one was, None for a named bucket."""
        return self._log.timeline.level

    def bucket_level(self) -> str | None:
        """Return the level of the timeline: `user` where there is no session; None for a global or a named bucket."""
        return self._log.timeline.bucket_level

    def timeline(self) -> str | None:
        """Return the id of the timeline; None if the context lacks the id of the level that was asked for."""
        return self._log.timeline.id

    def scope_info(self) -> dict[str, Any]:
        """Return the timeline, the levels and the ids of the context, for inspection."""
        scope = self._log.scope
        present = {
            each.name: getattr(scope, each.name)
            for each in fields(scope)
            if each.name != "capabilities" and getattr(scope, each.name) is not None
        }
        return {
            "timeline_id": self.timeline(),
            "memory_scope_id": self.scope_id(),
            "memory_level": self.memory_level(),
            "bucket_level": self.bucket_level(),
            "has_indices": True,
            "run_id": scope.run_id,
            "session_id": scope.session_id,
            "graph_id": scope.graph_id,
            "node_id": scope.node_id,
            "org_id": scope.tenant_id,
            **present,
        }

    def debug_print_scope(self, prefix: str = "[MEM]") -> None:
        """Print the entries of `scope_info`, one to a line."""
        for name, value in self.scope_info().items():
            print(f"{prefix} {name}: {value}")

    def record_raw(
        self, *, base: dict[str, Any], text: Text | None = None, metrics: dict[str, float] | None = None
    ) -> Event:
        """Record an event from its fields. Without a text, one is derived from `base["data"]`.

        `base` may hold kind, stage, data, tags, severity, signal, topic, inputs, outputs and more, and ts for an event
        of the past. The context decides who records and where: `base` cannot name anybody else.

        text, metrics: as in `record`; they take precedence over those in `base`.
        """
        return self._log.record(base, text, metrics)

    def record(
        self,
        kind: str,
        data: Any,
        tags: Sequence[str] | None = None,
        severity: int = 2,
        stage: str | None = None,
        inputs_ref: Sequence[Any] | None = None,
        outputs_ref: Sequence[Any] | None = None,
        metrics: dict[str, float] | None = None,
        signal: float | None = None,
        text: Text | None = None,
    ) -> Event:
        """Record an event of a kind.

        A dict in `data` is stored as it is, a text becomes the event's text, and anything else is stored as the `value`
        of a dict, or as its repr() where JSON cannot express it. `signal`, from 0 to 1, says how much the event
        matters; without it, it is estimated.

        kind: at most 255 characters. tags: at most 100. severity: 1 for low, 2 for medium, 3 for high. stage: any step
        or role of the caller's own. inputs_ref, outputs_ref: lists of JSON, at most 1 MiB each. metrics: numbers by
        name. text: at most 1,048,576 characters; by default it is derived from the data.
        """
        base = {
            "kind": kind,
            "data": data,
            "tags": tags,
            "severity": severity,
            "stage": stage,
            "inputs": inputs_ref,
            "outputs": outputs_ref,
            "signal": signal,
        }
        return self._log.record(base, text, metrics)

    def record_many(self, events: Sequence[dict[str, Any]]) -> list[Event]:
        """Record many events at once, all or none; each is given by its fields, as the base of `record_raw` is."""
        if isinstance(events, str | bytes | Mapping) or not isinstance(events, Sequence):
            raise InvalidInput(f"events must be a list of dicts, not {type(events).__name__}.")
        if len(events) > RECORD_LIMIT:
            raise LimitExceeded("events", limit=RECORD_LIMIT, given=len(events), unit="at a time")
        return self._log.record_many(events)

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
        """Record a chat turn. A role or a text in `data` does not replace the given ones.

        role: `user`, `assistant`, `system` or `tool`. text: the words, at most about 1 MiB. data: further fields. tags,
        severity, signal: as in `record`; the tag `chat` is added.
        """
        turn = {"role": _validate_role(role), "text": validate_text("text", text, limit=EVENT_TEXT_LIMIT)}
        # The text is stored in the data too, which may have fewer bytes than a text may have characters.
        validate_size("text", text, EVENT_DATA_LIMIT - _RESERVED_BYTES)
        base = {
            "kind": CHAT_TURN,
            "stage": role,
            "tags": [*validate_tags(tags), CHAT_TAG],
            "data": {**turn, **_validate_data(data), **turn},
            "severity": severity,
            "signal": signal,
        }
        return self._log.record(base, text)

    def record_chat_user(
        self,
        text: Text,
        *,
        tags: Sequence[str] | None = None,
        data: dict[str, Any] | None = None,
        severity: int = 2,
        signal: float | None = None,
    ) -> Event:
        """Record a chat turn of the user.

        text, tags, data, severity, signal: as in `record_chat`.
        """
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
        """Record a chat turn of the assistant.

        text, tags, data, severity, signal: as in `record_chat`.
        """
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
        """Record a chat turn of the system.

        text, tags, data, severity, signal: as in `record_chat`; the severity is low by default.
        """
        return self.record_chat("system", text, tags=tags, data=data, severity=severity, signal=signal)

    def record_tool_result(
        self,
        *,
        tool: str,
        inputs: Sequence[dict[str, Any]] | None = None,
        outputs: Sequence[dict[str, Any]] | None = None,
        tags: Sequence[str] | None = None,
        metrics: dict[str, float] | None = None,
        message: str | None = None,
        severity: int = 3,
    ) -> Event:
        """Record the input and the output of a tool call; `message` describes it in words.

        tool: the name of the tool. inputs, outputs: lists of JSON, at most 1 MiB each; None means an empty list. tags,
        metrics, severity: as in `record`; the severity is high by default.
        """
        base = {
            "kind": TOOL_RESULT,
            "topic": validate_tool(tool),
            "inputs": [] if inputs is None else inputs,
            "outputs": [] if outputs is None else outputs,
            "tags": tags,
            "severity": severity,
        }
        return self._log.record(base, message, metrics)

    def record_state(
        self,
        key: str,
        value: Any,
        *,
        tags: Sequence[str] | None = None,
        meta: dict[str, Any] | None = None,
        severity: int = 2,
        signal: float | None = None,
        kind: str = STATE_SNAPSHOT,
        stage: str | None = None,
    ) -> Event:
        """Record the present value of a state.

        Dataclasses, pydantic models, sets, tuples, enums and times become plain JSON. Any other value is stored
        as its repr() under `__repr__`, and `kept_as_text` in the event's data lists the places.

        key: the name of the state, at most 249 characters. meta: further fields to store with the value. tags,
        severity, signal, stage: as in `record`; the tags `state` and `state:` with the key are added. kind: another
        kind keeps a separate history.
        """
        key = validate_state_key(key)
        plain, plain_meta = PlainJson("value", value), PlainJson("meta", {} if meta is None else meta)
        data: dict[str, Any] = {"key": key, "value": plain.value, "meta": plain_meta.value}
        kept_as_text = plain.kept_as_text + plain_meta.kept_as_text
        if kept_as_text:
            data["kept_as_text"] = kept_as_text
        base = {
            "kind": kind,
            "stage": stage,
            "tags": [STATE_TAG, f"{STATE_TAG}:{key}", *validate_tags(tags)],
            "data": data,
            "severity": severity,
            "signal": signal,
        }
        # Sorted keys: equal states have equal texts, whatever order their dicts were filled in.
        words = json.dumps(plain.value, ensure_ascii=False, sort_keys=True)
        return self._log.record(base, shorten_text(f"{STATE_TAG}:{key} {words}"))


def _validate_role(role: object) -> str:
    if role in get_args(ChatRole):
        return role  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"Unknown role {role!r}.", hint=f"Use one of {', '.join(get_args(ChatRole))}.")


def _validate_data(data: object) -> dict[str, Any]:
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidInput(f"data must be a dict, not {type(data).__name__}.")
    encode_json("data", data, limit=EVENT_DATA_LIMIT)
    return data
