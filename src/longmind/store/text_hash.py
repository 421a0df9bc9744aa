"""The hash by which an atom that states the same text again is found.

Letter case, white space and full stops at the end make no difference. The hash only finds candidates, whose texts
are compared as well.
"""

from __future__ import annotations

import hashlib
import unicodedata


def fold_statement(text: str) -> str:
    """Return a text as it is compared with others."""
    # For ASCII both ways have the same result, and this one takes a quarter of the time.
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(". ")


def hash_text(text: str) -> int:
    """Return the hash of a text, a number of 62 bits, as many as a column may have after an import."""
    # MD5, since PostgreSQL has it too: a migration computes the hashes of the atoms that are there.
    digest = hashlib.md5(fold_statement(text).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big") >> 2
