"""The labelled sets in the form that the scorer reads: users with conversations, whose messages have facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from longmind.errors import InvalidInput
from training.reader.conversations import TEST_GROUPS, WrittenUser, read_labels, read_users

OWN = "own conversations, test split"
CONVERSATIONS = "reader-conversations-dev"
MESSAGES = "reader-longmemeval-dev"
REAL = "real text, test split"
UNLABELLED = "unlabelled"
"""What stands in place of a reason where nobody has labelled a message: it is context for others."""

_REAL_TEXT = "longmemeval-text.json"
_REAL_DATE = "%Y/%m/%d (%a) %H:%M"
_ASSISTANT = "assistant"

User = dict[str, Any]


@dataclass(frozen=True)
class LabelledSet:
    """Users whose messages are labelled."""

    name: str
    users: list[User]
    by_message: bool = False
    """True if single messages are labelled, with others as their context, and there are no questions."""

    def limit(self, users: int | None) -> LabelledSet:
        """Return the set with its first users alone; None for all."""
        return LabelledSet(self.name, self.users[:users], self.by_message)


def read_sets(folder: Path) -> list[LabelledSet]:
    """Return all sets: our own test split, and those in a folder with shared data."""
    labels = read_labels()
    return [
        LabelledSet(OWN, [label_user(user, labels) for user in read_users() if user.writer in TEST_GROUPS]),
        LabelledSet(CONVERSATIONS, read_json(folder / f"{CONVERSATIONS}.json")),
        LabelledSet(MESSAGES, read_json(folder / f"{MESSAGES}.json"), by_message=True),
        LabelledSet(REAL, label_real_sessions(read_json(folder / _REAL_TEXT)["sessions"], labels), by_message=True),
    ]


def read_json(path: Path) -> Any:
    """Return the content of a file of shared data; raise InvalidInput if it is not there."""
    if not path.is_file():
        raise InvalidInput(
            f"There is no {path.name} in {path.parent}.",
            hint="This benchmark needs the shared data: name their folder with --data.",
        )
    return json.loads(path.read_text("utf-8"))


def label_user(user: WrittenUser, labels: Mapping[str, dict[str, Any]]) -> User:
    """Return a user of `training/reader` with the labels of their messages. Only messages of users have labels."""
    conversations = []
    for place, conversation in enumerate(user.conversations):
        messages = [
            _label_message(
                message.role,
                message.text,
                labels.get(f"{user.name}/{place}#{number}"),
                _ASSISTANT if message.role == _ASSISTANT else UNLABELLED,
            )
            for number, message in enumerate(conversation.messages)
        ]
        conversations.append({"at": conversation.at, "messages": messages})
    return {"user": user.name, "setting": user.setting, "voice": user.voice, "conversations": conversations}


def label_real_sessions(sessions: Mapping[str, Any], labels: Mapping[str, dict[str, Any]]) -> list[User]:
    """Return the sessions with labels of the test split, each as a user with one conversation.

    A few sessions occur twice under two names. One that training has seen under the other name is left out.
    """
    ours = {name: label for name, label in labels.items() if label["file"] in TEST_GROUPS}
    seen = {_find_text(sessions, name) for name in labels.keys() - ours.keys()} - {None}
    users = []
    for name in dict.fromkeys(each.rpartition("#")[0] for each in ours):
        session = sessions[name]
        if not seen.isdisjoint(turn["text"] for turn in session["turns"]):
            continue
        messages = [
            _label_message(turn["speaker"], turn["text"], ours.get(f"{name}#{number}"), UNLABELLED)
            for number, turn in enumerate(session["turns"])
        ]
        at = datetime.strptime(session["date"], _REAL_DATE).replace(tzinfo=UTC).isoformat()
        users.append({"user": name, "setting": "real", "conversations": [{"at": at, "messages": messages}]})
    return users


def _find_text(sessions: Mapping[str, Any], message: str) -> str | None:
    """Return the text of a message by its id, such as "answer_1#4"; None if it is of no session."""
    name, _, number = message.rpartition("#")
    text: str | None = sessions[name]["turns"][int(number)]["text"] if name in sessions else None
    return text


def _label_message(role: str, text: str, label: Mapping[str, Any] | None, otherwise: str) -> dict[str, Any]:
    """Return a message with its label, or with the reason that stands where there is none."""
    if label is None:
        return {"role": role, "text": text, "facts": [], "nothing": otherwise}
    return {"role": role, "text": text, "facts": label["facts"], "nothing": label.get("nothing")}


def find_setting(user: Mapping[str, Any]) -> str:
    """Return the setting of a user without its details, so that like settings are one."""
    setting: str = user.get("setting", "")
    if "coding" in setting:
        return "coding"
    return min((setting.partition(mark)[0] for mark in (" (", ",", ":")), key=len)


def keep_labelled(user: Mapping[str, Any], system: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is remembered of a user without the atoms that cite nothing but unlabelled messages."""
    unlabelled = {
        f"{place}#{number}"
        for place, conversation in enumerate(user["conversations"])
        for number, message in enumerate(conversation["messages"])
        if message["nothing"] == UNLABELLED
    }
    atoms = [each for each in system["atoms"] if not each["sources"] or not unlabelled.issuperset(each["sources"])]
    return {**system, "atoms": atoms}


def count_by_reason(users: Sequence[User], system: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return how many messages without a fact have an atom all the same, by the reason why there is none.

    Questions, and small talk such as thanks and acknowledgements, are two of the reasons.
    """
    found: dict[str, list[bool]] = {}
    for user in users:
        cited = {source for atom in system[user["user"]]["atoms"] for source in atom["sources"]}
        for place, conversation in enumerate(user["conversations"]):
            for number, message in enumerate(conversation["messages"]):
                reason = message["nothing"]
                if not message["facts"] and reason not in (None, UNLABELLED):
                    found.setdefault(reason, []).append(f"{place}#{number}" in cited)
    return {
        reason: {"messages": len(each), "with an atom": sum(each), "share": round(sum(each) / len(each), 3)}
        for reason, each in sorted(found.items())
    }


def count_labelled(users: Sequence[User]) -> int:
    """Return the number of messages that are labelled."""
    return sum(
        message["nothing"] != UNLABELLED
        for user in users
        for conversation in user["conversations"]
        for message in conversation["messages"]
    )
