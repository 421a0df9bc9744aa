"""Language models behind an API, by the name of their vendor, through pydantic-ai."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from concurrent.futures import CancelledError
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from longmind.errors import (
    EngineClosed,
    ExtensionMissing,
    InvalidInput,
    LongmindError,
    ModelCancelled,
    ModelFailed,
    ModelTimedOut,
)
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.language_model import Cancel, ModelReply, ModelRequest, OnText
from longmind.runtime.backoff import compute_pause
from longmind.runtime.fork_safety import survive_forks

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

_log = logging.getLogger("longmind.models")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
"""Beyond it nothing is waited for here: the queue of jobs waits better than a thread."""
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})


class _Hearing:
    """The way of an answer's text to its caller's thread; None ends it."""

    def __init__(self) -> None:
        self.pieces: SimpleQueue[str | None] = SimpleQueue()
        self.begun = False

    def hear(self, text: str) -> None:
        self.begun = True
        self.pieces.put(text)


class VendorModel:
    """Any language model that pydantic-ai knows, such as `openai:gpt-5-mini`, with its key from the environment.

    A model object of pydantic-ai may be given instead of a name.
    """

    def __init__(
        self,
        chosen: str | Model[Any],
        *,
        timeout_seconds: float = 120.0,
        attempts: int = 4,
        loop: BackgroundLoop | None = None,
    ) -> None:
        self._chosen = chosen
        self._timeout = timeout_seconds
        self._attempts = attempts
        self._loop = loop or BackgroundLoop()
        self._model: Model[Any] | None = self._make()
        self._name = chosen if isinstance(chosen, str) else f"{self._model.system}:{self._model.model_name}"
        survive_forks(self)

    def renew_after_fork(self) -> None:
        # The connections belong to the loop of the parent. A model that was given is the host's to make anew.
        if isinstance(self._chosen, str):
            self._model = None

    @property
    def name(self) -> str:
        return self._name

    def ask(self, request: ModelRequest, *, on_text: OnText | None = None, cancel: Cancel | None = None) -> ModelReply:
        hearing = _Hearing()
        call = self._loop.submit(self._answer(request, None if on_text is None else hearing))
        call.add_done_callback(lambda _: hearing.pieces.put(None))
        try:
            # A caller that is interrupted, or fails with what it has heard, ends the call as well.
            with (cancel or Cancel()).covering(call):
                while (text := hearing.pieces.get()) is not None:
                    if on_text is not None:
                        on_text(text)
                return call.result()
        except CancelledError:
            if self._loop.closed:
                raise EngineClosed from None
            raise ModelCancelled(f"The call of {self._name!r} was cancelled.") from None

    async def _answer(self, request: ModelRequest, hearing: _Hearing | None) -> ModelReply:
        from longmind.providers.pydantic_ai.messages import to_reply

        begun = time.monotonic()
        for attempt in itertools.count(1):
            try:
                response = await self._attempt(request, hearing)
                return to_reply(response, self._name, request, time.monotonic() - begun, attempt)
            except Exception as error:
                pause = self._pause_after(error, attempt)
                # What the caller has heard cannot be taken back, and would be said twice.
                if pause is None or (hearing is not None and hearing.begun):
                    raise self._failure(error, attempt) from error
                # Only the kind of error: its words may quote what a user said.
                kind = type(error).__name__
                _log.warning("%s, attempt %d: %s; again in %.1f s", self._name, attempt, kind, pause)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _attempt(self, request: ModelRequest, hearing: _Hearing | None) -> ModelResponse:
        from pydantic_ai import direct

        from longmind.providers.pydantic_ai.messages import extract_text, to_messages, to_parameters, to_settings

        if self._model is None:
            self._model = self._make()
        messages, settings = to_messages(request), to_settings(request, self._model)
        parameters = to_parameters(request)
        async with asyncio.timeout(self._timeout) as deadline:
            if hearing is None:
                return await direct.model_request(
                    self._model,
                    messages,
                    model_settings=settings,
                    model_request_parameters=parameters,
                    instrument=False,
                )
            async with direct.model_request_stream(
                self._model, messages, model_settings=settings, model_request_parameters=parameters, instrument=False
            ) as stream:
                async for event in stream:
                    # A long answer may take its time, as long as it keeps coming.
                    deadline.reschedule(asyncio.get_running_loop().time() + self._timeout)
                    if text := extract_text(event):
                        hearing.hear(text)
            return stream.get()

    def _pause_after(self, error: Exception, attempt: int) -> float | None:
        """How long to wait before the next attempt; None when there is to be none."""
        if attempt >= self._attempts or not _is_passing(error):
            return None
        asked_for = getattr(error, "retry_after", None) or 0.0
        if asked_for > _LONGEST_PAUSE_SECONDS:
            return None
        return max(float(asked_for), compute_pause(attempt, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS))

    def _failure(self, error: Exception, attempt: int) -> LongmindError:
        if isinstance(error, LongmindError):
            return error
        if isinstance(error, TimeoutError):
            return ModelTimedOut(f"The model {self._name!r} gave no answer within {self._timeout:g} seconds.")
        tried = f" after {attempt} attempts" if attempt > 1 else ""
        status = getattr(error, "status_code", None)
        hint = {
            401: "Check the key in the environment.",
            403: "Check the key in the environment, and what it may be used for.",
            404: "Check the name of the model.",
        }.get(status or 0)
        return ModelFailed(f"The model {self._name!r} failed{tried}: {type(error).__name__}: {error}", hint=hint)

    def _make(self) -> Model[Any]:
        vendor = self._chosen.partition(":")[0] if isinstance(self._chosen, str) else ""
        try:
            from pydantic_ai.exceptions import UserError
            from pydantic_ai.models import infer_model
        except ImportError as error:
            raise ExtensionMissing(
                f"The model {self._chosen!r} needs pydantic-ai, which is not installed.",
                hint=f"pip install 'longmind[models]' 'pydantic-ai-slim[{vendor}]'",
            ) from error
        try:
            return infer_model(self._chosen)
        except ImportError as error:
            raise ExtensionMissing(
                f"The model {self._chosen!r} needs the package of its vendor: {error}",
                hint=f"pip install 'pydantic-ai-slim[{vendor}]'",
            ) from error
        except UserError as error:
            raise InvalidInput(
                f"The model {self._chosen!r} cannot be used: {error}",
                hint="Write vendor:model, for example openai:gpt-5-mini, with the vendor's key in the environment.",
            ) from error


def _is_passing(error: Exception) -> bool:
    """Whether the same request may be answered if it is sent once more."""
    from pydantic_ai.exceptions import (
        ModelConnectionError,
        ModelHTTPError,
        ModelQuotaExceededError,
        UnexpectedModelBehavior,
    )

    match error:
        case ModelQuotaExceededError():
            return False
        case ModelHTTPError():
            return error.status_code >= 500 or error.status_code in _WORTH_ANOTHER_TRY
        case ModelConnectionError() | UnexpectedModelBehavior():
            # A connection that broke, or an answer that is not what it should be.
            return True
        case _:
            return False
