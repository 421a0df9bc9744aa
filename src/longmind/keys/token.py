"""The form of a key: `rk_<32 hex digits>_<43 characters>`, an id that is no secret and 256 random bits."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from longmind.clock import Micros
from longmind.ids import new_id

PREFIX = "rk"
_TOKEN = re.compile(r"(rk_[0-9a-f]{32})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class KeyToken:
    """A key as its holder sends it, and the id in it."""

    id: str
    text: str

    @property
    def digest(self) -> str:
        """The hash that is stored. It covers the id, so that one key's digest is of no use in another key's row."""
        return hashlib.sha256(self.text.encode("ascii")).hexdigest()

    def fits(self, digest: str) -> bool:
        """Return whether the digest is of this token, in a time that does not depend on where they differ."""
        return hmac.compare_digest(self.digest, digest)


def new_token(now: Micros) -> KeyToken:
    """Make a random token with an id of this instant."""
    id = new_id(PREFIX, now)
    return KeyToken(id, f"{id}_{secrets.token_urlsafe(32)}")


def read_token(text: str) -> KeyToken | None:
    """Return the token in a text; None if the text does not have the form of one."""
    found = _TOKEN.fullmatch(text)
    return KeyToken(found[1], text) if found else None
