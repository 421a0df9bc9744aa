"""Claude Code: transcripts of sessions, one JSON object a line, under `~/.claude/projects`.

Nearly all of a transcript is files that were read and the output of programs. What the user typed and what the
assistant answered is imported; calls of tools and their results, notes of the program, and the talk of agents among
themselves (`isSidechain`) are left out. A session that goes on brings its new messages with the next import.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from longmind.errors import InvalidInput
from longmind.interchange.json_stream import read_lines
from longmind.interchange.readers.chat_content import read_text
from longmind.interchange.records import (
    ForeignConversation,
    ForeignMessage,
    ForeignRecord,
    Format,
    MessageKeys,
    Omission,
    clean_text,
    parse_time,
)
from longmind.interchange.source_files import SourceFiles, SourcePart

_KINDS = frozenset(
    "user assistant system summary progress attachment file-history-snapshot queue-operation last-prompt ai-title"
    " custom-title agent-name permission-mode mode pr-link worktree-state".split()
)
_NOT_TYPED = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "<bash-",
    "<task-notification>",
    "[Request interrupted",
)
"""Beginnings of texts that the program writes in the user's name."""


def _is_item(value: Any) -> bool:
    """Return whether a value is a line of a transcript."""
    if not isinstance(value, Mapping) or value.get("type") not in _KINDS:
        return False
    return any(name in value for name in ("sessionId", "leafUuid", "messageId", "snapshot", "parentUuid"))


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the sessions of all transcripts."""
    for part in source.parts:
        yield from _SessionReader(part).read()


class _SessionReader:
    """Reads one transcript. A session that is resumed goes on in the same file, under the same id."""

    def __init__(self, part: SourcePart) -> None:
        self._part = part
        self._sessions: dict[str, list[ForeignMessage]] = {}
        self._about: dict[str, dict[str, Any]] = {}
        self._seen: set[str] = set()
        self._keys = MessageKeys()
        self._title: str | None = None
        self._left_out: dict[str, int] = {}

    def read(self) -> Iterator[ForeignRecord]:
        """Yield the sessions of the transcript, and what stays out of them."""
        with self._part.open() as file:
            lines = iter(read_lines(file, self._part.name))
            for number, line in lines:
                entry = self._parse(number, line, is_last=lambda: next(lines, None) is None)
                if entry is not None:
                    self._read_entry(entry)
        for reason, count in self._left_out.items():
            yield Omission(reason, self._part.name, count)
        for session, messages in self._sessions.items():
            about = self._about.get(session, {})
            yield ForeignConversation(
                session, tuple(messages), title=self._title or _make_title(messages), at=messages[0].at, metadata=about
            )

    def _parse(self, number: int, line: bytes, is_last: Any) -> Mapping[str, Any] | None:
        """Return a line as an object; None for one that is left out."""
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            # A session that is under way may be read while its last line is being written.
            if is_last():
                self._leave_out("The last line, which is not complete yet")
                return None
            raise InvalidInput(
                f"{self._part.name}, line {number} is no valid JSON: {error}.",
                hint="Pass a transcript as Claude Code wrote it.",
            ) from None
        if not isinstance(entry, Mapping):
            self._leave_out("A line that is no object")
            return None
        return entry

    def _read_entry(self, entry: Mapping[str, Any]) -> None:
        """Keep the message of a line, or count the line as left out."""
        kind, message = entry.get("type"), entry.get("message")
        title = entry.get("summary") or entry.get("aiTitle") or entry.get("customTitle")
        if kind in ("summary", "ai-title", "custom-title") and isinstance(title, str):
            self._title = clean_text(title) or self._title
        elif kind not in ("user", "assistant") or not isinstance(message, Mapping):
            self._leave_out("Lines about the program: progress, snapshots, attachments, queues")
        elif entry.get("isSidechain") or entry.get("isMeta") or entry.get("isCompactSummary"):
            self._leave_out("Messages between agents, and those that the program wrote")
        elif text := self._read_words(kind, message):
            self._keep(entry, kind, text, message)

    def _read_words(self, kind: str, message: Mapping[str, Any]) -> str:
        """Return the words of a message that a person typed or read; empty for others."""
        text = read_text(message.get("content"))
        if not text:
            self._leave_out("Calls of tools, their results, thoughts and images")
        elif kind == "user" and text.startswith(_NOT_TYPED):
            self._leave_out("Messages between agents, and those that the program wrote")
            return ""
        return text

    def _keep(self, entry: Mapping[str, Any], kind: str, text: str, message: Mapping[str, Any]) -> None:
        """Keep a message in its session."""
        session = entry.get("sessionId")
        session = session if isinstance(session, str) and session else self._part.name.rpartition(".")[0]
        at, model = parse_time(entry.get("timestamp")), message.get("model")
        key = str(entry.get("uuid") or self._keys.make(kind, text, at))
        # A session that was forked repeats what came before.
        if key in self._seen:
            return
        self._seen.add(key)
        # The kind of a line is the role of its message.
        role = "user" if kind == "user" else "assistant"
        made = ForeignMessage(key, role, text, at, model if isinstance(model, str) else None)  # type: ignore[arg-type]
        self._sessions.setdefault(session, []).append(made)
        details = {"cwd": entry.get("cwd"), "git_branch": entry.get("gitBranch")}
        self._about.setdefault(
            session, {name: value for name, value in details.items() if isinstance(value, str) and value}
        )

    def _leave_out(self, reason: str) -> None:
        """Count a line as left out."""
        self._left_out[reason] = self._left_out.get(reason, 0) + 1


def _make_title(messages: list[ForeignMessage]) -> str | None:
    """Return the beginning of the first thing that the user typed."""
    first = next((each.content for each in messages if each.role == "user"), None)
    return " ".join(first.split())[:80] if isinstance(first, str) else None


CLAUDE_CODE = Format(
    name="claude-code",
    product="Claude Code",
    files=("*.jsonl",),
    expected='JSON lines with "type", "sessionId", "uuid" and "message"',
    is_item=_is_item,
    read=_read,
)
