"""Basic Memory: Markdown notes with a block of fields, observations (`- [category] text #tag (context)`) and relations.

Prose is counted as left out: import the folder as `markdown` to have its paragraphs as facts. An observation that does
not name its note gets the title in front. Boxes to tick and clock times in brackets are no categories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from longmind.clock import Micros
from longmind.interchange.readers.front_matter import MarkdownNote, split_note
from longmind.interchange.readers.markdown import read_note
from longmind.interchange.records import ForeignFact, ForeignRecord, Format, Omission, clean_text, make_key, parse_time
from longmind.interchange.source_files import SourceFiles

_ITEM = re.compile(r"^\s*[-*+]\s+(?P<words>.+)$")
_OBSERVATION = re.compile(r"^\[(?P<category>[^\[\]()]+)\]\s+(?P<words>.+)$")
_RELATION = re.compile(
    r"^(?:(?P<quote>[\"'])(?P<quoted>.+?)(?P=quote)|(?P<verb>\S+))\s*\[\[(?P<target>[^\]]+)\]\]\s*(?:\((?P<context>.*)\))?$"
)
_CONTEXT = re.compile(r"\s*\((?P<context>[^()]*)\)$")
_TAG = re.compile(r"(?:^|\s)#(?P<tag>[\w/-]+)")
_CLOCK = re.compile(r"^\d{1,3}:\d{2}")


def _is_item(value: Any) -> bool:
    """Return False: notes are recognised by their fields, and not by JSON."""
    return False


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the facts of all notes."""
    for part in source.parts:
        note = split_note(clean_text(read_note(part)))
        at = parse_time(note.text("created", "created_at", "date", "modified"))
        title = note.text("title") or part.name.rpartition("/")[2].rpartition(".")[0]
        yield from _read_note(part.name, title, note, at)


def _read_note(name: str, title: str, note: MarkdownNote, at: Micros | None) -> Iterator[ForeignRecord]:
    """Yield the facts of one note; `permalink` identifies it even when its file moves."""
    permalink = note.text("permalink") or name
    prose, found = 0, False
    for line in note.body.splitlines():
        item = _ITEM.match(line)
        fact = None if item is None else _read_item(item["words"].strip(), title, permalink, note, at)
        if fact is not None:
            found = True
            yield fact
        elif line.strip() and not line.startswith("#"):
            prose += 1
    if prose:
        yield Omission("Lines of prose, which are neither observations nor relations", name, prose)
    elif not found:
        yield Omission("A note without observations and relations", name)


def _read_item(words: str, title: str, permalink: str, note: MarkdownNote, at: Micros | None) -> ForeignFact | None:
    """Return the fact of a list item; None if it is neither an observation nor a relation."""
    # Tags of the note are those of everything in it.
    tags = (*note.list("tags"), *(each["tag"] for each in _TAG.finditer(words)))
    relation = _RELATION.match(words)
    if relation is not None:
        verb, target = relation["quoted"] or relation["verb"], relation["target"].partition("|")[0].strip()
        text = f"{title} {verb.replace('_', ' ')} {target}" + (
            f" ({relation['context']})" if relation["context"] else ""
        )
        return _make_fact(text, "relation", (permalink, verb, target), tags, permalink, title, at)
    observation = _OBSERVATION.match(words)
    if observation is None or len(observation["category"].strip()) < 2 or _CLOCK.match(observation["category"]):
        return None
    plain = _TAG.sub("", observation["words"]).strip()
    context = _CONTEXT.search(plain)
    text = plain if title.lower() in plain.lower() else f"{title}: {plain}"
    # The words as they stand identify an observation, since a note that grows moves its lines.
    identity = (permalink, observation["category"], observation["words"])
    fact = _make_fact(text, observation["category"].strip().lower(), identity, tags, permalink, title, at)
    if context is None:
        return fact
    return ForeignFact(**{**vars(fact), "metadata": {**fact.metadata, "context": context["context"]}})


def _make_fact(
    text: str,
    category: str,
    identity: tuple[str, ...],
    tags: tuple[str, ...],
    permalink: str,
    title: str,
    at: Micros | None,
) -> ForeignFact:
    """Return a fact of a note."""
    return ForeignFact(
        id=make_key(*identity),
        text=text,
        category=category,
        at=at,
        tags=tuple(dict.fromkeys(tags)),
        metadata={"permalink": permalink, "title": title},
    )


BASIC_MEMORY = Format(
    name="basic-memory",
    product="Basic Memory",
    files=("*.md",),
    expected='Markdown with the fields "title" and "permalink" and lines such as "- [category] observation"',
    is_item=_is_item,
    read=_read,
)
