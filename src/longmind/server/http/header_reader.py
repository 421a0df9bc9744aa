"""The headers of a request, read with suspicion: what is sent twice, or is no text, is refused and not guessed at."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.errors import InvalidInput

RawHeaders = Iterable[tuple[bytes, bytes]]
"""As ASGI gives them: names in small letters, and each line for itself."""


class RequestHeaders:
    """The lines of a request by their names."""

    def __init__(self, raw: RawHeaders) -> None:
        self._lines: dict[bytes, list[bytes]] = {}
        for name, value in raw:
            self._lines.setdefault(name.lower(), []).append(value)

    def __contains__(self, name: str) -> bool:
        return name.encode("ascii") in self._lines

    def get(self, name: str) -> str | None:
        """The value of a header; None when it was not sent."""
        lines = self._lines.get(name.encode("ascii"))
        if lines is None:
            return None
        if len(lines) > 1:
            # Which of them counts is answered differently by proxies and programs, and that is how scopes are forged.
            raise InvalidInput(f"The header {name} was sent {len(lines)} times.", hint="Send it once.")
        try:
            value = lines[0].decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(f"The header {name} is not UTF-8.", hint="Send the UTF-8 bytes of the text.") from None
        if any(character < " " or "\x7f" <= character <= "\x9f" for character in value):
            raise InvalidInput(f"The header {name} has a control character.", hint="Send it without.")
        return value.strip(" ")
