"""From the name of a summariser to one that works."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from longmind.errors import InvalidInput
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.registry import choose_model
from longmind.settings import Settings
from longmind.summaries.summariser import Summariser

EXTRACTIVE = "extractive"
_MODEL = "model:"


def choose_summariser(chosen: str | Summariser, settings: Settings, loop: BackgroundLoop) -> Callable[[], Summariser]:
    """What gives the summariser of a name, `extractive` or `model:<vendor:model>`, or the one that is given.

    A model is looked for at once, so that a name or a key that is wrong is known when the engine is opened.
    """
    if chosen == EXTRACTIVE:
        return _extractive
    if isinstance(chosen, str):
        if not chosen.startswith(_MODEL):
            raise InvalidInput(
                f"summariser is {chosen!r}.", hint="It is 'extractive', or 'model:' and the name of a language model."
            )
        from longmind.summaries.model import ModelSummariser

        model = ModelSummariser(choose_model(chosen.removeprefix(_MODEL), loop, settings))
        return lambda: model
    if not isinstance(getattr(chosen, "name", None), str) or not callable(getattr(chosen, "summarise", None)):
        raise InvalidInput(
            f"{type(chosen).__name__} is not a summariser.",
            hint="It needs name and summarise(earlier, messages, limit).",
        )
    given: Summariser = chosen
    return lambda: given


@cache
def _extractive() -> Summariser:
    # The rules of English are not loaded by a program that summarises nothing with them.
    extractive: Summariser = import_module("longmind.summaries.extractive").ExtractiveSummariser()
    return extractive
