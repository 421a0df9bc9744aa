"""Checks of text and JSON against what both database engines can store.

Neither engine stores a NUL character or half a surrogate pair as text. JSON is measured while it is walked, so that a
huge value, or one that holds itself many times over, is refused before it is copied.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic_core import from_json

from longmind.errors import InvalidInput, LimitExceeded, StoreError

Json = Any
K = TypeVar("K")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESTIMATED_AFTER = 10_000
"""Members visited before the size of the whole value is estimated: a value may hold another one again and again."""
_DEEPEST = 100
# For values without a limit in bytes. Lists nested in themselves have more members than could ever be visited.
_MOST_MEMBERS = 10_000_000


def validate_text(where: str, value: object, *, limit: int | None = None, blank: bool = True) -> str:
    """Return the value if it is a text that can be stored.

    Raises InvalidInput for another type, an unstorable character or, unless `blank`, a text without a visible
    character, and LimitExceeded beyond `limit` characters.
    """
    if not isinstance(value, str):
        hint = "Pass its id." if isinstance(getattr(value, "id", None), str) else None
        raise InvalidInput(f"{where} must be a text, not {type(value).__name__}.", hint=hint)
    # Most texts are ASCII, which a string knows without a scan, and one character is found faster than a pattern.
    found = _UNSTORABLE.search(value) if not value.isascii() or "\x00" in value else None
    if found is not None:
        kind = "a NUL character" if found[0] == "\x00" else f"half a surrogate pair (U+{ord(found[0]):04X})"
        raise InvalidInput(
            f"{where} has {kind} at position {found.start()}.", hint="Remove it: databases cannot store it as text."
        )
    if limit is not None and len(value) > limit:
        raise LimitExceeded(where, limit=limit, given=len(value), unit="characters")
    if not blank and not value.strip():
        raise InvalidInput(f"{where} is blank.", hint="Pass a text with a visible character.")
    return value


def to_storable(text: str) -> str:
    """Return a text written by a machine without the characters that databases cannot store."""
    return _UNSTORABLE.sub("", text)


def looks_unstorable(encoded: str) -> bool:
    """Return True if JSON text may hold an unstorable character; a text that spells out its escape counts too."""
    return "\\u0000" in encoded or "\x00" in encoded or (not encoded.isascii() and bool(_UNSTORABLE.search(encoded)))


def encode_json(where: str, value: Json, *, limit: int | None = None, deepest: int = _DEEPEST) -> str:
    """Return plain JSON data as compact text; `limit` is in bytes of UTF-8, `deepest` in levels.

    Raises InvalidInput for a value that JSON cannot express and LimitExceeded for one that is too large or too deep.
    """
    seen = 0
    for visited, (path, member) in enumerate(_members(where, value, deepest)):
        # Each member takes at least one byte, and a text one per character, so a large value is refused early.
        seen += len(member) if limit is not None and isinstance(member, str) else 1
        if visited == _ESTIMATED_AFTER and limit is not None:
            seen = max(seen, _estimate_size(value, {}, 0))
        if limit is not None and seen > limit:
            raise LimitExceeded(_as_json(where), limit=limit, given=seen, unit="bytes", at_least=True)
        if seen > _MOST_MEMBERS and limit is None:
            raise LimitExceeded(where, limit=_MOST_MEMBERS, given=seen, unit="members", at_least=True)
        if isinstance(member, str):
            validate_text(path, member)
        elif isinstance(member, float) and not math.isfinite(member):
            raise InvalidInput(f"{path} must be a finite number, not {member}.")
        elif not isinstance(member, bool | int | float | dict | list | tuple | None):
            raise InvalidInput(
                f"{path} is a {type(member).__name__}, which is not JSON.",
                hint="Use texts, numbers, booleans, None, lists, and dicts with text keys.",
            )
    try:
        encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        # Python refuses to write an integer of thousands of digits.
        raise InvalidInput(
            f"{where} cannot be written as JSON: {error}.", hint="Pass large integers as texts."
        ) from None
    if limit is not None:
        validate_size(where, encoded, limit)
    return encoded


def decode_json(stored: str | bytes, kind: type[K]) -> K:
    """Read stored JSON of a known kind; raise StoreError if it was damaged since it was written."""
    try:
        value = from_json(stored)
    except ValueError as error:
        raise make_damage_error() from error
    if not isinstance(value, kind):
        raise make_damage_error()
    return value


def make_damage_error() -> StoreError:
    """Return the error for a stored value that Longmind cannot have written."""
    return StoreError("A row of the database holds JSON that cannot be read.", hint=DAMAGED_HINT)


DAMAGED_HINT = "Restore the database from a backup: another program changed it, or the disk is failing."


def quote_value(value: object) -> str:
    """Return a value as messages show it; huge integers by their size, since Python refuses to write them."""
    if isinstance(value, int) and abs(value) >= 2**63:
        return f"an integer of {value.bit_length():,} bits"
    return repr(value)


def validate_size(where: str, encoded: str, limit: int) -> None:
    """Raise LimitExceeded if a text takes more bytes of UTF-8 than the limit."""
    # A character takes at most four bytes, so short texts need not be measured.
    if len(encoded) * 4 > limit:
        size = len(encoded.encode())
        if size > limit:
            raise LimitExceeded(_as_json(where), limit=limit, given=size, unit="bytes")


def _as_json(where: str) -> str:
    # A text with many quotes or line breaks has more bytes as JSON than its author counts.
    return f"{where} (written as JSON)"


def _estimate_size(value: Json, known: dict[int, int], depth: int) -> int:
    """Count the members of a value and the characters of its texts, visiting each shared part once.

    A part that occurs many times counts each time, but is walked only once: `known` holds the sizes by identity.
    """
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, dict | list | tuple) or depth > _DEEPEST:
        return 1
    if id(value) not in known:
        inside = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_estimate_size(item, known, depth + 1) for item in inside)
    return known[id(value)]


def _members(root: str, value: Json, deepest: int) -> Iterator[tuple[str, Json]]:
    """Yield the value and everything inside it, keys included, each with its path."""
    # A stack instead of recursion, which would pass each member up level by level.
    opened = [iter([(root, value)])]
    while opened:
        for path, member in opened[-1]:
            yield path, member
            if len(opened) - 1 > deepest:
                raise LimitExceeded(f"The depth of {root}", limit=deepest, given=len(opened) - 1, unit="levels")
            if isinstance(member, dict | list | tuple):
                opened.append(_iterate_inside(path, member))
                break
        else:
            opened.pop()


def _iterate_inside(path: str, value: dict[Any, Json] | list[Json] | tuple[Json, ...]) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, dict):
        yield from ((f"{path}[{index}]", item) for index, item in enumerate(value))
        return
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidInput(f"{path} has the key {key!r}; a key of JSON must be a text.")
        yield f"the key {key!r} of {path}", key
        yield f"{path}.{key}", item
