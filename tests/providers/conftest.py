"""A vendor on this machine, and the loop that waits for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.providers.loop import BackgroundLoop
from tests.providers.vendor import Answer, LanguageVendor, language_vendor_running


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[LanguageVendor]:
    with language_vendor_running() as vendor:
        for name in ("OPENAI", "OLLAMA"):
            monkeypatch.setenv(f"{name}_BASE_URL", f"{vendor.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", vendor.url)
        for name in ("OPENAI", "OLLAMA", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_API_KEY", "sk-test")
        vendor.answers = [Answer("Good day to you.")]
        yield vendor


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()
