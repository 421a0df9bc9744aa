"""Markdown: notes, each list item and each paragraph a fact; headings are its category and its tags.

Code, tables and rules are passed over. The date of a note is that of its front matter, if it has one. The words, with
file and heading, identify a fact: text that was edited is a new fact, and the former one stays.

Longmind's own export has an invisible comment behind each fact, with its id and its times, so that it can be read back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from longmind.errors import InvalidInput, LimitExceeded
from longmind.interchange.readers.front_matter import split_note
from longmind.interchange.records import ForeignFact, ForeignRecord, Format, Omission, clean_text, make_key, parse_time
from longmind.interchange.source_files import SourceFiles, SourcePart

LONGEST_NOTE = 16 * 1024 * 1024
_HEADING = re.compile(r"^(?P<marks>#{1,6})\s+(?P<words>.+?)\s*#*$")
_BULLET = re.compile(r"^(?P<indent>\s*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(?P<words>.*)$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$")
_COMMENT = re.compile(r"<!--(?P<words>.*?)-->", re.DOTALL)
_OWN = re.compile(r"<!--\s*longmind (?P<fields>\{.*\})\s*-->\s*$")


def read_note(part: SourcePart) -> str:
    """Return the text of a note; raise an error for one that is too long, or no text."""
    with part.open() as file:
        data = file.read(LONGEST_NOTE + 1)
    if len(data) > LONGEST_NOTE:
        raise LimitExceeded(f"The note {part.name}", limit=LONGEST_NOTE, given=len(data), unit="bytes", at_least=True)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{part.name} is not text in UTF-8: byte {data[error.start]:#04x} at position {error.start:,}.",
            hint="Save it as UTF-8, or import only the folder with the notes.",
        ) from None


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the facts of all notes."""
    for part in source.parts:
        note = split_note(clean_text(read_note(part)))
        at = parse_time(note.text("created", "created_at", "date", "updated"))
        title = note.text("title") or part.name.rpartition("/")[2].rpartition(".")[0]
        found = False
        for category, words, line in _list_statements(note.body):
            found = True
            yield _make_fact(part.name, category or title, words, line, at, note.list("tags"))
        if not found:
            yield Omission("A note without list items or paragraphs", part.name)


def _make_fact(name: str, category: str, words: str, line: int, at: Any, tags: list[str]) -> ForeignRecord:
    """Return a list item or a paragraph as a fact."""
    own = _OWN.search(words)
    plain = " ".join(_COMMENT.sub("", words).split())
    fact = ForeignFact(
        # Not the line: a note that grows in front moves the lines behind.
        id=make_key(name, category, plain),
        text=plain,
        category=category[:255],
        at=at,
        tags=tuple(tags),
        metadata={"file": name},
    )
    if not plain:
        return Omission("A comment", f"{name}, line {line}")
    return fact if own is None else _add_own_fields(fact, own["fields"])


def _add_own_fields(fact: ForeignFact, encoded: str) -> ForeignFact:
    """Return a fact with what the comment of our own export says of it."""
    try:
        fields = json.loads(encoded)
    except (ValueError, RecursionError):
        return fact
    metadata = fields.get("metadata")
    return replace(
        fact,
        id=str(fields.get("id") or fact.id),
        # Long texts and those with line breaks are in the comment, since a list item has one line.
        text=clean_text(fields.get("text")) or fact.text,
        kind=fields["kind"] if fields.get("kind") in ("FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE") else "FACT",
        at=parse_time(fields.get("created_at")) or fact.at,
        valid_from=parse_time(fields.get("valid_from")),
        valid_to=parse_time(fields.get("valid_to")),
        importance=fields["importance"] if fields.get("importance") in (1, 2, 3, 4, 5) else 3,
        trust=fields["trust"] if fields.get("trust") in ("user", "app", "assistant", "tool") else "app",
        tags=tuple(each for each in fields.get("tags", []) if isinstance(each, str)),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _list_statements(body: str) -> Iterator[tuple[str, str, int]]:
    """Yield the list items and paragraphs of a note, each with its heading and its line."""
    # A paragraph ends with the line that does not go on with it; the empty one at the end closes the last.
    heading, begun, gathered, fenced = "", 0, list[str](), False
    for number, line in enumerate([*body.splitlines(), ""], 1):
        bullet = None if fenced else _BULLET.match(line)
        title = None if fenced else _HEADING.match(line)
        is_fence = _FENCE.match(line) is not None
        ends = not line.strip() or is_fence or bullet or title or _RULE.match(line) or line.lstrip().startswith("|")
        if ends and gathered:
            yield heading, " ".join(gathered), begun
            gathered = []
        if is_fence:
            fenced = not fenced
        elif fenced or _RULE.match(line) or line.lstrip().startswith("|"):
            # Code and tables are no statements.
            continue
        elif title:
            heading = title["words"]
        elif line.strip():
            begun = begun if gathered else number
            gathered.append((bullet["words"] if bullet else line).strip())


def _is_item(value: Any) -> bool:
    """Return False: notes are not recognised by JSON."""
    return False


MARKDOWN = Format(
    name="markdown",
    product="Markdown notes",
    files=("*.md", "*.markdown", "*.txt"),
    expected="Markdown with list items or paragraphs",
    is_item=_is_item,
    read=_read,
)
