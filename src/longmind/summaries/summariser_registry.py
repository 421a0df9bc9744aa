"""The choice of the summariser that the settings name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from longmind.errors import InvalidInput
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.provider_registry import choose_model
from longmind.settings import Settings
from longmind.summaries.summariser import Summariser

EXTRACTIVE = "extractive"
_MODEL = "model:"


def choose_summariser(chosen: str | Summariser, settings: Settings, loop: BackgroundLoop) -> Callable[[], Summariser]:
    """Return a function that returns the summariser called `extractive` or `model:<vendor:model>`, or a given object.

    A model is looked up at once, so that a wrong name or a missing key stops `open()` and not the first summary. The
    extractive summariser is loaded at its first use.
    """
    if chosen == EXTRACTIVE:
        return _extractive
    if isinstance(chosen, str):
        if not chosen.startswith(_MODEL):
            raise InvalidInput(
                f"Unknown summariser {chosen!r}.",
                hint="Use 'extractive', or 'model:' and the name of a language model.",
            )
        from longmind.summaries.model_summariser import ModelSummariser

        model = ModelSummariser(choose_model(chosen.removeprefix(_MODEL), loop, settings))
        return lambda: model
    if not isinstance(getattr(chosen, "name", None), str) or not callable(getattr(chosen, "summarise", None)):
        raise InvalidInput(
            f"{type(chosen).__name__} is not a summariser.",
            hint="Give it a name and a method summarise(earlier, messages, limit).",
        )
    given: Summariser = chosen
    return lambda: given


@cache
def _extractive() -> Summariser:
    # Imported late: loading the rules of English takes time that a program without summaries need not spend.
    extractive: Summariser = import_module("longmind.summaries.extractive").ExtractiveSummariser()
    return extractive
