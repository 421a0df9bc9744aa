"""From what the caller gives to the event that is recorded, and the row it is stored as."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import from_json

from longmind.clock import Micros, to_iso
from longmind.errors import InvalidIdentity, InvalidInput
from longmind.events import validation as checks
from longmind.ids import id_of, random_halves
from longmind.models.event import Event
from longmind.scope import IDENTITY_LIMIT, Scope, bucket_of
from longmind.store.database import Row
from longmind.validation.identifiers import validate_label
from longmind.validation.text import validate_text

DERIVED_TEXT_LIMIT = 2_000
"""Characters of a text that is made from data; where more was left out it ends with the mark."""
TRUNCATION_MARK = "…"
STATE_TAG = "state"
_VERSION = 2

_FIELDS = frozenset(
    "kind stage text tags data metrics tool topic severity signal inputs outputs ts embedding pii_flags version".split()
)
_USUAL = frozenset("kind text tags data metrics severity signal ts".split())
"""Of these, what is left out costs nothing to look for."""
_FIXED = ("user_id", "org_id", "app_id", "client_id", "session_id", "run_id", "scope_id", "agent_id")
"""Whose an event is, and where it stands: that is the context's to say."""
_OPEN = ("graph_id", "node_id")
"""What the context need not know; if it does, nothing else can be said."""
_KNOWN = frozenset((*_FIELDS, *_FIXED, *_OPEN))
_NO_KIND = (None, "")
# Events that are recorded together happened together.
_iso = lru_cache(maxsize=16)(to_iso)


Composed = tuple[Event, Row]
"""An event, and the row it is stored as, in the order of `store.RECORDED`."""


class _Rest(NamedTuple):
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


class Composer:
    """Composes what one context records on one timeline at one time: about so many events."""

    def __init__(self, scope: Scope, timeline_id: str, now: Micros, count: int = 1) -> None:
        self._scope = scope
        self._random = random_halves(count)
        self._bucket = bucket_of(timeline_id)
        self._now = now
        self._rest = _Rest(scope.graph_id, scope.node_id)
        self.same = {
            "tenant_id": scope.tenant_id,
            "app_id": scope.app_id,
            "user_id": scope.user_id,
            "agent_id": scope.agent_id,
            "client_id": scope.client_id,
            "session_id": scope.session_id,
            "run_id": scope.run_id,
            "timeline_id": timeline_id,
        }
        """The columns that all rows share."""
        # An event has many fields: to copy them all and set a few is sooner than to set them all.
        self._blank: dict[str, Any] = {
            **dict.fromkeys(Event.model_fields),
            **{
                name: self.same[name] for name in ("app_id", "user_id", "agent_id", "client_id", "session_id", "run_id")
            },
            "org_id": scope.tenant_id,
            "scope_id": self._bucket,
            "graph_id": scope.graph_id,
            "node_id": scope.node_id,
            "version": _VERSION,
        }

    def compose(
        self, base: Mapping[str, Any], text: str | None = None, metrics: Mapping[str, float] | None = None
    ) -> Composed:
        """Check what was given, fill in what was not, and leave nothing to be checked in the transaction."""
        if not isinstance(base, dict) and not isinstance(base, Mapping):
            raise InvalidInput(f"base must be a dict of an event's fields, not {type(base).__name__}.")
        fields, get = self._blank.copy(), base.get
        rest = self._rest if base.keys() <= _USUAL else self._add_rest(base, fields)
        fields["kind"] = kind = checks.validate_kind("misc" if get("kind") in _NO_KIND else base["kind"])
        fields["data"], data = payload(get("data"))
        words = checks.validate_event_text(get("text") if text is None else text)
        if words is None:
            words = text_from(get("data"), data)
        fields["text"] = words
        numbers = None
        if metrics is not None or (metrics := get("metrics")) is not None:
            fields["metrics"], numbers = checks.validate_metrics(metrics)
        severity = get("severity")
        fields["severity"] = severity = 2 if severity is None else checks.validate_severity(severity)
        signal = get("signal")
        signal = weigh(words, severity, fields["metrics"]) if signal is None else checks.validate_signal(signal)
        fields["signal"] = signal
        tags, stored_tags, state = _tagged(checks.validate_tags(get("tags")))
        fields["tags"] = [*tags]
        ts = get("ts")
        at = self._now if ts is None else checks.validate_time(ts, self._now)
        fields["ts"] = _iso(at)
        fields["event_id"] = event_id = id_of("evt", at, next(self._random))
        graph_id, node_id, stage, topic, inputs, outputs, embedding, flags, version = rest
        row = (
            event_id, graph_id, node_id, at, kind, stage, words, stored_tags, data, numbers, topic, severity, signal,
            inputs, outputs, embedding, flags, state, version,
        )  # fmt: skip
        return Event.trusted(fields), row

    def _add_rest(self, base: Mapping[str, Any], fields: dict[str, Any]) -> _Rest:
        """Check what most events do not have, and set it."""
        if not base.keys() <= _FIELDS:
            fields["graph_id"], fields["node_id"] = self._nodes(base)
        get = base.get
        fields["stage"] = validate_label("stage", get("stage"))
        fields["tool"] = fields["topic"] = _topic(get("topic"), get("tool"))
        fields["inputs"], inputs = checks.validate_values(get("inputs"), "inputs")
        fields["outputs"], outputs = checks.validate_values(get("outputs"), "outputs")
        fields["embedding"], embedding = checks.validate_embedding(get("embedding"))
        fields["pii_flags"], flags = checks.validate_flags(get("pii_flags"))
        fields["version"] = _version(get("version"))
        graph_id, node_id, stage, topic, version = map(
            fields.__getitem__, ("graph_id", "node_id", "stage", "topic", "version")
        )
        return _Rest(graph_id, node_id, stage, topic, inputs, outputs, embedding, flags, version)

    def _nodes(self, base: Mapping[str, Any]) -> tuple[str | None, str | None]:
        """The graph and the node that were given; whoever else is named must be the one who records."""
        unknown = [str(name) for name in base if name not in _KNOWN]
        if unknown:
            raise InvalidInput(f"base has the unknown fields {sorted(unknown)}.", hint=f"Known are {sorted(_KNOWN)}.")
        known = {"org_id": self._scope.tenant_id, "scope_id": self._bucket}
        for name in _FIXED:
            given = base.get(name)
            own = known[name] if name in known else getattr(self._scope, name)
            if given is not None and given != own:
                raise _differs(name)
        found: list[str | None] = []
        for name in _OPEN:
            own, given = getattr(self._scope, name), base.get(name)
            if own is not None and given not in (None, own):
                raise _differs(name)
            found.append(own if given is None else validate_label(name, given))
        return found[0], found[1]


def payload(data: Any) -> tuple[dict[str, Any] | None, str | None]:
    """What an event carries beside its text: a dict as it is, anything else inside one. And as it is stored."""
    if data is None or isinstance(data, str):
        return None, None
    value = data if isinstance(data, dict) else {"value": data}
    plain = checks.plain_json(value)
    if plain is not None:
        return plain
    encoded = checks.encoded_or_none("data", value)
    if encoded is None:
        encoded = checks.encoded_or_none("data", {"repr": written(data)}) or "{}"
    # Read back, so that the event is what it will be when it is read, and its own.
    return from_json(encoded), encoded


def text_from(data: Any, encoded: str | None) -> str | None:
    """The text of an event that was given none: its data in words."""
    if data is None:
        return None
    if isinstance(data, str):
        text = validate_text("data", data)
    else:
        text = encoded or ""
        if not isinstance(data, dict) and text.startswith('{"value":'):
            text = text[len('{"value":') : -1]
    return shortened(text)


def shortened(text: str) -> str:
    """A text that was made from data, at a length that suits a text."""
    if len(text) <= DERIVED_TEXT_LIMIT:
        return text
    return text[: DERIVED_TEXT_LIMIT - len(TRUNCATION_MARK)] + TRUNCATION_MARK


def weigh(text: str | None, severity: int, metrics: Mapping[str, float] | None) -> float:
    """How much an event matters, as far as can be seen from outside: how severe, how long, and whether measured."""
    signal = 0.15 + 0.1 * severity
    if text:
        signal += len(text) / 400 if len(text) < 160 else 0.4
    if metrics:
        signal += 0.2
    return signal if signal < 1.0 else 1.0


@lru_cache(maxsize=1024)
def _tagged(tags: tuple[str, ...]) -> tuple[tuple[str, ...], str | None, str | None]:
    """Tags, the same as they are stored, and the key of the state that they name."""
    return tags, checks.encoded_or_none("tags", list(tags)) if tags else None, state_key(tags)


def state_key(tags: tuple[str, ...]) -> str | None:
    """The key of the state that tags name; snapshots are looked up by it."""
    if STATE_TAG not in tags:
        return None
    return next((tag[len(STATE_TAG) + 1 :] for tag in tags if tag.startswith(f"{STATE_TAG}:")), None)


def validate_state_key(key: object) -> str:
    # A tag is made of it, and tags lose the blanks around them.
    return validate_text("key", key, limit=IDENTITY_LIMIT - len(STATE_TAG) - 1, blank=False).strip()


def written(value: object) -> str:
    """How a thing that is no JSON shows itself, as text that can be stored."""
    try:
        return repr(value).replace("\x00", "\\x00").encode(errors="backslashreplace").decode()
    except Exception:
        # Its own way to show itself fails, or it is or holds a number of thousands of digits.
        if isinstance(value, int):
            return hex(value)
        return f"<{type(value).__name__}>"


def _differs(name: str) -> InvalidIdentity:
    return InvalidIdentity(
        f"base names a {name} that is not the context's.", hint="Leave it out, or make the context with it."
    )


def _topic(topic: object, tool: object) -> str | None:
    if topic is not None and tool is not None and topic != tool:
        raise InvalidInput("tool and topic differ, and both are names of one thing.", hint="Give topic alone.")
    return validate_label("topic", tool if topic is None else topic)


def _version(version: object) -> int:
    if version is None:
        return _VERSION
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version < 2**31:
        raise InvalidInput("version must be a whole number, 1 or more.")
    return version
