"""Request headers, read strictly: duplicates and malformed text are refused instead of guessed at."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.errors import InvalidInput

RawHeaders = Iterable[tuple[bytes, bytes]]
"""Headers as ASGI passes them: lower-case names, one entry per header line."""


class RequestHeaders:
    """The headers of one request, by name."""

    def __init__(self, raw: RawHeaders) -> None:
        self._lines: dict[bytes, list[bytes]] = {}
        for name, value in raw:
            self._lines.setdefault(name.lower(), []).append(value)

    def __contains__(self, name: str) -> bool:
        return name.encode("ascii") in self._lines

    def get(self, name: str) -> str | None:
        """Return the value of a header, or None if it was not sent.

        Raises InvalidInput if it was sent twice, is not UTF-8, or contains a control character.
        """
        lines = self._lines.get(name.encode("ascii"))
        if lines is None:
            return None
        if len(lines) > 1:
            # Proxies and servers disagree on which duplicate counts; an attacker could forge a scope with that.
            raise InvalidInput(f"The header {name} was sent {len(lines)} times.", hint="Send it once.")
        try:
            value = lines[0].decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(f"The header {name} is not UTF-8.", hint="Encode the header value as UTF-8.") from None
        if any(character < " " or "\x7f" <= character <= "\x9f" for character in value):
            raise InvalidInput(f"The header {name} contains a control character.", hint="Remove the control character.")
        return value.strip(" ")
