"""Talks with the engine, and keeps what the reference has to know of what was said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any

import longmind
from longmind.clock import to_iso, to_micros
from longmind.language.words import READER_WORDS, STOP_WORDS, stem_of, words_of
from longmind.models.content import extract_text
from longmind.models.message import Message
from longmind.models.recall import WEAK_BELOW, Hit, Passage, Recall
from longmind.providers.embedder import Embedder
from longmind.recall.repetition import MOSTLY
from tests.clock import SettableClock
from tests.passages.reference import Asked, Expected, Ledger, Said

NEVER = "nothing of it is embedded here"
FACT = {"category": {"name": "notes", "kind": "FACT"}}
_apps = count(1)


class World:
    """One user of an app of its own, whose conversations lead into two spaces, on several engines."""

    def __init__(self, engines: Sequence[longmind.Engine], clock: SettableClock, embedder: Embedder | None) -> None:
        self.engines = list(engines)
        self.clock = clock
        self.app_id = f"app-{next(_apps)}"
        self.ledger = Ledger(embedder)
        self.spaces = [self.context(0).memory.create_memory_space(name).id for name in ("personal", "work")]
        self.conversations: list[str] = []
        self.namespace_of: dict[str, str] = {}
        self.questions: list[Message] = []
        self.bindings: dict[tuple[str, int], str] = {}
        self.paused: set[tuple[str, int]] = set()

    @property
    def messages(self) -> list[Said]:
        return self.ledger.messages

    def context(self, engine: int) -> longmind.Context:
        return self.engines[engine].context(tenant_id="acme", app_id=self.app_id, user_id="ada")

    def find_namespaces(self, space: int) -> set[str]:
        """The namespaces that lead into a space."""
        return {name for name, bound in self.bindings.keys() - self.paused if bound == space}

    # --- what leads where ---

    def bind(self, engine: int, namespace: str, space: int) -> None:
        memory, key = self.context(engine).memory, (namespace, space)
        if key not in self.bindings:
            scope = {"user_id": "ada", "namespace": namespace}
            self.bindings[key] = memory.create_binding(scope, [self.spaces[space]]).id
        elif key in self.paused:
            memory.update_binding(self.bindings[key], enabled=True)
            self.paused.discard(key)
        elif len(self.bindings) % 2:
            memory.update_binding(self.bindings[key], enabled=False)
            self.paused.add(key)
        else:
            memory.delete_binding(self.bindings.pop(key))

    def start(self, engine: int, namespace: str) -> None:
        made = self.context(engine).conversations.create_conversation(namespace)
        self.conversations.append(made.id)
        self.namespace_of[made.id] = namespace

    # --- what is said ---

    def know(self, message: Message) -> None:
        """Take in a message that was appended, also by somebody else."""
        if message.replayed:
            return
        self.messages.append(to_said(message, self.namespace_of[message.conversation_id]))

    def ask(self, engine: int, which: int, text: str, visibility: Any = "user", days_ago: int = 0) -> None:
        """A message of the user alone, with a key by which it can come again."""
        chat = self.context(engine).conversations
        message = chat.append_user_message(
            self.conversations[which % len(self.conversations)],
            text,
            visibility=visibility,
            idempotency_key=f"key-{len(self.messages)}",
            created_at=self.say_when(days_ago),
        )
        self.questions.append(message)
        self.know(message)

    def answer(self, engine: int, which: int, text: str, visibility: Any = "user", tool: str | None = None) -> None:
        """An answer of the assistant, which a tool may have helped with."""
        chat = self.context(engine).conversations
        conversation_id = self.conversations[which % len(self.conversations)]
        if tool is not None:
            call = [{"type": "tool_use", "id": "call", "name": "look", "arguments": {}}]
            self.know(chat.append_assistant_turn(conversation_id, call))
            self.know(chat.append_tool_result(conversation_id, "call", tool))
        self.know(chat.append_assistant_turn(conversation_id, text, visibility=visibility))

    def turn(self, engine: int, which: int, text: str, answer: str, days_ago: int = 0) -> None:
        turn = self.context(engine).conversations.append_turn(
            self.conversations[which % len(self.conversations)],
            user_content=text,
            assistant={"content": answer},
            idempotency_key=f"key-{len(self.messages)}",
            created_at=self.say_when(days_ago),
        )
        self.questions.append(turn.user_message)
        self.know(turn.user_message)
        self.know(turn.assistant_message)

    def ask_again(self, engine: int, which: int, answer: str) -> None:
        """A message of the user comes once more, and gets another answer."""
        if self.questions:
            first = self.questions[which % len(self.questions)]
            if first.visibility == "user":
                turn = self.context(engine).conversations.append_turn(
                    first.conversation_id,
                    user_content=first.text,
                    assistant={"content": answer},
                    idempotency_key=first.idempotency_key,
                )
                self.know(turn.assistant_message)

    def say_when(self, days_ago: int) -> str | None:
        return to_iso(self.clock.now - days_ago * 86_400_000_000) if days_ago else None

    def forget(self, engine: int, chosen: Sequence[int], rejected: bool) -> None:
        """Learn a fact from some messages, and forget it."""
        memory = self.context(engine).memory
        cited = [self.messages[each % len(self.messages)] for each in chosen] if self.messages else []
        new = {"text": "Something else altogether.", **FACT, "source_message_ids": [said.id for said in cited]}
        atom = memory.add_atom(self.spaces[0], new)
        if rejected:
            memory.archive_atom(atom.id, rejected=True)
        else:
            memory.delete_atom(atom.id)
        for said in cited:
            said.forgotten = True

    def learn(self, engine: int, which: int) -> None:
        """A fact that says what a message says."""
        if self.messages:
            said = self.messages[which % len(self.messages)]
            new = {"text": said.text[:200] or "Nothing.", **FACT, "source_message_ids": [said.id]}
            self.context(engine).memory.add_atom(self.spaces[0], new)

    def work(self, engine: int) -> None:
        """Do the jobs, and see in what the embedder was given which messages have vectors now."""
        embedder = self.ledger.embedder
        given: list[str] = []
        if embedder is not None:
            given = embedder.given  # type: ignore[attr-defined]  # the embedders of these tests count
            given.clear()
        self.engines[engine].work()
        for said in self.messages:
            said.embedded = said.embedded or (bool(said.text) and any(text in said.text for text in given))

    def embed_all(self, engine: int) -> None:
        """Messages that were said before they were bound have no job until they are recalled."""
        self.engines[engine]._parts.passages.embed(self.context(engine).scope)
        bound = {name for name, _ in self.bindings.keys() - self.paused}
        for said in self.messages:
            said.embedded = said.embedded or "*" in bound or said.namespace in bound

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # --- what is found ---

    def check(self, engine: int, space: int, query: str, asked: Asked) -> None:
        """What an engine finds is what the reference finds."""
        found = self.recall(engine, space, query, asked)
        facts = self.recall(engine, space, query, asked, passages=False)
        hits = sum(hit.score >= (asked.min_score or 0.0) for hit in facts.hits)
        expected = self.ledger.find(query, self.find_namespaces(space), asked, self.clock.now, hits)
        told = [each for each in expected if not is_told(each, facts.hits)]
        assert_same(found.passages, self.ledger.cut(told, query, asked))

    def recall(self, engine: int, space: int, query: str, asked: Asked, passages: bool = True) -> Recall:
        given: dict[str, Any] = {name: value for name, value in vars(asked).items() if value is not None}
        given |= {name: to_iso(given[name]) for name in ("valid_at", "known_at") if name in given}
        if not passages:
            # Those that are left out of the answer stand for a passage too.
            given |= {"limit": self.ledger.find_limit(query, asked), "min_score": 0.0}
        return self.context(engine).memory.recall_by_topic(self.spaces[space], query, passages=passages, **given)


def to_said(message: Message, namespace: str) -> Said:
    return Said(
        id=message.id,
        conversation_id=message.conversation_id,
        namespace=namespace,
        sequence=message.sequence,
        role=message.role,
        text=extract_text(message.content),
        visibility=message.visibility,
        turn_id=message.turn_id,
        attempt=message.attempt,
        said_at=to_micros(message.created_at),
    )


def is_told(expected: Expected, hits: Sequence[Hit]) -> bool:
    """Whether facts that cite a message say all of it themselves."""
    citing = [hit.atom.text for hit in hits if expected.message.id in hit.atom.source_message_ids]
    own, others = _content(expected.text), {word for text in citing for word in _content(text)}
    return bool(citing) and len(own & others) >= MOSTLY * len(own)


def _content(text: str) -> set[str]:
    return {stem_of(word) for word in words_of(text) if word not in STOP_WORDS and word not in READER_WORDS}


def is_same(found: Sequence[Passage], expected: Sequence[Expected]) -> bool:
    try:
        assert_same(found, expected)
    except AssertionError:
        return False
    return True


def assert_same(found: Sequence[Passage], expected: Sequence[Expected]) -> None:
    """The same passages in the same order with the same scores; near equals may stand in either order."""
    shown = [(passage.text, passage.score) for passage in found]
    assert len(found) == len(expected), (shown, [(each.text, each.score) for each in expected])
    known = {each.message.id: each for each in expected}
    for passage, place in zip(found, expected, strict=True):
        (message,) = passage.messages
        if message.id not in known:
            # The last ones may be near equals of those that did not fit.
            assert is_near(passage.score, expected[-1].score), (shown, [(each.text, each.score) for each in expected])
            continue
        mine = known[message.id]
        assert is_near(passage.score, mine.score), (message.text, passage.score, mine.score)
        assert mine is place or is_near(mine.score, place.score), (message.text, place.text)
        said = mine.message
        assert (message.text, message.role, message.sequence) == (mine.text, said.role, said.sequence)
        assert passage.conversation_id == said.conversation_id
        assert to_micros(message.said_at) == to_micros(passage.said_at) == said.said_at
        assert passage.weak == (passage.score < WEAK_BELOW)


def is_near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-12)
