"""The conversations that the reader learns from, with their labels: see `guidelines.md` for both formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REAL_TEXT = HERE.parents[2] / "shared" / "bench" / "longmemeval-text.json"
"""Real conversations, which are read where they are; only their labels stand here."""


@dataclass(frozen=True)
class Message:
    """A message of a conversation."""

    role: str
    text: str


@dataclass
class Conversation:
    """The messages of one conversation, in their order."""

    at: str
    messages: list[Message] = field(default_factory=list)


@dataclass
class WrittenUser:
    """A user and their conversations over some months."""

    name: str
    setting: str
    voice: str
    conversations: list[Conversation] = field(default_factory=list)

    @property
    def writer(self) -> str:
        """The writer of the file, such as "w1"."""
        return self.name.split("-")[0]


@dataclass(frozen=True)
class LabelledMessage:
    """A message of a user, what was said before it, and what is worth remembering of it."""

    id: str
    group: str
    """The writer, or the file of labels of a real conversation."""
    setting: str
    at: str
    before: str
    """The message of the assistant before it; empty for the first one."""
    text: str
    facts: list[dict[str, Any]]
    nothing: str | None


def parse_user(text: str) -> WrittenUser:
    """Parse a file of conversations; raise ValueError for a line that is none of the format."""
    user = WrittenUser("", "", "")
    for number, line in enumerate(text.splitlines(), 1):
        head, _, rest = line.partition(" ")
        if head == "#at":
            user.conversations.append(Conversation(rest))
        elif head in ("#user", "#setting", "#voice"):
            setattr(user, {"#user": "name"}.get(head, head[1:]), rest)
        elif head in ("U:", "A:"):
            user.conversations[-1].messages.append(Message("user" if head == "U:" else "assistant", rest))
        elif head == "|":
            messages = user.conversations[-1].messages
            messages[-1] = Message(messages[-1].role, f"{messages[-1].text}\n{rest}")
        elif line.strip():
            raise ValueError(f"Line {number} is neither a message nor a heading: {line[:60]!r}")
    return user


def read_users(folder: Path = HERE / "conversations") -> list[WrittenUser]:
    """Return all users that were written, in the order of their names."""
    return [parse_user(path.read_text()) for path in sorted(folder.glob("*.txt"))]


def list_messages(user: WrittenUser) -> Iterator[tuple[str, str, str, str]]:
    """Yield the id, the time, the message before it, and the text of each message of a user."""
    for place, conversation in enumerate(user.conversations):
        before = ""
        for number, message in enumerate(conversation.messages):
            if message.role == "user":
                yield f"{user.name}/{place}#{number}", conversation.at, before, message.text
            else:
                before = message.text


def list_real_messages() -> Iterator[tuple[str, str, str, str]]:
    """Yield the id, the time, the message before it, and the text of each user message of the real conversations."""
    for name, session in json.loads(REAL_TEXT.read_text())["sessions"].items():
        before = ""
        for number, turn in enumerate(session["turns"]):
            if turn["speaker"] == "user":
                yield f"{name}#{number}", session["date"], before, turn["text"]
            else:
                before = turn["text"]


DEFAULTS: dict[str, Any] = {
    "subject": "user",
    "qualifier": None,
    "certainty": 1,
    "negated": False,
    "valid_from": None,
    "changes": None,
    "of": None,
}
"""What a label says where it leaves a key out."""
TEST_GROUPS = frozenset(("w3", "w8", "real-5"))
"""What training never sees: two writers with all their users, settings and voices, and a sixth of the real text."""


def is_for_testing(message: LabelledMessage) -> bool:
    """Return whether a message is kept apart from training."""
    return message.group in TEST_GROUPS


def read_labels(folder: Path = HERE / "labels") -> dict[str, dict[str, Any]]:
    """Return the resolved labels by the id of their message."""
    labels = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            label = json.loads(line)
            facts = [{**DEFAULTS, **fact} for fact in label["facts"]]
            labels[label["m"]] = {**label, "facts": facts, "file": path.stem}
    return labels


def read_labelled_messages() -> list[LabelledMessage]:
    """Return all labelled messages, those that were written first."""
    labels = read_labels()
    found = []
    for user in read_users():
        for name, at, before, text in list_messages(user):
            if name in labels:
                label = labels[name]
                found.append(
                    LabelledMessage(
                        name, user.writer, user.setting, at, before, text, label["facts"], label.get("nothing")
                    )
                )
    for name, at, before, text in list_real_messages():
        if name in labels:
            label = labels[name]
            found.append(
                LabelledMessage(name, label["file"], "real", at, before, text, label["facts"], label.get("nothing"))
            )
    return found
