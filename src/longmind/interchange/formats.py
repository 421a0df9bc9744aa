"""The table of formats, and the recognition of a file by its first value.

A file is never guessed into memory: the caller names its format, and recognition only explains a refusal. So a file of
another format is refused before its first record is read, with the name of the format that it looks like.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from typing import Any

from longmind.errors import InvalidInput, LongmindError
from longmind.interchange.readers.basic_memory import BASIC_MEMORY
from longmind.interchange.readers.chatgpt import CHATGPT
from longmind.interchange.readers.claude import CLAUDE
from longmind.interchange.readers.claude_code import CLAUDE_CODE
from longmind.interchange.readers.front_matter import split_note
from longmind.interchange.readers.json_lines import JSONL
from longmind.interchange.readers.langgraph import LANGGRAPH
from longmind.interchange.readers.letta import LETTA
from longmind.interchange.readers.markdown import MARKDOWN
from longmind.interchange.readers.mcp_memory import MCP_MEMORY
from longmind.interchange.readers.mem0_export import MEM0
from longmind.interchange.readers.zep import ZEP
from longmind.interchange.records import Format
from longmind.interchange.source_files import SourceFiles, SourcePart
from longmind.store.langgraph_file import LangGraphFile
from longmind.validation.text import quote_value

LONGMIND = "longmind"
"""The name of Longmind's own export of a user, which `admin.import_user_data` reads."""
FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        MEM0,
        ZEP,
        LETTA,
        LANGGRAPH,
        CHATGPT,
        CLAUDE,
        CLAUDE_CODE,
        JSONL,
        MARKDOWN,
        BASIC_MEMORY,
        MCP_MEMORY,
    )
}
# The most particular first: a line of nearly every format has some text in it.
_BY_VALUE = (CHATGPT, CLAUDE, LETTA, CLAUDE_CODE, MCP_MEMORY, LANGGRAPH, MEM0, ZEP, JSONL)
_OWN_TABLES = {"atoms", "events", "memory_spaces"}
_OWN_EXPORT = re.compile(rb'\s*\{\s*"format"\s*:\s*"(?:longmind|recollect)\.user"')
_PRINTED = re.compile(rb"\s*\[?\s*\{\s*'")
_NOTES = (".md", ".markdown", ".txt")


def find_format(name: str) -> Format:
    """Return a format by its name; raise InvalidInput for an unknown one."""
    if name not in FORMATS:
        raise InvalidInput(f"format is {quote_value(name)}.", hint=f"Use {', '.join((LONGMIND, *FORMATS))}.")
    return FORMATS[name]


def detect_format(source: SourceFiles) -> str | None:
    """Return the name of the format that a file, a folder or an archive looks like; None if it is like none."""
    if source.is_archive and any(part.name == "manifest.json" for part in source.parts):
        return LONGMIND
    # Exports of chat products have other files beside their conversations, which say nothing of the format.
    for chosen in (CHATGPT, CLAUDE):
        for part in source.parts:
            if (source.is_archive or source.is_folder) and _is_called(part, chosen) and (found := _detect_part(part)):
                return found
    for part in source.parts[:50]:
        if found := _detect_part(part):
            return found
    return None


def check_format(source: SourceFiles, chosen: Format) -> None:
    """Raise InvalidInput, with the format that a file looks like, unless it is one of the chosen format."""
    is_note = chosen in (MARKDOWN, BASIC_MEMORY)
    # The first file that has a value decides; the others are read as they are.
    for part in source.parts:
        if is_note:
            if part.is_sqlite or b"\x00" in part.read_beginning():
                raise _make_error(source, chosen, "is no text")
            return
        if part.is_sqlite:
            if chosen is LANGGRAPH and _list_tables(part) & {"store", "checkpoints"}:
                return
            raise _make_error(source, chosen, "is an SQLite file")
        first = _read_first(part, chosen)
        if first is None:
            continue
        if not chosen.is_item(first.value):
            raise _make_error(source, chosen, f"begins with {_describe(first.value)}")
        return


def _read_first(part: SourcePart, chosen: Format) -> Any:
    """Return the first value of a part; None for an empty one."""
    try:
        return next(iter(part.read_values()), None)
    except LongmindError as error:
        looks_like = detect_format(SourceFiles(part.path)) if part.member is None else None
        if looks_like in (None, chosen.name):
            raise
        raise InvalidInput(
            f"{part.name} is no export of {chosen.product}: {error.message}", hint=_make_hint(looks_like)
        ) from error


def _make_error(source: SourceFiles, chosen: Format, found: str) -> InvalidInput:
    """Return the error about a file of another format, which names the one that it looks like."""
    looks_like = detect_format(SourceFiles(source.path))
    return InvalidInput(
        f"{source.name} is no export of {chosen.product}: it {found}, and not {chosen.expected}.",
        hint=_make_hint(looks_like),
    )


def _make_hint(looks_like: str | None) -> str:
    """Return the advice for a file that looks like a format, or like none."""
    if looks_like is None:
        return f"It is of no known format; known are {', '.join((LONGMIND, *FORMATS))}."
    return f"It looks like {looks_like}: import it with --format {looks_like}."


def _detect_part(part: SourcePart) -> str | None:
    """Return the format that one file looks like, by its tables, its text or its first value."""
    if part.is_sqlite:
        tables = _list_tables(part)
        return LANGGRAPH.name if tables & {"store", "checkpoints"} and not tables & _OWN_TABLES else None
    beginning = part.read_beginning()
    # No text has a NUL character: it is a picture, a program or a database of another kind.
    if b"\x00" in beginning:
        return None
    # What Python prints of a list or dict is no note, whatever the file is called.
    if _PRINTED.match(beginning):
        return None
    if part.name.lower().endswith(_NOTES):
        return _detect_note(beginning)
    # Longmind's own document is one value of any size, which need not be parsed to be known.
    if _OWN_EXPORT.match(beginning):
        return LONGMIND
    return _detect_value(part) or (_detect_note(beginning) if beginning.startswith(b"---") else None)


def _list_tables(part: SourcePart) -> set[str]:
    """Return the names of the tables of an SQLite file."""
    with LangGraphFile(part.path) as file:
        return file.list_tables()


def _detect_note(beginning: bytes) -> str:
    """Return the format of a Markdown file: only Basic Memory gives its notes a permalink."""
    note = split_note(beginning.decode("utf-8", "replace"))
    return BASIC_MEMORY.name if note.text("permalink") else MARKDOWN.name


def _detect_value(part: SourcePart) -> str | None:
    """Return the format of a JSON file by its first value."""
    try:
        first = next(iter(part.read_values()), None)
    except LongmindError:
        return None
    if first is None:
        return None
    return next((each.name for each in _BY_VALUE if each.is_item(first.value)), None)


def _is_called(part: SourcePart, chosen: Format) -> bool:
    """Return whether a part has the name of a file of a format."""
    return any(fnmatch(part.name.rpartition("/")[2], each) for each in chosen.files)


def _describe(value: Any) -> str:
    """Return a value of a file in a few words."""
    if isinstance(value, dict):
        keys = ", ".join(json.dumps(key) for key in list(value)[:6])
        return f"an object with {keys}" if keys else "an empty object"
    return f"a {type(value).__name__}"
