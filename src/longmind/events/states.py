"""Operations on states: snapshots of a value under a key, of which the newest one counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from longmind.events.event_builder import STATE_TAG, shortened, validate_state_key
from longmind.events.json_values import Plain
from longmind.events.recording import Recording
from longmind.events.validation import validate_kind, validate_tags
from longmind.models.event import STATE_SNAPSHOT, Event
from longmind.scope import Level
from longmind.store.tables import events as store
from longmind.validation.annotated import LIMIT, Limit


class States(Recording):
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
        """Record what a value is now.

        Dataclasses, pydantic models, sets, tuples, enums and times become plain JSON. What cannot is kept as the text
        that it shows itself as, under `__repr__`, and `kept_as_text` in the event's data tells where.
        """
        key = validate_state_key(key)
        plain, noted = Plain("value", value), Plain("meta", {} if meta is None else meta)
        data: dict[str, Any] = {"key": key, "value": plain.value, "meta": noted.value}
        kept_as_text = plain.kept_as_text + noted.kept_as_text
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
        words = json.dumps(plain.value, ensure_ascii=False, sort_keys=True)
        return self.record_raw(base=base, text=shortened(f"{STATE_TAG}:{key} {words}"))

    def latest_state(
        self,
        key: str,
        *,
        tags: Sequence[str] | None = None,
        level: Level | None = None,
        user_persistence: bool = False,
        use_persistence: bool = False,
        kind: str = STATE_SNAPSHOT,
    ) -> Any:
        """The newest value under a key; None if there is none.

        It is looked for in the hot log, or in the whole timeline with `use_persistence`, which may also be written
        `user_persistence`. A snapshot must have all of the tags.
        """
        found = self._states(key, tags, 1, level, kind, persisted=use_persistence or user_persistence)
        return (found[0].data or {}).get("value") if found else None

    def state_history(
        self,
        key: str,
        *,
        tags: Sequence[str] | None = None,
        limit: Limit = 50,
        level: Level | None = None,
        kind: str = STATE_SNAPSHOT,
        use_persistence: bool = False,
    ) -> list[Event]:
        """The last snapshots under a key, newest last, with all that was recorded beside the value."""
        return self._states(key, tags, limit, level, kind, persisted=use_persistence)

    def _states(
        self,
        key: str,
        tags: Sequence[str] | None,
        limit: int,
        level: Level | None,
        kind: str,
        *,
        persisted: bool,
    ) -> list[Event]:
        key, kind = validate_state_key(key), validate_kind(kind)
        most = LIMIT.check("limit", limit)
        window = self._window(level, all_tags=tags, hot=not persisted)
        if window is None:
            return []
        return self._database.read(self._scope, store.newest_states, self._scope, window, most, kind, key)
