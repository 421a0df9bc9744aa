"""Conversations of a user that a binding leads into a space, with an embedder that counts what it is given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from longmind.recall.passage_indexes import PassageIndexes
from tests.passages.pieces import CountingEmbedder


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def engine(database_url: str, embedder: CountingEmbedder) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=embedder) as engine:
        yield engine


@pytest.fixture
def space_id(ctx: longmind.Context) -> str:
    """A space that has the passages of all conversations in the namespace `chat`."""
    space = ctx.memory.create_memory_space("personal")
    ctx.memory.create_binding(conversation_scope={"user_id": "ada", "namespace": "chat"}, memory_space_ids=[space.id])
    return space.id


@pytest.fixture
def passages(engine: longmind.Engine) -> PassageIndexes:
    return engine._parts.passages
