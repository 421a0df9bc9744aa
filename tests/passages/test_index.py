"""The index of a user's messages is what follows from the ledger, whoever has written it and however it was loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.recall.passage_indexes import PassageIndexes
from tests.passages.pieces import CountingEmbedder, Piece, pieces_of_index, pieces_of_ledger

_users = count(1)
NAMESPACES = ("chat", "notes")
LONG = " ".join(f"Word{number} of a sentence that goes on." for number in range(60))


@pytest.fixture
def other_engine(database_url: str, engine: longmind.Engine) -> Iterator[longmind.Engine]:
    """Stands for another process: it shares nothing with the first but the database."""
    with longmind.open(database_url, embedder=CountingEmbedder()) as other:
        yield other


class World:
    """One user, with two engines that write and read in turns."""

    def __init__(self, *engines: longmind.Engine) -> None:
        self.engines = engines
        self.user = f"user-{next(_users)}"
        self.space_id = self.context(0).memory.create_memory_space("personal").id
        self.conversations: list[str] = []
        self.questions: list[tuple[str, str]] = []
        self.bindings: dict[str, str] = {}
        self.covered: set[str] = set()
        self.messages: list[str] = []
        self.unquotable: set[str] = set()
        self.said = count(1)

    def context(self, engine: int) -> longmind.Context:
        return self.engines[engine].context(
            tenant_id="acme", app_id="support", user_id=self.user, capabilities={"admin"}
        )

    def passages(self, engine: int) -> PassageIndexes:
        return self.engines[engine]._parts.passages

    def bind(self, engine: int, namespace: str) -> None:
        if namespace not in self.bindings:
            scope = {"user_id": self.user, "namespace": namespace}
            made = self.context(engine).memory.create_binding(scope, [self.space_id])
            self.bindings[namespace] = made.id
            self.covered.add(namespace)

    def unbind(self, engine: int, namespace: str) -> None:
        if namespace in self.bindings:
            self.context(engine).memory.delete_binding(self.bindings.pop(namespace))
            self.covered.discard(namespace)

    def start(self, engine: int, namespace: str) -> None:
        self.conversations.append(self.context(engine).conversations.create_conversation(namespace).id)

    def say(self, engine: int, visibility: Any, text: str) -> None:
        if self.conversations:
            number = next(self.said)
            conversation_id = self.conversations[number % len(self.conversations)]
            turn = self.context(engine).conversations.append_turn(
                conversation_id,
                user_content=f"Anna: number {number} {text}",
                user_visibility=visibility,
                assistant={"content": f"answer {number}"},
                idempotency_key=f"key-{number}",
            )
            if visibility == "user":
                self.questions.append((conversation_id, f"Anna: number {number} {text}"))
            self.messages += [turn.user_message.id, turn.assistant_message.id]

    def answer_again(self, engine: int) -> None:
        if self.questions:
            number = len(self.questions)
            conversation_id, text = self.questions[-1]
            again = next(self.said)
            key = f"key-{text.split()[2]}"
            turn = self.context(engine).conversations.append_turn(
                conversation_id,
                user_content=text,
                assistant={"content": f"another answer {again}.{number}"},
                idempotency_key=key,
            )
            self.messages.append(turn.assistant_message.id)

    def forget(self, engine: int) -> None:
        if self.messages:
            memory = self.context(engine).memory
            message_id = self.messages[len(self.messages) // 2]
            atom = memory.add_atom(
                self.space_id,
                {
                    "text": f"Ada forgets {message_id}.",
                    "category": {"name": "notes", "kind": "FACT"},
                    "source_message_ids": [message_id],
                },
            )
            memory.delete_atom(atom.id)
            self.unquotable.add(message_id)

    def work(self, engine: int) -> None:
        self.engines[engine].work()

    def look(self, engine: int) -> None:
        found = pieces_of_index(self.passages(engine), self.context(engine).scope)
        assert found == self.expected()
        with self.passages(engine).open(self.context(engine).scope) as index:
            namespaces = self.passages(engine).find_namespaces(self.context(engine).scope, index, self.space_id)
            assert namespaces == self.covered
            assert np.count_nonzero(index.mask_namespaces(namespaces)) == len(found)

    def expected(self) -> list[Piece]:
        return pieces_of_ledger(self.context(0), self.covered, self.unquotable)

    def erase(self, engine: int) -> None:
        context = self.context(engine)
        context.admin.delete_user_data(confirm=True)
        self.space_id = context.memory.create_memory_space("personal").id
        self.conversations, self.questions, self.messages = [], [], []
        self.bindings, self.covered, self.unquotable = {}, set(), set()

    def move(self, engine: int) -> None:
        """Export everything, erase it, and import it again: every position in the ledger is another one."""
        context = self.context(engine)
        document = context.admin.export_user_data()
        context.admin.delete_user_data(confirm=True)
        context.admin.import_user_data(document)


ENGINE = st.integers(0, 1)
NAMESPACE = st.sampled_from(NAMESPACES)
VISIBILITY = st.sampled_from(["user", "internal", "hidden"])
STEPS = st.one_of(
    st.tuples(st.just("bind"), ENGINE, NAMESPACE),
    st.tuples(st.just("unbind"), ENGINE, NAMESPACE),
    st.tuples(st.just("start"), ENGINE, NAMESPACE),
    st.tuples(st.just("say"), ENGINE, VISIBILITY, st.sampled_from(["hello", LONG])),
    st.tuples(st.just("say"), ENGINE, st.just("user"), st.just("tea")),
    st.tuples(st.just("answer_again"), ENGINE),
    st.tuples(st.just("forget"), ENGINE),
    st.tuples(st.just("work"), ENGINE),
    st.tuples(st.just("look"), ENGINE),
    st.tuples(st.just("look"), ENGINE),
    st.tuples(st.just("erase"), ENGINE),
    st.tuples(st.just("move"), ENGINE),
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=5, max_size=40))
def test_an_index_is_what_follows_from_the_ledger(
    engine: longmind.Engine, other_engine: longmind.Engine, steps: list[tuple[Any, ...]]
) -> None:
    world = World(engine, other_engine)
    world.bind(0, "chat")
    world.start(0, "chat")
    for name, *arguments in steps:
        step: Callable[..., None] = getattr(world, name)
        step(*arguments)
    for which in (0, 1):
        world.look(which)
    check_cold_load(world)


def check_cold_load(world: World) -> None:
    """What was loaded from segments is what was there, vectors included."""
    scope = world.context(0).scope
    # Messages that were said before they were bound have no job until they are recalled.
    world.passages(0).embed(scope)
    hot = pieces_of_index(world.passages(0), scope)
    with world.passages(0).open(scope) as index:
        assert not index.lacks_vectors
        vectors = vectors_of(index)
    world.engines[0]._parts.indexes.forget(scope)
    with world.passages(0).open(scope) as index:
        assert vectors_of(index).keys() == vectors.keys()
        for place, vector in vectors_of(index).items():
            assert np.array_equal(vector, vectors[place])
    assert pieces_of_index(world.passages(0), scope) == hot


def vectors_of(index: Any) -> dict[tuple[int, int], Any]:
    if index._vectors is None:
        return {}
    return {
        (int(index.position.values[row]), int(index.begins.values[row])): index._vectors.values[row].copy()
        for row in index.present.values.nonzero()[0].tolist()
    }
