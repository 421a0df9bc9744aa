"""`run_turn` for asynchronous programs.

The turn runs in a thread; its callbacks run on the caller's event loop. Each turn has a Cancel of its own, linked to
the caller's, so that cancelling the waiting task ends the turn and no callback outlives it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

from longmind.agents import Agents
from longmind.conversations.service import Conversations
from longmind.conversations.validation import validate_cancel
from longmind.errors import EngineClosed
from longmind.models.turn import TurnResult
from longmind.providers.language_model import Cancel
from longmind.runtime.thread_pool import await_foreign

_CHECK_SECONDS = 0.5


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
    with _link_cancel(validate_cancel(cancel)) as own:
        if callable(on_text):
            on_text = _call_listener_on_loop(on_text, loop, own)
        if callable(tool_handler):
            tool_handler = _call_handler_on_loop(tool_handler, loop, own)
        # In a separate thread: a handler may await other operations, which need the engine's threads.
        result: TurnResult = await self._hop.run_separately(
            self._original.run_turn, *args, tool_handler=tool_handler, on_text=on_text, cancel=own, **given
        )
    return result


@functools.wraps(Agents.invoke)
async def invoke_agent(
    self: Any, *args: Any, on_text: Any = None, cancel: Cancel | None = None, **given: Any
) -> TurnResult:
    loop = asyncio.get_running_loop()
    with _link_cancel(validate_cancel(cancel)) as own:
        if callable(on_text):
            on_text = _call_listener_on_loop(on_text, loop, own)
        # In a separate thread, like a turn: registered tools may await other operations.
        result: TurnResult = await self._hop.run_separately(
            self._original.invoke, *args, on_text=on_text, cancel=own, **given
        )
    return result


def _call_handler_on_loop(
    handler: Callable[..., Any], loop: asyncio.AbstractEventLoop, cancel: Cancel
) -> Callable[..., Any]:
    """Wrap a tool handler: a plain function runs in the turn's thread, a coroutine on the caller's loop."""

    def handle(name: str, arguments: dict[str, Any]) -> Any:
        # A plain function may block this thread; a coroutine belongs to the loop.
        outcome = handler(name, arguments)
        return _run_on_loop(loop, await_foreign(outcome), cancel) if inspect.isawaitable(outcome) else outcome

    return handle


def _call_listener_on_loop(
    on_text: Callable[[str], Any], loop: asyncio.AbstractEventLoop, cancel: Cancel
) -> Callable[[str], None]:
    """Wrap `on_text` so that it runs on the caller's loop, whether it is a coroutine or not."""

    async def listen(text: str) -> None:
        outcome = on_text(text)
        if inspect.isawaitable(outcome):
            await outcome

    return lambda text: _run_on_loop(loop, await_foreign(listen(text)), cancel)


def _run_on_loop(loop: asyncio.AbstractEventLoop, coroutine: Any, cancel: Cancel) -> Any:
    """Run a coroutine on the caller's loop and return its result.

    The loop may end without notice, so it is checked twice a second; raises EngineClosed if it did.
    """
    try:
        call = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:
        coroutine.close()
        raise
    with cancel.covering(call):
        while not wait([call], _CHECK_SECONDS).done:
            if loop.is_closed():
                raise EngineClosed("The event loop on which the turn began has ended.")
        return cancel.result_of(call)


@contextmanager
def _link_cancel(given: Cancel) -> Iterator[Cancel]:
    """Yield a Cancel for this turn alone, which the caller's Cancel ends too.

    It is used in any case at the end, also if that is the end of the task that waits for the turn.
    """
    own = Cancel()
    link: Future[None] = Future()
    link.add_done_callback(lambda _: own.cancel())
    with given.covering(link):
        yield own
