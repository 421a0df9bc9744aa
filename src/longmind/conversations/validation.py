"""Checks of the arguments of conversation operations, made before anything is written."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from longmind.clock import Instant, Micros, to_iso, to_micros
from longmind.errors import InvalidInput, LimitExceeded
from longmind.models.block import MemoryPolicy
from longmind.models.content import Content
from longmind.models.message import AssistantTurn, GivenMessage, Usage, Visibility
from longmind.models.turn import TurnOptions
from longmind.models.value import Value
from longmind.providers.language_model import Cancel, OnText
from longmind.scope import validate_identity
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import TITLE
from longmind.validation.text import encode_json, quote_value, validate_text

V = TypeVar("V", bound=Value)
MOST_MESSAGES = 10_000
"""Messages that are appended in one transaction."""


def validate_namespace(namespace: object) -> str:
    """Return the namespace of a conversation: an identity such as `daily-checkin`."""
    try:
        return validate_identity("namespace", namespace)
    except InvalidInput as error:
        raise InvalidInput(error.message, hint="Name the kind of conversation, for example 'daily-checkin'.") from None


def validate_title(title: object) -> str | None:
    """Return a title of at most 1,000 characters, or None."""
    return None if title is None else TITLE.check("title", title)


def validate_visibility(visibility: object, field: str = "visibility") -> Visibility:
    """Return a visibility; raise InvalidInput if it is not one of the three."""
    if visibility in get_args(Visibility):
        return visibility  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"{field} is {visibility!r}.", hint="Pass 'user', 'internal' or 'hidden'.")


def validate_idle(idle: object) -> Micros:
    """Return an idle time in microseconds, given as a timedelta or as seconds from 0."""
    seconds = idle.total_seconds() if isinstance(idle, timedelta) else idle
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise InvalidInput(f"idle is {quote_value(idle)}.", hint="Pass a timedelta or a number of seconds from 0.")
    # Practically for ever, and still a number that the database can compare.
    return int(min(seconds, 1e12) * 1_000_000)


def validate_time(instant: Instant | None, now: Micros) -> Micros:
    """Return the time of a message: now, or `instant` while an older conversation is imported.

    A clock may be wrong by up to a day; a later time, or one before 1970, is refused.
    """
    if instant is None:
        return now
    at = to_micros(instant, "created_at")
    # A day of tolerance for clocks in other time zones that were read as UTC.
    if at < 0 or at > now + 24 * 3600 * 1_000_000:
        raise InvalidInput(f"created_at must be from 1970 to a day after now, not {to_iso(at)}.")
    return at


def validate_assistant(given: object) -> AssistantTurn:
    """Return the assistant's side of a turn, given as a value or a dict."""
    return _validate_value("assistant", AssistantTurn, given)


def validate_messages(given: object) -> list[GivenMessage]:
    """Return messages, each given as a value or a dict."""
    if isinstance(given, str | dict | Value) or not isinstance(given, list | tuple):
        raise InvalidInput(f"messages must be a list, not {type(given).__name__}.")
    if not given:
        raise InvalidInput("messages is empty.", hint="Pass at least one message.")
    if len(given) > MOST_MESSAGES:
        raise LimitExceeded("messages", limit=MOST_MESSAGES, given=len(given), unit="at a time")
    return [_validate_value(f"messages[{place}]", GivenMessage, each) for place, each in enumerate(given)]


def validate_usage(given: object) -> str | None:
    """Return usage as the JSON that is stored, or None."""
    if given is None:
        return None
    usage = _validate_value("usage", Usage, given)
    # Unset numbers are left out, so that zero and unknown stay distinct.
    return encode_json("usage", usage.model_dump(exclude_none=True))


def validate_options(given: object) -> TurnOptions:
    """Return the options of a turn; by default all of them are unset."""
    options = TurnOptions() if given is None else _validate_value("options", TurnOptions, given)
    if options.system_prompt is not None:
        validate_text("options.system_prompt", options.system_prompt)
    return options


def validate_question(user_text: object, content: object) -> Content:
    """Return what the user says in a turn that is run: a text, or texts and images.

    Raises InvalidInput if both are passed or neither is, or if the content holds tool calls or results.
    """
    if (user_text is None) == (content is None):
        given = "neither" if content is None else "both"
        raise InvalidInput(
            f"A turn takes either user_text or content, and {given} was passed.", hint="Pass one of the two."
        )
    if content is None:
        return validate_text("user_text", user_text)
    # Only the assistant calls tools, and results have an operation of their own.
    if isinstance(content, list | tuple):
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else getattr(block, "type", None)
            if kind in ("tool_use", "tool_result"):
                raise InvalidInput(f"content holds a {kind}.", hint="Pass only texts and images of the user.")
    return content  # type: ignore[return-value]  # checked where it is encoded


def validate_listener(on_text: OnText | None) -> OnText | None:
    """Return `on_text`; raise InvalidInput unless it is None or can be called."""
    if on_text is not None and not callable(on_text):
        raise InvalidInput(f"on_text must be a function, not {type(on_text).__name__}.")
    return on_text


def validate_policy(policy: MemoryPolicy | dict[str, Any] | None) -> MemoryPolicy:
    """Return a memory policy, given as a value or a dict; None is the default policy."""
    return _validate_value("memory_policy", MemoryPolicy, {} if policy is None else policy)


def validate_cancel(cancel: Cancel | None) -> Cancel:
    """Return the caller's Cancel, or a new one that nobody uses."""
    if cancel is not None and not isinstance(cancel, Cancel):
        raise InvalidInput(f"cancel must be a Cancel, not {type(cancel).__name__}.")
    return Cancel() if cancel is None else cancel


def fingerprint(content: str, visibility: str) -> str:
    """Return a digest of a user message; a retry with the same idempotency key must have the same one."""
    return hashlib.blake2b(f"{visibility}\n{content}".encode(), digest_size=16).hexdigest()


def _validate_value(field: str, kind: type[V], given: Any) -> V:
    if isinstance(given, kind):
        return given
    if not isinstance(given, dict):
        raise InvalidInput(
            f"{field} must be a dict or {kind.__name__}, not {type(given).__name__}.",
            hint=f"Its fields are {', '.join(kind.model_fields)}.",
        )
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        # Only the first error is shown: it often causes the others.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in (field, *first["loc"][:1]))
        raise InvalidInput(f"{place}: {first['msg']}.", hint=f"{field} takes {', '.join(kind.model_fields)}.") from None


def parse_cursor(cursor: object) -> tuple[int, str]:
    """Return the instant and the conversation that a cursor of a list of conversations stands for."""
    try:
        instant, _, conversation_id = validate_id("cursor", cursor).partition("/")
        if not conversation_id:
            raise InvalidInput("")
        return to_micros(instant), conversation_id
    except InvalidInput:
        raise InvalidInput(f"cursor {cursor!r} is not valid.", hint="Pass next_cursor of the previous page.") from None
