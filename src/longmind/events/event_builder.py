"""Builder of events: from the fields that a caller passes to the event that is returned and the row that is stored.

Everything is validated and encoded here, before the transaction: the writer only binds values. This is the hot path of
recording, so an event's usual fields take the short way, and rare ones are looked at only where they occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import from_json

from longmind.clock import Micros, to_iso
from longmind.errors import InvalidIdentity, InvalidInput
from longmind.events import validation
from longmind.events.json_values import to_safe_repr
from longmind.ids import id_of, random_halves
from longmind.models.event import Event
from longmind.scope import IDENTITY_LIMIT, Scope, bucket_of
from longmind.store.database import Row
from longmind.validation.identifiers import validate_label
from longmind.validation.text import quote_value, validate_text

DERIVED_TEXT_LIMIT = 2_000
"""Characters of a text that is derived from data; a longer one is cut and ends with the mark."""
TRUNCATION_MARK = "…"
STATE_TAG = "state"
_VERSION = 2

_FIELDS = frozenset(
    "kind stage text tags data metrics tool topic severity signal inputs outputs ts embedding pii_flags version".split()
)
_USUAL_FIELDS = frozenset("kind text tags data metrics severity signal ts".split())
"""An event with only these fields needs no look at the rare columns."""
_CONTEXT_FIELDS = ("user_id", "org_id", "app_id", "client_id", "session_id", "run_id", "scope_id", "agent_id")
"""Fields that only the context decides."""
_NODE_FIELDS = ("graph_id", "node_id")
"""Fields that a caller may set where the context does not."""
_ALLOWED_FIELDS = frozenset((*_FIELDS, *_CONTEXT_FIELDS, *_NODE_FIELDS))
_NO_KIND = (None, "")
# Events that are recorded together share their time.
_to_iso = lru_cache(maxsize=16)(to_iso)


BuiltEvent = tuple[Event, Row]
"""An event, and its row in the order of `store.tables.events.RECORDED`."""


class _RareColumns(NamedTuple):
    """The columns of a row that most events leave empty."""

    graph_id: str | None
    node_id: str | None
    stage: str | None = None
    topic: str | None = None
    inputs: str | None = None
    outputs: str | None = None
    embedding: str | None = None
    pii_flags: str | None = None
    version: int = _VERSION


class EventBuilder:
    """Builds the events that one context records on one timeline at one instant.

    `count` is how many events are expected; it only sizes the supply of random ids.
    """

    def __init__(self, scope: Scope, timeline_id: str, now: Micros, count: int = 1) -> None:
        self._scope = scope
        self._random = random_halves(count)
        self._bucket = bucket_of(timeline_id)
        self._now = now
        self._rare = _RareColumns(scope.graph_id, scope.node_id)
        self.shared_columns = {
            "tenant_id": scope.tenant_id,
            "app_id": scope.app_id,
            "user_id": scope.user_id,
            "agent_id": scope.agent_id,
            "client_id": scope.client_id,
            "session_id": scope.session_id,
            "run_id": scope.run_id,
            "timeline_id": timeline_id,
        }
        """The columns that are equal in all rows."""
        # An event has many fields: copying all of them and setting a few is faster than setting all.
        self._blank: dict[str, Any] = {
            **dict.fromkeys(Event.model_fields),
            **{
                name: self.shared_columns[name]
                for name in ("app_id", "user_id", "agent_id", "client_id", "session_id", "run_id")
            },
            "org_id": scope.tenant_id,
            "scope_id": self._bucket,
            "graph_id": scope.graph_id,
            "node_id": scope.node_id,
            "version": _VERSION,
        }

    def build(
        self, base: Mapping[str, Any], text: str | None = None, metrics: Mapping[str, float] | None = None
    ) -> BuiltEvent:
        """Validate the given fields, fill in the others, and leave nothing to be checked in the transaction.

        `text` and `metrics` win over those in `base`. Raises InvalidInput, InvalidIdentity or LimitExceeded.
        """
        if not isinstance(base, dict) and not isinstance(base, Mapping):
            raise InvalidInput(f"base must be a dict of an event's fields, not {type(base).__name__}.")
        fields, get = self._blank.copy(), base.get
        rare = self._rare if base.keys() <= _USUAL_FIELDS else self._fill_rare(base, fields)
        fields["kind"] = kind = validation.validate_kind("misc" if get("kind") in _NO_KIND else base["kind"])
        fields["data"], data = to_payload(get("data"))
        words = validation.validate_event_text(get("text") if text is None else text)
        if words is None:
            words = derive_text(get("data"), data)
        fields["text"] = words
        numbers = None
        if metrics is not None or (metrics := get("metrics")) is not None:
            fields["metrics"], numbers = validation.validate_metrics(metrics)
        severity = get("severity")
        fields["severity"] = severity = 2 if severity is None else validation.validate_severity(severity)
        signal = get("signal")
        signal = (
            estimate_signal(words, severity, fields["metrics"])
            if signal is None
            else validation.validate_signal(signal)
        )
        fields["signal"] = signal
        tags, stored_tags, state = _encode_tags(validation.validate_tags(get("tags")))
        fields["tags"] = [*tags]
        ts = get("ts")
        at = self._now if ts is None else validation.validate_time(ts, self._now)
        fields["ts"] = _to_iso(at)
        fields["event_id"] = event_id = id_of("evt", at, next(self._random))
        graph_id, node_id, stage, topic, inputs, outputs, embedding, flags, version = rare
        row = (
            event_id, graph_id, node_id, at, kind, stage, words, stored_tags, data, numbers, topic, severity, signal,
            inputs, outputs, embedding, flags, state, version,
        )  # fmt: skip
        return Event.from_trusted(fields), row

    def _fill_rare(self, base: Mapping[str, Any], fields: dict[str, Any]) -> _RareColumns:
        """Validate the fields that most events do not have, set them, and return their columns."""
        if not base.keys() <= _FIELDS:
            fields["graph_id"], fields["node_id"] = self._validate_context(base)
        get = base.get
        fields["stage"] = validate_label("stage", get("stage"))
        fields["tool"] = fields["topic"] = _validate_topic(get("topic"), get("tool"))
        fields["inputs"], inputs = validation.validate_values(get("inputs"), "inputs")
        fields["outputs"], outputs = validation.validate_values(get("outputs"), "outputs")
        fields["embedding"], embedding = validation.validate_embedding(get("embedding"))
        fields["pii_flags"], flags = validation.validate_flags(get("pii_flags"))
        fields["version"] = _validate_version(get("version"))
        graph_id, node_id, stage, topic, version = map(
            fields.__getitem__, ("graph_id", "node_id", "stage", "topic", "version")
        )
        return _RareColumns(graph_id, node_id, stage, topic, inputs, outputs, embedding, flags, version)

    def _validate_context(self, base: Mapping[str, Any]) -> tuple[str | None, str | None]:
        """Return graph and node; raise if a field is unknown or names another identity than the context's."""
        unknown = [str(name) for name in base if name not in _ALLOWED_FIELDS]
        if unknown:
            raise InvalidInput(
                f"base has the unknown fields {sorted(unknown)}.", hint=f"Use only {sorted(_ALLOWED_FIELDS)}."
            )
        renamed = {"org_id": self._scope.tenant_id, "scope_id": self._bucket}
        for name in _CONTEXT_FIELDS:
            given = base.get(name)
            own = renamed[name] if name in renamed else getattr(self._scope, name)
            if given is not None and given != own:
                raise _mismatch_error(name)
        found: list[str | None] = []
        for name in _NODE_FIELDS:
            own, given = getattr(self._scope, name), base.get(name)
            if own is not None and given not in (None, own):
                raise _mismatch_error(name)
            found.append(own if given is None else validate_label(name, given))
        return found[0], found[1]


def to_payload(data: Any) -> tuple[dict[str, Any] | None, str | None]:
    """Return the data of an event, and its JSON: a dict as it is, anything else as the value of one."""
    if data is None or isinstance(data, str):
        return None, None
    value = data if isinstance(data, dict) else {"value": data}
    plain = validation.to_plain_json(value)
    if plain is not None:
        return plain
    encoded = validation.try_encode("data", value)
    if encoded is None:
        encoded = validation.try_encode("data", {"repr": to_safe_repr(data)}) or "{}"
    # Parsed back, so that the event equals what a later read returns, and shares nothing with the caller's data.
    return from_json(encoded), encoded


def derive_text(data: Any, encoded: str | None) -> str | None:
    """Return the text of an event that was given none: its data as text, cut if it is long; None without data."""
    if data is None:
        return None
    if isinstance(data, str):
        text = validate_text("data", data)
    else:
        text = encoded or ""
        if not isinstance(data, dict) and text.startswith('{"value":'):
            text = text[len('{"value":') : -1]
    return shorten_text(text)


def shorten_text(text: str) -> str:
    """Cut a derived text at `DERIVED_TEXT_LIMIT`."""
    if len(text) <= DERIVED_TEXT_LIMIT:
        return text
    return text[: DERIVED_TEXT_LIMIT - len(TRUNCATION_MARK)] + TRUNCATION_MARK


def estimate_signal(text: str | None, severity: int, metrics: Mapping[str, float] | None) -> float:
    """Estimate how much an event matters, from 0 to 1, by its severity, the length of its text, and measurements."""
    signal = 0.15 + 0.1 * severity
    if text:
        signal += len(text) / 400 if len(text) < 160 else 0.4
    if metrics:
        signal += 0.2
    return signal if signal < 1.0 else 1.0


@lru_cache(maxsize=1024)
def _encode_tags(tags: tuple[str, ...]) -> tuple[tuple[str, ...], str | None, str | None]:
    """Return tags, their JSON and the key of the state that they name, the last two None if there is none."""
    return tags, validation.try_encode("tags", list(tags)) if tags else None, find_state_key(tags)


def find_state_key(tags: tuple[str, ...]) -> str | None:
    """Return the key of the state that tags name, by which snapshots are looked up; None if they name none."""
    if STATE_TAG not in tags:
        return None
    return next((tag[len(STATE_TAG) + 1 :] for tag in tags if tag.startswith(f"{STATE_TAG}:")), None)


def validate_state_key(key: object) -> str:
    """Return the key of a state, stripped: it becomes a tag, and tags are stripped."""
    return validate_text("key", key, limit=IDENTITY_LIMIT - len(STATE_TAG) - 1, blank=False).strip()


def _mismatch_error(name: str) -> InvalidIdentity:
    return InvalidIdentity(
        f"The {name} of base differs from that of the context.", hint=f"Leave {name} out, or make the context with it."
    )


def _validate_topic(topic: object, tool: object) -> str | None:
    if topic is not None and tool is not None and topic != tool:
        raise InvalidInput("tool and topic differ, but both name the same field.", hint="Pass topic alone.")
    return validate_label("topic", tool if topic is None else topic)


def _validate_version(version: object) -> int:
    if version is None:
        return _VERSION
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version < 2**31:
        raise InvalidInput(f"version is {quote_value(version)}.", hint="Pass a whole number, 1 or more.")
    return version
