"""The loop on which calls wait for vendors, when it is closed while a call begins."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from longmind.errors import EngineClosed
from longmind.providers.background_loop import BackgroundLoop


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


def test_a_call_that_begins_while_the_loop_is_closed_comes_to_an_end(
    loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.submit(asyncio.sleep(0)).result(60)
    closing = threading.Thread(target=loop.close)
    begin = asyncio.run_coroutine_threadsafe

    def begin_late(coroutine: Any, running: asyncio.AbstractEventLoop) -> Future[Any]:
        monkeypatch.undo()
        closing.start()
        # A loop that lets itself be closed here is closed by then.
        closing.join(0.2)
        return begin(coroutine, running)

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", begin_late)
    call = loop.submit(wait_for_ever())
    with pytest.raises(CancelledError):
        call.result(60)
    closing.join(60)
    assert not closing.is_alive()
    with pytest.raises(EngineClosed):
        loop.submit(asyncio.sleep(0))
