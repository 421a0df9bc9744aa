"""A mixed workload, one operation at a time: talk, atoms, blocks, tools, events, jobs, extraction, erasure.

are taken.
The expected state comes from the arguments and not from the answers of Longmind, which provide the ids alone.
are taken.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import longmind
from prove.world import ADA, BOB, World, context_of

LOOK = "look"
"""A kind of job that returns its payload."""
_MOST_STORED = 15
"""Entries that an agent stores; a session has a limit."""
_PLACES = ("Graz", "Turin", "Oslo", "Porto", "Lviv", "Cork")


@dataclass
class CompletedOperation:
    """An operation that was done, and what must be true from now on."""

    name: str
    world: World = field(default_factory=dict)
    at_once: bool = True
    """True if it is one transaction, so that no state in between may ever be seen."""


class MixedWork:
    """Random operations of two users on one engine; it knows its data, so that it can continue on another engine."""

    def __init__(self, engine: longmind.Engine, dice: random.Random, *, length: int = 40) -> None:
        self._dice = dice
        self._length = length
        self._number = 0
        self.go_on(engine)
        self._space = self.ada.memory.create_memory_space("daily")
        # is written to the other is then known beforehand.
        # Facts from closed conversations go to a separate space, so that the content of the other one is predictable.
        # is written to the other is then known beforehand.
        learnt = self.ada.memory.create_memory_space("learnt")
        self.ada.memory.create_binding({"namespace": "chat", "userId": ADA}, [learnt.id])
        self._talk: list[list[str]] = []
        self._conversation: str | None = None
        self._title = ""
        self._atoms: list[tuple[str, str]] = []
        """The ids of the valid atoms, each with its text."""
        self._jobs: list[str] = []
        self._stored = 0

    def go_on(self, engine: longmind.Engine) -> None:
        """Work with another engine on the same store from now on."""
        self.engine, self.ada = engine, context_of(engine, ADA)

    def doubt(self) -> None:
        """Leave alone everything that the last operation may have changed."""
        self._conversation, self._atoms, self._jobs = None, [], []

    def do(self) -> CompletedOperation:
        """Carry out the next operation. When it fails, the earlier state still holds."""
        self._number += 1
        if self._conversation is None:
            return self._create()
        choices: list[tuple[Callable[[], CompletedOperation], int]] = [
            (self._append, 3),
            (self._turn, 4),
            (self._add_atom, 2),
            (self._supersede, 2),
            (self._write_block, 2),
            (self._store, 2),
            (self._record, 3),
            (self._record_many, 1),
            (self._enqueue, 1),
            (self._close, 1),
            (self._work, 1),
        ]
        operations, weights = zip(*choices, strict=True)
        chosen: Callable[[], CompletedOperation] = self._dice.choices(operations, weights)[0]
        return chosen()

    def erase(self) -> CompletedOperation:
        """Create data of the second user, and erase it."""
        bob = context_of(self.engine, BOB)
        made = bob.conversations.create_conversation("chat", title=self._text())
        bob.conversations.append_user_message(made.id, self._text())
        bob.events.record("visit", {"note": self._text()})
        bob.admin.delete_user_data(confirm=True)
        return CompletedOperation(
            "erase", {f"{BOB} conversation {made.id}": None, f"{BOB} conversations all": 0}, at_once=False
        )

    def _text(self) -> str:
        text = f"I moved to {self._dice.choice(_PLACES)} for work number {self._number}. "
        # Random digits, since a database would compress a repeated letter.
        return text + self._dice.randbytes(max(0, self._length - len(text)) // 2).hex()

    @property
    def _here(self) -> str:
        assert self._conversation is not None
        return self._conversation

    def _create(self) -> CompletedOperation:
        title = f"talk {self._number}"
        made = self.ada.conversations.create_conversation("chat", title=title)
        self._talk, self._conversation, self._title = [], made.id, title
        return CompletedOperation(
            "create", {f"{ADA} conversation {made.id}": [title, "open"], f"{ADA} messages {made.id}": []}
        )

    def _extend_talk(self, name: str, *said: list[str]) -> CompletedOperation:
        self._talk = [*self._talk, *said]
        return CompletedOperation(name, {f"{ADA} messages {self._here}": self._talk})

    def _append(self) -> CompletedOperation:
        text = self._text()
        self.ada.conversations.append_user_message(self._here, text, idempotency_key=f"key {self._number}")
        return self._extend_talk("append", ["user", text])

    def _turn(self) -> CompletedOperation:
        text = self._text()
        self.ada.conversations.append_turn(self._here, user_content=text, assistant={"content": f"to {text}"})
        return self._extend_talk("turn", ["user", text], ["assistant", f"to {text}"])

    def _add_atom(self) -> CompletedOperation:
        text = self._text()
        atom = self.ada.memory.add_atom(self._space.id, _fact(text))
        self._atoms.append((atom.id, text))
        return CompletedOperation("atom", {f"{ADA} atom {atom.id}": [text, "ACTIVE", False]})

    def _supersede(self) -> CompletedOperation:
        if not self._atoms:
            return self._add_atom()
        (id, before), text = self._atoms[0], self._text()
        new = self.ada.memory.supersede_atom(id, _fact(text))
        self._atoms = [*self._atoms[1:], (new.id, text)]
        world: World = {
            f"{ADA} atom {new.id}": [text, "ACTIVE", False],
            f"{ADA} atom {id}": [before, "ACTIVE", True],
        }
        return CompletedOperation("supersede", world)

    def _write_block(self) -> CompletedOperation:
        before = self.ada.blocks.get("core")
        content = self._text()
        self.ada.blocks.update("core", content, None if before is None else before.updated_at)
        return CompletedOperation("block", {f"{ADA} block core": content})

    def _store(self) -> CompletedOperation:
        if self._stored == _MOST_STORED:
            return self._record()
        self._stored += 1
        text = self._text()
        entry = self.ada.tools.memory_store("fact", text)
        return CompletedOperation("tool", {f"{ADA} entry {entry.id}": text})

    def _record(self) -> CompletedOperation:
        data = {"note": self._text()}
        event = self.ada.events.record("visit", data)
        return CompletedOperation("event", {f"{ADA} event {event.event_id}": data})

    def _record_many(self) -> CompletedOperation:
        all_data = [{"note": self._text()} for _ in range(3)]
        events = self.ada.events.record_many([{"kind": "visit", "data": data} for data in all_data])
        pairs = zip(events, all_data, strict=True)
        return CompletedOperation("events", {f"{ADA} event {event.event_id}": data for event, data in pairs})

    def _enqueue(self) -> CompletedOperation:
        job = self.ada.jobs.enqueue(LOOK, {"text": self._text()})
        self._jobs.append(job.id)
        return CompletedOperation("job", {f"{ADA} job {job.id}": "queued"})

    def _close(self) -> CompletedOperation:
        closed = self.ada.conversations.close_conversation(self._here)
        self._conversation = None
        return CompletedOperation("close", {f"{ADA} conversation {closed.id}": [self._title, "closed"]})

    def _work(self) -> CompletedOperation:
        self.engine.register_job(LOOK, lambda run: {"seen": run.job.payload["text"]})
        self.engine.work()
        # A job whose end could not be written is still leased, and runs again when the lease is over.
        left = [id for id in self._jobs if (job := self.ada.jobs.get_job(id)) and job.status == "running"]
        done = {f"{ADA} job {id}": "succeeded" for id in self._jobs if id not in left}
        self._jobs = left
        return CompletedOperation("work", done, at_once=False)


def _fact(text: str) -> dict[str, Any]:
    return {"text": text, "category": {"name": "notes", "kind": "FACT"}}
