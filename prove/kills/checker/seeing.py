"""What is there of a user, read through the public API of a fresh engine: all that the checker compares with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import recollect
from prove.kills.journal import TOKEN
from prove.kills.reaching import APP, TENANT
from prove.kills.steps.step import DAILY
from prove.kills.workload import session_of

EVERYTHING = 10_000


@dataclass(frozen=True)
class Mark:
    """By what a thing is known again: the number of its operation, and which part of it this is."""

    number: int
    part: str


def mark_of(text: str | None) -> Mark | None:
    """What a text begins with, if it is one of the workload's."""
    words = (text or "").split()
    found = TOKEN.fullmatch(words[0]) if words else None
    return None if found is None else Mark(int(found[2]), words[1] if len(words) > 1 else "")


def numbers_in(user: str, told: str) -> set[int]:
    """The numbers of all operations of a user that a text tells of."""
    return {int(number) for whose, number in TOKEN.findall(told) if whose == user}


class Seen:
    """One user. What is not part of the export is asked for when it is needed."""

    def __init__(self, engine: recollect.Recollect, user: str) -> None:
        self.engine = engine
        self.user = user
        self.context = self.in_session("checker")
        self.export: dict[str, Any] = self.context.admin.export_user_data()
        self.conversations = self.context.conversations.list_conversations()
        self.messages = {
            each.id: self.context.conversations.get_raw_turns(each.id, limit=EVERYTHING, include_hidden=True)
            for each in self.conversations
        }
        self.spaces = self.context.memory.list_memory_spaces()
        self.atoms = {
            each.id: list(self.context.memory.list_atoms(each.id, status=None, limit=EVERYTHING))
            for each in self.spaces
        }

    def in_session(self, session: str) -> recollect.Context:
        return self.engine.context(
            tenant_id=TENANT, app_id=APP, user_id=self.user, session_id=session, capabilities={"admin"}
        )

    def in_session_of(self, number: int) -> recollect.Context:
        return self.in_session(session_of(number))

    @property
    def daily(self) -> str | None:
        return next((each.id for each in self.spaces if each.name == DAILY), None)

    def recalled(self, space_id: str, number: int) -> set[str]:
        """The ids of what recall gives for the token of an operation, and that begins with it."""
        hits = self.context.memory.recall_by_topic(space_id, f"{self.user}n{number}", limit=50).hits
        return {hit.atom.id for hit in hits if (mark := mark_of(hit.atom.text)) and mark.number == number}
