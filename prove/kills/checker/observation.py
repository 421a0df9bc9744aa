"""The data of one user, read through the public API of a fresh engine, for the checker to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import longmind
from prove.kills.journal import TOKEN, token_of
from prove.kills.steps.step import DAILY
from prove.kills.transports import APP, TENANT

EVERYTHING = 10_000


@dataclass(frozen=True)
class Mark:
    """The identity of a text: the number of its operation, and its part of it."""

    number: int
    part: str


def mark_of(text: str | None) -> Mark | None:
    """Return the mark at the beginning of a text; None if the workload did not write it."""
    words = (text or "").split()
    found = TOKEN.fullmatch(words[0]) if words else None
    return None if found is None else Mark(int(found[2]), words[1] if len(words) > 1 else "")


class Observation:
    """The data of one user; what an export lacks is read when it is needed."""

    def __init__(self, engine: longmind.Engine, words_alone: longmind.Engine, user: str) -> None:
        self.engine = engine
        self._words_alone = words_alone
        self.user = user
        self.context = self.open_session("checker")
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

    def open_session(self, session: str) -> longmind.Context:
        return self.context_of(self.engine, session)

    def context_of(self, engine: longmind.Engine, session: str = "checker") -> longmind.Context:
        return engine.context(
            tenant_id=TENANT, app_id=APP, user_id=self.user, session_id=session, capabilities={"admin"}
        )

    def token(self, number: int) -> str:
        return token_of(self.user, number)

    @property
    def daily(self) -> str | None:
        return next((each.id for each in self.spaces if each.name == DAILY), None)

    def records(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table that belong to the user."""
        records = self.export["records"].get(table, {"columns": [], "rows": []})
        return [dict(zip(records["columns"], row, strict=True)) for row in records["rows"]]

    def recall_ids(self, space_id: str, number: int) -> dict[str, set[str]]:
        """Return the ids that recall finds for an operation's token, in both ways, of texts that begin with it."""
        return {
            way: {id for id, text in found.items() if (mark := mark_of(text)) and mark.number == number}
            for way, found in self.recall_texts(space_id, self.token(number)).items()
        }

    def recall_texts(self, space_id: str, query: str) -> dict[str, dict[str, str]]:
        """Return the texts that recall finds, in both ways, by their ids."""
        return {
            way: {
                hit.atom.id: hit.atom.text
                for hit in self.context_of(engine).memory.recall_by_topic(space_id, query, limit=50).hits
            }
            for way, engine in (("recall", self.engine), ("recall by words alone", self._words_alone))
        }
