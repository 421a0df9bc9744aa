"""Work for the workers, with effects that can be told apart, and a look at what came of it past the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg

import recollect
from prove.machines.accounts import Accounts
from prove.machines.words import Words
from recollect.recall.reindexing import reindex_kind
from recollect.store.summary_policy import SUMMARISE

TURNS = 3


@dataclass
class Backlog:
    """One user with a space, and jobs of every kind that are queued as the attack goes on."""

    engine: recollect.Recollect
    accounts: Accounts = field(default_factory=Accounts)
    jobs: int = 0

    def __post_init__(self) -> None:
        self.ctx = self.engine.context(tenant_id="acme", app_id="prove", user_id="ada")
        self.space = self.ctx.memory.create_memory_space("daily")
        self.ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [self.space.id])
        self.remarks = self.ctx.conversations.create_conversation("remarks")

    def queue_remarks(self, count: int, kind: str = "remark") -> None:
        for _ in range(count):
            job = self.ctx.jobs.enqueue(kind, {"conversation": self.remarks.id})
            self.accounts.acknowledge(f"remark {job.id}")
            self.jobs += 1

    def queue_conversations(self, count: int) -> None:
        """Each is extracted and summarised when it is closed: two jobs, and the vectors a third."""
        for _ in range(count):
            conversation = self.ctx.conversations.create_conversation("chat")
            said = []
            for turn in range(TURNS):
                fact = f"Guest {conversation.id[-12:]} took room {turn}."
                self.ctx.conversations.append_turn(conversation.id, user_content=fact, assistant={"content": "Noted."})
                self.accounts.acknowledge(f"atom {fact}")
                said += [fact, "Noted."]
            self.ctx.conversations.close_conversation(conversation.id)
            self.accounts.acknowledge(f"summary {conversation.id}", "|".join(said))
            self.ctx.jobs.enqueue(SUMMARISE, {"conversationId": conversation.id})
            self.ctx.jobs.enqueue(reindex_kind(Words.model), {"spaceId": self.space.id})
            self.jobs += 3


def happened(connection: psycopg.Connection[tuple[Any, ...]]) -> Iterator[str]:
    """The effects that are in the database, each as often as it is there."""
    for (content,) in connection.execute("SELECT content FROM recollect.events WHERE content LIKE '%\"job\\_%'"):
        yield f"remark {json.loads(content)[0]['text']}"
    for (text,) in connection.execute("SELECT text FROM recollect.atoms"):
        yield f"atom {text}"
    for (conversation,) in connection.execute(
        "SELECT id FROM recollect.conversations WHERE rolling_summary IS NOT NULL"
    ):
        yield f"summary {conversation}"


def summaries(connection: psycopg.Connection[tuple[Any, ...]]) -> dict[str, str]:
    rows = connection.execute(
        "SELECT id, rolling_summary FROM recollect.conversations WHERE rolling_summary IS NOT NULL"
    )
    return {f"summary {conversation}": text for conversation, text in rows}
