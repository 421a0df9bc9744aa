"""The choice of a distiller: a named model, or the engine's summariser."""

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
    """The distillers of one engine."""

    def __init__(self, models: ModelPool, summariser: Callable[[], Summariser]) -> None:
        self._models = models
        self._summariser = summariser

    def choose(self, model: str | LanguageModel | None = None) -> Distiller:
        """Return the distiller of a model, or of the engine's summariser if none is named.

        Raise ModelNotChosen if that summariser is the extractive one.
        """
        # Imported late, so that programs that distil nothing do not load it.
        from longmind.summaries.distiller import ModelDistiller, derive_distiller

        if model is not None:
            return ModelDistiller(self._models.choose(model))
        distiller = derive_distiller(self._summariser())
        if distiller is None:
            raise ModelNotChosen("Distilling with a language model needs a model, and none was chosen.")
        return distiller
