"""Which distiller is meant: that of a model by its name, or in the manner of the engine's summariser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from longmind.errors import ModelNotChosen
from longmind.providers.language_model import LanguageModel
from longmind.providers.model_pool import ModelPool
from longmind.summaries.summariser import Summariser

if TYPE_CHECKING:
    from longmind.summaries.distiller import Distiller


class Distillers:
    def __init__(self, models: ModelPool, summariser: Callable[[], Summariser]) -> None:
        self._models = models
        self._summariser = summariser

    def choose(self, model: str | LanguageModel | None = None) -> Distiller:
        """The distiller of a model, or of the engine's summariser where none is named."""
        # Loaded when a model is asked: programs that distill nothing need not wait for it.
        from longmind.summaries.distiller import ModelDistiller, distiller_of

        if model is not None:
            return ModelDistiller(self._models.choose(model))
        distiller = distiller_of(self._summariser())
        if distiller is None:
            raise ModelNotChosen("To distill with a language model, one has to be chosen.")
        return distiller
