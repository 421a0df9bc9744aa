"""Text and JSON that can be stored on both engines: what is refused, and the words it is refused with."""

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
_LOOKED_AT = 10_000
"""After so many members it is reckoned how many there are in all: a value may hold another one again and again."""
_DEEPEST = 100
# Where nothing else limits it. A list that holds itself twice, and so on, has more members than could ever be visited.
_MOST_MEMBERS = 10_000_000


def validate_text(where: str, value: object, *, limit: int | None = None, blank: bool = True) -> str:
    """Return the value if it is a text that can be stored, and say what is wrong with it if not."""
    if not isinstance(value, str):
        raise InvalidInput(f"{where} must be a text, not {type(value).__name__}.")
    # Most texts are ASCII, which a string knows of itself, and there a single character is found far sooner.
    found = _UNSTORABLE.search(value) if not value.isascii() or "\x00" in value else None
    if found is not None:
        kind = "a NUL character" if found[0] == "\x00" else f"half a surrogate pair (U+{ord(found[0]):04X})"
        raise InvalidInput(
            f"{where} has {kind} at position {found.start()}.", hint="Remove it: no database can keep it as text."
        )
    if limit is not None and len(value) > limit:
        raise LimitExceeded(where, limit=limit, given=len(value), unit="characters")
    if not blank and not value.strip():
        raise InvalidInput(f"{where} is blank.")
    return value


def storable_text(text: str) -> str:
    """The text without the characters that no database can keep: for what a machine has written."""
    return _UNSTORABLE.sub("", text)


def looks_unstorable(encoded: str) -> bool:
    """Whether JSON text may hold what no database can keep; a text that spells the sign for it does look so too."""
    return "\\u0000" in encoded or "\x00" in encoded or (not encoded.isascii() and bool(_UNSTORABLE.search(encoded)))


def encode_json(where: str, value: Json, *, limit: int | None = None) -> str:
    """Write plain JSON data as compact text; a limit is in bytes of UTF-8."""
    seen = 0
    for passed, (path, member) in enumerate(_members(where, value)):
        # Each member takes a byte at the least, and a text one for each character: what is too large is left at once.
        seen += len(member) if limit is not None and isinstance(member, str) else 1
        if passed == _LOOKED_AT and limit is not None:
            seen = max(seen, _unfolded(value, {}, 0))
        if limit is not None and seen > limit:
            raise LimitExceeded(_as_json(where), limit=limit, given=seen, unit="bytes", at_least=True)
        if seen > _MOST_MEMBERS and limit is None:
            raise LimitExceeded(where, limit=_MOST_MEMBERS, given=seen, unit="members", at_least=True)
        if isinstance(member, str):
            validate_text(path, member)
        elif isinstance(member, float) and not math.isfinite(member):
            raise InvalidInput(f"{path} is {member}, which JSON has no way to write.")
        elif not isinstance(member, bool | int | float | dict | list | tuple | None):
            raise InvalidInput(
                f"{path} is a {type(member).__name__}, which is not JSON.",
                hint="Use texts, numbers, booleans, None, lists and dicts with text keys.",
            )
    try:
        encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        # An integer of thousands of digits: Python itself refuses to write it.
        raise InvalidInput(f"{where} cannot be written as JSON: {error}") from None
    if limit is not None:
        validate_size(where, encoded, limit)
    return encoded


def decode_json(stored: str | bytes, kind: type[K]) -> K:
    """Read JSON of a known kind that was stored. It was checked before, so what cannot be read was damaged since."""
    try:
        value = from_json(stored)
    except ValueError as error:
        raise damaged() from error
    if not isinstance(value, kind):
        raise damaged()
    return value


def damaged() -> StoreError:
    return StoreError("A row of the database holds JSON that cannot be read.", hint=DAMAGED_HINT)


DAMAGED_HINT = "Something else than Longmind has changed it, or the disk fails: restore the database from a backup."


def quote_value(value: object) -> str:
    """A value as a message shows it. Python refuses to write an integer of thousands of digits."""
    if isinstance(value, int) and abs(value) >= 2**63:
        return f"an integer of {value.bit_length():,} bits"
    return repr(value)


def validate_size(where: str, encoded: str, limit: int) -> None:
    """Refuse what takes more bytes of UTF-8 than the limit."""
    # A character takes four bytes at the most, so short texts need not be measured.
    if len(encoded) * 4 > limit:
        size = len(encoded.encode())
        if size > limit:
            raise LimitExceeded(_as_json(where), limit=limit, given=size, unit="bytes")


def _as_json(where: str) -> str:
    # A text with many quotes or line breaks has more bytes as JSON than its author counts.
    return f"{where} (written as JSON)"


def _unfolded(value: Json, known: dict[int, int], depth: int) -> int:
    """The members of a value, and the characters of its texts, counted once for whatever it holds many times."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, dict | list | tuple) or depth > _DEEPEST:
        return 1
    if id(value) not in known:
        inside = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_unfolded(item, known, depth + 1) for item in inside)
    return known[id(value)]


def _members(root: str, value: Json) -> Iterator[tuple[str, Json]]:
    """The value and everything inside it, keys too, with the way there."""
    # A list of what is open, and no recursion: through that, each member would be handed up level by level.
    opened = [iter([(root, value)])]
    while opened:
        for path, member in opened[-1]:
            yield path, member
            if len(opened) - 1 > _DEEPEST:
                raise LimitExceeded(f"The depth of {root}", limit=_DEEPEST, given=len(opened) - 1, unit="levels")
            if isinstance(member, dict | list | tuple):
                opened.append(_inside(path, member))
                break
        else:
            opened.pop()


def _inside(path: str, value: dict[Any, Json] | list[Json] | tuple[Json, ...]) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, dict):
        yield from ((f"{path}[{index}]", item) for index, item in enumerate(value))
        return
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidInput(f"{path} has the key {key!r}, and a key of JSON must be a text.")
        yield f"the key {key!r} of {path}", key
        yield f"{path}.{key}", item
