"""The connection to a server: its address, the headers of every request, and how answers become values or errors.

Nothing here waits: `transports.py` sends what is prepared here, in a thread or on an event loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from longmind.client.problem_errors import read_retry_after, to_error
from longmind.client.retry_policy import Attempts, RequestFailure
from longmind.errors import InvalidInput, LongmindError, OutcomeUnknown, ServerFailed, ServerUnavailable
from longmind.scope import validate_identity
from longmind.validation.text import quote_value

_MOST_SECONDS = 24 * 3600.0
_MOST_RETRIES = 100
_BARE_ADDRESS = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+)(?::\d+)?/?")
_SCOPE_HEADERS = {
    "user": "X-Longmind-User",
    "agent": "X-Longmind-Agent",
    "group": "X-Longmind-Group",
    "session": "X-Longmind-Session",
    "run": "X-Longmind-Run",
}


@dataclass(frozen=True)
class PreparedRequest:
    """One request of an operation, which may be sent several times.

    The body is JSON data; None is no body at all.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    idempotency_key: str | None = None
    repeatable: bool = False
    """True if it changes nothing when it is sent twice; a key makes it so as well."""

    @property
    def content(self) -> bytes | None:
        """The body as JSON."""
        return None if self.body is None else json.dumps(self.body, ensure_ascii=False, allow_nan=False).encode()


@dataclass(frozen=True)
class Connection:
    """The settings of a client, validated.

    It is never shown with its headers, which hold the key.
    """

    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout: float = 60.0
    retries: int = 3
    longest_wait: float = 60.0

    def begin(self, request: PreparedRequest) -> Attempts:
        """Return the attempts that a request may have."""
        return Attempts(request.repeatable or request.idempotency_key is not None, self.retries, self.longest_wait)

    def headers_of(self, request: PreparedRequest) -> dict[str, str]:
        """Return the headers of a request."""
        headers = {**self.headers, "Accept": "application/json"}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.idempotency_key is not None:
            headers["Idempotency-Key"] = request.idempotency_key
        return headers

    def read_answer(self, status: int, headers: Mapping[str, str], body: bytes) -> Any:
        """Return the JSON of an answer, None for an empty one. Raises RequestFailure for an error."""
        if status < 300:
            return _read_json(self.url, body)
        if status < 400:
            hint = "Use the address that it redirects to, if that is a Longmind server."
            raise RequestFailure(
                ServerFailed(f"{self.url} redirects to {headers.get('location')!r}.", hint=hint),
                reached=True,
                status=status,
            )
        raise RequestFailure(
            to_error(status, headers, body), reached=True, status=status, retry_after=read_retry_after(headers)
        )

    def describe_loss(self, error: Exception, *, reached: bool, timed_out: bool) -> RequestFailure:
        """Return the failure of a request that got no answer."""
        if not reached:
            what = "did not answer in time" if timed_out else "cannot be reached"
            return RequestFailure(ServerUnavailable(f"The server at {self.url} {what}: {error}."), reached=False)
        what = f"within {self.timeout:g} seconds" if timed_out else "before the connection was lost"
        return RequestFailure(
            OutcomeUnknown(f"The server at {self.url} did not answer {what}, so the request may have been done."),
            reached=True,
        )


def open_connection(
    url: str,
    key: str | None,
    scope: Mapping[str, object],
    timeout: float,
    retries: int,
    longest_wait: float,
) -> Connection:
    """Return a connection from the arguments of a client; raise InvalidInput for what cannot be used.

    scope: the user, agent, group, session and run of all requests, where they are given.
    """
    headers: dict[str, str] = {}
    if key is not None:
        headers["Authorization"] = f"Bearer {_validate_key(key)}"
    for name, header in _SCOPE_HEADERS.items():
        value = scope.get(name)
        if value is not None:
            # HTTP carries bytes; the server reads these headers as UTF-8.
            headers[header] = validate_identity(name, value)
    return Connection(
        _validate_url(url),
        headers,
        _validate_seconds("timeout", timeout),
        _validate_retries(retries),
        _validate_seconds("longest_wait", longest_wait),
    )


def _validate_url(url: object) -> str:
    hint = "Pass the address of a server, such as http://127.0.0.1:8000."
    if not isinstance(url, str):
        raise InvalidInput(f"url must be a text, not {type(url).__name__}.", hint=hint)
    try:
        parts = urlsplit(url)
        # Reading the port validates it.
        _ = parts.port
    except ValueError as error:
        raise InvalidInput(f"The URL {url!r} cannot be understood: {error}.", hint=hint) from None
    if parts.scheme.startswith(("sqlite", "postgres")):
        raise InvalidInput(
            "The URL is that of a database, not of a server.", hint="Use longmind.Memory for a database."
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("The URL has a user or a password.", hint="Pass the key as key=….")
    if "://" not in url and (bare := _BARE_ADDRESS.fullmatch(url)) is not None:
        hint = f"Did you mean http://{bare[0]}?"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidInput(f"The URL {url!r} is not that of a server.", hint=hint)
    return url.rstrip("/")


def _validate_key(key: object) -> str:
    if not isinstance(key, str) or not key.strip():
        raise InvalidInput("key must be a text that is not blank.", hint="Pass a key made by `longmind keys create`.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(
            "The key has characters that no key has.", hint="Pass the key or token alone, as it was made."
        )
    return key


def _validate_seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST_SECONDS:
        raise InvalidInput(f"{name} is {quote_value(value)}.", hint="Pass a number of seconds above 0, at most a day.")
    return float(value)


def _validate_retries(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_RETRIES:
        raise InvalidInput(f"retries is {quote_value(value)}.", hint=f"Pass a number from 0 to {_MOST_RETRIES}.")
    return value


def _read_json(url: str, body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        error: LongmindError = ServerFailed(f"The answer of {url} is not JSON.")
        raise RequestFailure(error, reached=True, status=200) from None
