"""Memory lives by a clock that the test moves, and its vectors come from an embedder without a model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, clock=clock, embedder=WordsEmbedder()) as engine:
        yield engine


@pytest.fixture
def memory(ctx: longmind.Context) -> Memory:
    return ctx.memory


@pytest.fixture
def space(memory: Memory) -> longmind.MemorySpace:
    return memory.create_memory_space("personal")
