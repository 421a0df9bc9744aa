"""Language models behind the API of a vendor, through pydantic-ai.

Calls run on the engine's background loop; the caller's thread waits and receives the pieces of a streamed answer. A
failed attempt is repeated with growing pauses if the same request may succeed later, and if nothing of the answer has
reached the caller yet: text that was delivered cannot be taken back.
"""

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
    InvalidInput,
    LongmindError,
    ModelCancelled,
    ModelFailed,
    ModelTimedOut,
)
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.language_model import Cancel, ModelReply, ModelRequest, OnText
from longmind.providers.pydantic_ai.vendor_packages import (
    explain_missing_library,
    explain_missing_package,
    explain_refusal,
)
from longmind.runtime.backoff import compute_pause
from longmind.runtime.fork_safety import survive_forks

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

_log = logging.getLogger("longmind.models")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
"""If a vendor asks for a longer pause, the call fails: the queue of jobs waits better than a thread."""
_RETRIABLE_STATUSES = frozenset({408, 409, 425, 429})


class _TextStream:
    """Carries the pieces of an answer's text to the caller's thread; None ends it."""

    def __init__(self) -> None:
        self.pieces: SimpleQueue[str | None] = SimpleQueue()
        self.begun = False

    def put(self, text: str) -> None:
        self.begun = True
        self.pieces.put(text)


class VendorModel:
    """A language model that pydantic-ai knows, such as `openai:gpt-5-mini`, with its key from the environment.

    chosen: a name, or a model object of pydantic-ai. timeout_seconds: limit on an attempt; for a streamed answer, on
    the time between two pieces. attempts: most attempts of one call. Threads may share it.
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
        # The connections belong to the parent's loop. The host has to replace a model object that it passed itself.
        if isinstance(self._chosen, str):
            self._model = None

    @property
    def name(self) -> str:
        return self._name

    def ask(self, request: ModelRequest, *, on_text: OnText | None = None, cancel: Cancel | None = None) -> ModelReply:
        text_stream = _TextStream()
        call = self._loop.submit(self._answer(request, None if on_text is None else text_stream))
        call.add_done_callback(lambda _: text_stream.pieces.put(None))
        try:
            # A caller that is interrupted, or fails in on_text, ends the call as well.
            with (cancel or Cancel()).covering(call):
                while (text := text_stream.pieces.get()) is not None:
                    if on_text is not None:
                        on_text(text)
                return call.result()
        except CancelledError:
            if self._loop.closed:
                raise EngineClosed from None
            raise ModelCancelled(f"The call of {self._name!r} was cancelled.") from None

    async def _answer(self, request: ModelRequest, text_stream: _TextStream | None) -> ModelReply:
        """Repeat attempts until one succeeds; raise the error of ours for the last one otherwise."""
        from longmind.providers.pydantic_ai.messages import to_reply

        begun = time.monotonic()
        for attempt in itertools.count(1):
            try:
                response = await self._attempt(request, text_stream)
                return to_reply(response, self._name, request, time.monotonic() - begun, attempt)
            except Exception as error:
                pause = self._pause_after(error, attempt)
                # Text that the caller has received would be repeated.
                if pause is None or (text_stream is not None and text_stream.begun):
                    raise self._failure(error, attempt) from error
                # Only the type is logged: the message may quote what a user said.
                kind = type(error).__name__
                _log.warning("%s, attempt %d: %s; again in %.1f s", self._name, attempt, kind, pause)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _attempt(self, request: ModelRequest, text_stream: _TextStream | None) -> ModelResponse:
        """Ask the vendor once, streaming the text if somebody listens; raises whatever pydantic-ai raises."""
        from pydantic_ai import direct

        from longmind.providers.pydantic_ai.messages import extract_text, to_messages, to_parameters, to_settings

        if self._model is None:
            self._model = self._make()
        messages, settings = to_messages(request), to_settings(request, self._model)
        parameters = to_parameters(request)
        async with asyncio.timeout(self._timeout) as deadline:
            if text_stream is None:
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
                    # A long answer may take its time as long as pieces keep arriving.
                    deadline.reschedule(asyncio.get_running_loop().time() + self._timeout)
                    if text := extract_text(event):
                        text_stream.put(text)
            return stream.get()

    def _pause_after(self, error: Exception, attempt: int) -> float | None:
        """Return seconds to wait before the next attempt; None if there is to be none."""
        if attempt >= self._attempts or not _is_temporary(error):
            return None
        asked_for = getattr(error, "retry_after", None) or 0.0
        if asked_for > _LONGEST_PAUSE_SECONDS:
            return None
        return max(float(asked_for), compute_pause(attempt, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS))

    def _failure(self, error: Exception, attempt: int) -> LongmindError:
        """Return the error of ours for a call that failed for good, with a hint by its status."""
        if isinstance(error, LongmindError):
            return error
        if isinstance(error, TimeoutError):
            return ModelTimedOut(f"The model {self._name!r} did not answer within {self._timeout:g} seconds.")
        tried = f" after {attempt} attempts" if attempt > 1 else ""
        status = getattr(error, "status_code", None)
        hint = {
            401: "Check the key in the environment.",
            403: "Check the rights of the key in the environment.",
            404: "Check the name of the model.",
        }.get(status or 0)
        return ModelFailed(f"The model {self._name!r} failed{tried}: {type(error).__name__}: {error}", hint=hint)

    def _make(self) -> Model[Any]:
        """Make the model of pydantic-ai; raise ExtensionMissing or InvalidInput if it is not available."""
        # A model that is given as an object has a name without a vendor.
        name = self._chosen if isinstance(self._chosen, str) else self._chosen.model_name
        vendor, colon, model = name.partition(":")
        if isinstance(self._chosen, str) and colon and not (vendor.strip() and model.strip()):
            raise InvalidInput(
                f"{name!r} is not a valid name of a model.",
                hint="Write vendor:model, for example openai:gpt-5-mini.",
            )
        try:
            from pydantic_ai.exceptions import UserError
            from pydantic_ai.models import infer_model
        except ImportError as error:
            raise explain_missing_library("model", name) from error
        try:
            return infer_model(self._chosen)
        except ImportError as error:
            raise explain_missing_package("model", name, error) from error
        except UserError as error:
            raise explain_refusal("model", name, error, "openai:gpt-5-mini") from error


def _is_temporary(error: Exception) -> bool:
    """Return whether the same request may succeed if it is sent again."""
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
            return error.status_code >= 500 or error.status_code in _RETRIABLE_STATUSES
        case ModelConnectionError() | UnexpectedModelBehavior():
            # A broken connection, or an answer of the wrong form.
            return True
        case _:
            return False
