"""A memory of Ada on each engine, which searches by words alone and is read by rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind


@pytest.fixture
def memory(database_url: str) -> Iterator[longmind.Memory]:
    with longmind.Memory("ada", url=database_url, embedder=None) as memory:
        yield memory
