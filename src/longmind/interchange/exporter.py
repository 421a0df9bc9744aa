"""Export of a user's memory in plain notations, which other products and people can read.

JSON lines have the conversations and all facts, with their times; `longmind import --format jsonl` reads them back.
Markdown and mem0's notation have the facts: Markdown all that are known, mem0's those that hold now, since a memory
there has no end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from longmind.admin.user_export import new_export_file
from longmind.clock import system_clock, to_iso, to_micros
from longmind.context import Context
from longmind.errors import InvalidInput
from longmind.models.atom import Atom
from longmind.models.conversation import Conversation
from longmind.models.message import Message
from longmind.models.value import Value
from longmind.validation.text import quote_value

_PAGE = 500


class ExportReport(Value):
    """The numbers of records in an export."""

    format: str
    facts: int
    conversations: int


class _Written:
    """Counts what was written."""

    def __init__(self) -> None:
        self.facts = 0
        self.conversations = 0


def export_memory(context: Context, target: str | Path | IO[bytes], format: str) -> ExportReport:
    """Write the user's memory to a new file, or to a file that is open for writing; return the numbers of records.

    format: `jsonl`, `markdown` or `mem0`. A path must not exist yet; a failed export leaves no file.

    The order is that of the lists: the newest first, in Markdown the oldest first under each heading.
    Facts of all of the user's spaces are written, those of the memory tools too. `admin.export_user_archive` moves
    everything, with ids, to another Longmind.
    """
    if format not in _WRITERS:
        raise InvalidInput(f"format is {quote_value(format)}.", hint=f"Use {', '.join(EXPORT_FORMATS)}.")
    written = _Written()
    pieces = _WRITERS[format](context, written)
    if isinstance(target, str | Path):
        with new_export_file(Path(target)) as file:
            _write_all(file, pieces)
    else:
        _write_all(target, pieces)
    return ExportReport(format=format, facts=written.facts, conversations=written.conversations)


def _write_all(file: IO[bytes], pieces: Iterable[str]) -> None:
    """Write pieces of text one after another, as UTF-8."""
    for piece in pieces:
        file.write(piece.encode())


def _list_atoms(context: Context) -> Iterator[tuple[str, Atom]]:
    """Yield the active facts of all spaces, each with the name of its space; in a space the newest first."""
    for space in context.memory.list_memory_spaces():
        cursor = None
        while True:
            page = context.memory.list_atoms(space.id, limit=_PAGE, cursor=cursor)
            yield from ((space.name or space.id, atom) for atom in page)
            cursor = page.next_cursor
            if cursor is None:
                break


def _list_conversations(context: Context) -> Iterator[Conversation]:
    """Yield all conversations, the newest first."""
    cursor = None
    while True:
        page = context.conversations.list_conversations(limit=_PAGE, cursor=cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return


def _list_messages(context: Context, conversation_id: str) -> list[Message]:
    """Return the messages of a conversation in order, but for those that neither the user nor a model may see."""
    found: list[Message] = []
    before: int | None = None
    while True:
        page = context.conversations.get_raw_turns(conversation_id, limit=_PAGE, before=before)
        found = [*page, *found]
        if len(page) < _PAGE:
            return [each for each in found if each.visibility == "user" or each.role in ("tool", "system")]
        before = page[0].sequence


# --- JSON lines -------------------------------------------------------------------------------------------------------


def _write_jsonl(context: Context, written: _Written) -> Iterator[str]:
    """Yield a line for each conversation and for each fact."""
    for conversation in _list_conversations(context):
        messages = _list_messages(context, conversation.id)
        if messages:
            written.conversations += 1
            yield _to_line(_describe_conversation(conversation, messages))
    for space, atom in _list_atoms(context):
        written.facts += 1
        yield _to_line(_describe_atom(space, atom))


def _to_line(value: dict[str, Any]) -> str:
    """Return a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _describe_conversation(conversation: Conversation, messages: list[Message]) -> dict[str, Any]:
    """Return a conversation with its messages as the fields of its line."""
    return {
        "type": "conversation",
        "id": conversation.id,
        "title": conversation.title,
        "namespace": conversation.namespace,
        "created_at": conversation.created_at,
        "metadata": conversation.metadata,
        "messages": [
            {
                "id": message.id,
                "role": message.role,
                "content": [block.model_dump(mode="json") for block in message.content],
                "created_at": message.created_at,
                **({"model": message.model} if message.model else {}),
            }
            for message in messages
        ],
    }


def _describe_atom(space: str, atom: Atom) -> dict[str, Any]:
    """Return a fact as the fields of its line; times and keys that it lacks are left out."""
    optional = {"valid_to": atom.valid_to, "superseded_at": atom.superseded_at, "key": atom.key}
    return {
        "type": "fact",
        "id": atom.id,
        "text": atom.text,
        "category": atom.category.name,
        "kind": atom.category.kind,
        "importance": atom.importance,
        "confidence": atom.confidence,
        "trust": atom.trust,
        "tags": atom.tags,
        "created_at": atom.created_at,
        "valid_from": atom.valid_from,
        **{name: value for name, value in optional.items() if value is not None},
        "space": space,
        "metadata": atom.metadata,
    }


# --- Markdown ---------------------------------------------------------------------------------------------------------


def _write_markdown(context: Context, written: _Written) -> Iterator[str]:
    """Yield the facts under headings, which are their categories, oldest first."""
    yield f"---\ntitle: Memory\nsource: longmind\nexported: {to_iso(system_clock())}\n---\n\n# Memory\n"
    # Facts come newest first, and by space; a person looks for them by what they are about.
    by_heading: dict[str, list[Atom]] = {}
    for _, atom in _list_atoms(context):
        by_heading.setdefault(" ".join(atom.category.name.split()), []).append(atom)
    for heading in sorted(by_heading):
        yield f"\n## {heading}\n\n"
        for atom in reversed(by_heading[heading]):
            written.facts += 1
            yield f"- {_make_item(atom)}\n"


def _make_item(atom: Atom) -> str:
    """Return a fact as a list item, with a comment behind it that holds the rest of it."""
    shown = " ".join(atom.text.split())
    fields: dict[str, Any] = {
        "id": atom.id,
        "created_at": atom.created_at,
        "valid_from": atom.valid_from,
        "valid_to": atom.valid_to,
        "kind": atom.category.kind,
        "importance": atom.importance,
        "trust": atom.trust,
        "tags": atom.tags,
        "metadata": atom.metadata,
        # A text that a list item cannot hold as it is.
        "text": atom.text if atom.text != shown or "<!--" in shown or atom.valid_to else None,
    }
    usual: dict[str, Any] = {
        "valid_to": None,
        "text": None,
        "tags": [],
        "metadata": {},
        "kind": "FACT",
        "importance": 3,
        "trust": "app",
    }
    kept = {name: value for name, value in fields.items() if value != usual.get(name, ...)}
    # `-->` would end the comment.
    comment = json.dumps(kept, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    until = f" *(until {atom.valid_to[:10]})*" if atom.valid_to else ""
    return f"{shown.replace('<!--', '&lt;!--')}{until} <!-- longmind {comment} -->"


# --- mem0 -------------------------------------------------------------------------------------------------------------


def _write_mem0(context: Context, written: _Written) -> Iterator[str]:
    """Yield the facts that hold now as the answer of a `get_all()`."""
    now = system_clock()
    before = '{"results":['
    for _, atom in _list_atoms(context):
        # A memory of mem0 is true as long as it is there.
        ended = atom.valid_to is not None and to_micros(atom.valid_to) <= now
        if not ended and atom.superseded_by is None:
            written.facts += 1
            yield f"{before}\n{json.dumps(_describe_memory(context.scope.user_id, atom), ensure_ascii=False)}"
            before = ","
    yield f"{before if not written.facts else ''}\n]}}\n"


def _describe_memory(user_id: str, atom: Atom) -> dict[str, Any]:
    """Return a fact as a memory of mem0."""
    # The fields of mem0's own answers, in their order.
    return {
        "id": atom.id,
        "memory": atom.text,
        "hash": hashlib.md5(atom.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": {**atom.metadata, "category": atom.category.name},
        "created_at": atom.created_at,
        "updated_at": atom.updated_at,
        "user_id": user_id,
        "categories": atom.tags,
        **({} if atom.valid_to is None else {"expiration_date": atom.valid_to[:10]}),
    }


_WRITERS: dict[str, Callable[[Context, _Written], Iterator[str]]] = {
    "jsonl": _write_jsonl,
    "markdown": _write_markdown,
    "mem0": _write_mem0,
}
EXPORT_FORMATS = tuple(_WRITERS)
