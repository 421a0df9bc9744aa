"""What a key looks like: `rk_<32 hex digits>_<43 characters>`, an id that is no secret, and 256 random bits."""

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
class Token:
    id: str
    text: str

    @property
    def digest(self) -> str:
        """What is kept of it. The id is in it, so that one key's digest is of no use in another's row."""
        return hashlib.sha256(self.text.encode("ascii")).hexdigest()

    def fits(self, digest: str) -> bool:
        """Whether this is the key the digest was made of; how long it takes does not tell how near it is."""
        return hmac.compare_digest(self.digest, digest)


def new_token(now: Micros) -> Token:
    id = new_id(PREFIX, now)
    return Token(id, f"{id}_{secrets.token_urlsafe(32)}")


def read_token(text: str) -> Token | None:
    """The key that a text is; None when it cannot be one."""
    found = _TOKEN.fullmatch(text)
    return Token(found[1], text) if found else None
