"""`run_turn` for asynchronous programs: it waits for a model, and calls its caller back on the caller's own loop."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

from longmind.conversations.service import Conversations
from longmind.conversations.validation import validate_cancel
from longmind.errors import EngineClosed
from longmind.models.turn import TurnResult
from longmind.providers.language_model import Cancel
from longmind.runtime.thread_pool import await_foreign

_LOOK_SECONDS = 0.5


@functools.wraps(Conversations.run_turn)
async def run_turn(
    self: Any,
    *args: Any,
    tool_handler: Any = None,
    on_text: Any = None,
    cancel: Cancel | None = None,
    **given: Any,
) -> TurnResult:
    loop = asyncio.get_running_loop()
    with _own(validate_cancel(cancel)) as own:
        if callable(on_text):
            on_text = _heard(on_text, loop, own)
        if callable(tool_handler):
            tool_handler = _handled(tool_handler, loop, own)
        # In a thread of its own: a handler may await other operations, which need the threads of the engine.
        result: TurnResult = await self._hop.run_separately(
            self._original.run_turn, *args, tool_handler=tool_handler, on_text=on_text, cancel=own, **given
        )
    return result


def _handled(handler: Callable[..., Any], loop: asyncio.AbstractEventLoop, cancel: Cancel) -> Callable[..., Any]:
    def handle(name: str, arguments: dict[str, Any]) -> Any:
        # A plain function may take its time in this thread; a coroutine belongs to the loop.
        outcome = handler(name, arguments)
        return _on(loop, await_foreign(outcome), cancel) if inspect.isawaitable(outcome) else outcome

    return handle


def _heard(on_text: Callable[[str], Any], loop: asyncio.AbstractEventLoop, cancel: Cancel) -> Callable[[str], None]:
    async def hear(text: str) -> None:
        heard = on_text(text)
        if inspect.isawaitable(heard):
            await heard

    return lambda text: _on(loop, await_foreign(hear(text)), cancel)


def _on(loop: asyncio.AbstractEventLoop, coroutine: Any, cancel: Cancel) -> Any:
    """What a coroutine gives on the caller's loop. That may end without a word, and nothing is to wait for it then."""
    try:
        call = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:
        coroutine.close()
        raise
    with cancel.covering(call):
        while not wait([call], _LOOK_SECONDS).done:
            if loop.is_closed():
                raise EngineClosed("The event loop that the turn was begun on has ended.")
        return cancel.result_of(call)


@contextmanager
def _own(given: Cancel) -> Iterator[Cancel]:
    """A Cancel of this turn alone, which heeds the one that is given: that may be for many turns.

    It is used in any case at the end, also when that is the end of the task that waits for the turn.
    """
    own = Cancel()
    link: Future[None] = Future()
    link.add_done_callback(lambda _: own.cancel())
    with given.covering(link):
        yield own
