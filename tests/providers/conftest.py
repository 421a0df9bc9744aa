"""The loop that waits for a vendor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longmind.providers.background_loop import BackgroundLoop


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()
