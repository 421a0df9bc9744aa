"""Fixtures: an engine whose extractor turns every sentence into a fact, and shorthand for conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import longmind
from tests.extraction.scripted_extractor import SentenceExtractor

Talk = Callable[..., longmind.Conversation]


@pytest.fixture
def extractor() -> SentenceExtractor:
    return SentenceExtractor()


@pytest.fixture
def engine(database_url: str, extractor: SentenceExtractor) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, extractor=extractor, embedder="none", job_retry_seconds=0.001) as engine:
        yield engine


@pytest.fixture
def ctx(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada")


@pytest.fixture
def admin(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="root", capabilities={"admin"})


@pytest.fixture
def space(ctx: longmind.Context) -> longmind.MemorySpace:
    return ctx.memory.create_memory_space("daily")


def talk(context: longmind.Context, *said: str, namespace: str = "chat", close: bool = True) -> longmind.Conversation:
    """Append messages of the user, each with an empty answer, to a new conversation, and close it."""
    conversation = context.conversations.create_conversation(namespace)
    for text in said:
        context.conversations.append_turn(conversation.id, user_content=text, assistant={"content": ""})
    return context.conversations.close_conversation(conversation.id) if close else conversation


def texts(context: longmind.Context, space_id: str, **filters: object) -> list[str]:
    """Return the texts of all atoms, the oldest first."""
    atoms = context.memory.list_atoms(space_id, limit=1000, **filters)  # type: ignore[arg-type]
    return [atom.text for atom in reversed(atoms)]


def current_texts(context: longmind.Context, space_id: str) -> list[str]:
    """Return the texts of the atoms that were not superseded, the oldest first."""
    atoms = context.memory.list_atoms(space_id, limit=1000)
    return [atom.text for atom in reversed(atoms) if atom.superseded_by is None]
