"""The language models of an engine by name: each is made once and keeps its connections."""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from longmind.errors import InvalidInput
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.provider_registry import choose_model
from longmind.runtime.fork_safety import survive_forks
from longmind.settings import Settings
from longmind.validation.text import validate_text

if TYPE_CHECKING:
    from longmind.providers.language_model import Cancel, LanguageModel

_HINT = "Pass provider='anthropic', model='claude-…', or model='anthropic:claude-…', or a model object."


class ModelPool:
    """Finds or makes the language model that a caller names. Threads may share it."""

    def __init__(self, loop: BackgroundLoop, settings: Settings) -> None:
        self._loop = loop
        self._settings = settings
        self._made: dict[str, LanguageModel] = {}
        self._making = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._making = threading.Lock()

    def choose(self, model: str | LanguageModel | Any, provider: str | None = None) -> LanguageModel:
        """Return the model of a name such as `openai:gpt-5-mini`, or the given object as a language model.

        provider: the vendor, if the name does not begin with it.
        """
        if not isinstance(model, str):
            if model is None:
                raise InvalidInput("No model was given.", hint=_HINT)
            if provider is not None:
                raise InvalidInput("provider is given, but model is an object, not a name.", hint=_HINT)
            return choose_model(model, self._loop, self._settings)
        name = validate_text("model", model, blank=False).strip()
        if provider is not None:
            vendor = validate_text("provider", provider, blank=False).strip()
            name = name if name.startswith(f"{vendor}:") else f"{vendor}:{name}"
        with self._making:
            if name not in self._made:
                self._made[name] = choose_model(name, self._loop, self._settings)
            return self._made[name]

    def wait_for(self, awaitable: Awaitable[Any], cancel: Cancel) -> Any:
        """Run an awaitable on the engine's background loop and wait for its result, in a thread without a loop."""
        from longmind.runtime.thread_pool import await_foreign

        return cancel.result_of(self._loop.submit(await_foreign(awaitable)))
