"""Work for the workers, with distinguishable effects."""

from __future__ import annotations

from dataclasses import dataclass, field

import longmind
from longmind.events.distill_job import LONG_TERM
from longmind.recall.embedding_jobs import embed_kind, reindex_kind
from longmind.store.triggers.rolling_summary import SUMMARISE
from prove.machines.accounts import Accounts
from prove.machines.hash_embedder import HashEmbedder
from prove.machines.slow_job_marks import MARKS

TURNS = 3


@dataclass
class Backlog:
    """One user with a space, and jobs of every kind that are queued as the attack goes on."""

    engine: longmind.Engine
    user: str = "ada"
    accounts: Accounts = field(default_factory=Accounts)
    jobs: int = 0

    def __post_init__(self) -> None:
        self.ctx = self.engine.context(tenant_id="acme", app_id="prove", user_id=self.user)
        self.space = self.ctx.memory.create_memory_space("daily")
        self.ctx.memory.create_binding({"namespace": "chat", "userId": self.user}, [self.space.id])
        self.remarks = self.ctx.conversations.create_conversation("remarks")

    def queue_remarks(self, count: int, kind: str = "remark") -> None:
        for _ in range(count):
            job = self.ctx.jobs.enqueue(kind, {"conversation": self.remarks.id})
            self.accounts.acknowledge(f"remark {job.id}")
            self.jobs += 1

    def queue_conversations(self, count: int) -> None:
        """Queue closed conversations: each has three jobs, for extraction, summary and vectors."""
        for _ in range(count):
            conversation = self.ctx.conversations.create_conversation("chat")
            texts = []
            for turn in range(TURNS):
                fact = f"Guest {conversation.id[-12:]} took room {turn}."
                self.ctx.conversations.append_turn(conversation.id, user_content=fact, assistant={"content": "Noted."})
                self.accounts.acknowledge(f"atom {fact}")
                texts += [fact, "Noted."]
            self.ctx.conversations.close_conversation(conversation.id)
            self.accounts.acknowledge(f"summary {conversation.id}", "|".join(texts))
            self.ctx.jobs.enqueue(SUMMARISE, {"conversationId": conversation.id})
            self.ctx.jobs.enqueue(reindex_kind(HashEmbedder.model), {"spaceId": self.space.id})
            self.jobs += 3

    def queue_long(self, kind: str) -> None:
        """Queue one job that takes longer than a lease, of the proof's own kinds or of the engine's."""
        if kind in MARKS:
            getattr(self, f"_queue_{kind.replace(' ', '_')}")(self.jobs)
            self.jobs += 1
        else:
            self.queue_remarks(1, kind)

    def _queue_extraction(self, number: int) -> None:
        fact = f"Guest {number} {MARKS['extraction']}."
        conversation = self.ctx.conversations.create_conversation("chat")
        self.ctx.conversations.append_user_message(conversation.id, fact)
        self.accounts.acknowledge(f"atom {fact}")
        self.ctx.conversations.close_conversation(conversation.id)

    def _queue_summary(self, number: int) -> None:
        text = f"Matter {number} was {MARKS['summary']}."
        conversation = self.ctx.conversations.create_conversation("minutes")
        self.ctx.conversations.append_turn(conversation.id, user_content=text, assistant={"content": "Noted."})
        self.accounts.acknowledge(f"summary {conversation.id}", f"{text}|Noted.")
        self.ctx.jobs.enqueue(SUMMARISE, {"conversationId": conversation.id})

    def _queue_sleep(self, number: int) -> None:
        """Queue sleep-time memory for a new agent, whose blocks hold nothing else."""
        agent = f"agent-{number}"
        ctx = self.engine.context(tenant_id="acme", app_id="prove", user_id=self.user, agent_id=agent)
        ctx.blocks.set_sleep_time(True, agent_id=agent)
        conversation = ctx.conversations.create_conversation("night")
        lines = [f"Visitor {number} {does} {MARKS['sleep']}." for does in ("reads", "plays the organ", "feeds geese")]
        for line in lines:
            ctx.conversations.append_user_message(conversation.id, line)
        ctx.conversations.close_conversation(conversation.id)
        self.accounts.acknowledge(f"block {agent}", "\n".join(lines))

    def _queue_distillation(self, number: int) -> None:
        place = self.ctx.events.at(bucket=f"desk-{number}")
        texts = [f"Letter {number}.{letter} was {MARKS['distillation']}." for letter in range(TURNS)]
        for text in texts:
            place.record("note", text)
        self.accounts.acknowledge(f"distillate {place.timeline()}", "|".join(f"[note] {text}" for text in texts))
        self.ctx.jobs.enqueue(LONG_TERM, {"scope_id": place.scope_id(), "use_llm": True})

    def _queue_vectors(self, number: int) -> None:
        space = self.ctx.memory.create_memory_space(f"for vectors {number}")
        facts = [f"Fact {number}.{fact} {MARKS['vectors']}." for fact in range(TURNS)]
        category = {"name": "notes", "kind": "FACT"}
        self.ctx.memory.add_atoms(space.id, [{"text": fact, "category": category} for fact in facts])
        for fact in facts:
            self.accounts.acknowledge(f"atom {fact}")
        self.accounts.acknowledge(f"vectors {space.id}", str(TURNS))
        self.ctx.jobs.enqueue(reindex_kind(HashEmbedder.model), {"spaceId": space.id})

    def _queue_event_vectors(self, number: int) -> None:
        place = self.ctx.events.at(bucket=f"log-{number}")
        for event in range(TURNS):
            place.record("note", f"Event {number}.{event} {MARKS['event vectors']}.")
        self.accounts.acknowledge(f"event vectors {place.timeline()}", str(TURNS))
        self.ctx.jobs.enqueue(embed_kind(HashEmbedder.model), {"timelineId": place.timeline()})
