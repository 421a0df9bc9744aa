"""From the name of an embedder or a language model to one that works."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longmind.errors import InvalidInput
from longmind.providers.embedder import CheckedEmbedder, Embedder, parse_name
from longmind.settings import Settings

if TYPE_CHECKING:
    from longmind.providers.background_loop import BackgroundLoop
    from longmind.providers.language_model import LanguageModel

_log = logging.getLogger("longmind.embedder")

AUTO = "auto"
DEFAULT_MODEL = "arctic-s"


def choose_embedder(
    chosen: str | Embedder | None, models_folder: Path, loop: BackgroundLoop | None = None
) -> CheckedEmbedder | None:
    """The embedder of a name, the one that is given, or none.

    `auto` is the built-in model where it is installed; where it is not, recall goes by words, and the log says so.
    """
    if chosen is None or chosen == "none":
        return None
    if not isinstance(chosen, str):
        if not all(_has(chosen, name) for name in ("model", "dimension", "embed_texts", "embed_query")):
            raise InvalidInput(
                f"{type(chosen).__name__} is not an embedder.",
                hint="It needs model, dimension, embed_texts(texts) and embed_query(query).",
            )
        return CheckedEmbedder(chosen)
    if chosen == AUTO:
        return _built_in(models_folder)
    vendor, model = parse_name(chosen)
    # What only some embedders need is loaded for those alone.
    if vendor == "local":
        from longmind.providers.local.embedder import LocalEmbedder
        from longmind.providers.weights import get_model

        return CheckedEmbedder(LocalEmbedder(get_model(model), models_folder))
    from longmind.providers.pydantic_ai.embedder import RemoteEmbedder

    return CheckedEmbedder(RemoteEmbedder(chosen, loop=loop))


def _has(thing: object, name: str) -> bool:
    """Whether there is an attribute, without reading it: a dimension may have to be asked for over a network."""
    try:
        getattr_static(thing, name)
    except AttributeError:
        return hasattr(thing, name)
    return True


def choose_model(chosen: str | LanguageModel | Any, loop: BackgroundLoop, settings: Settings) -> LanguageModel:
    """The language model of a name such as `openai:gpt-5-mini`, or the one that is given.

    An object is one of ours, with `name` and `ask()`, or a model of pydantic-ai.
    """
    from longmind.providers.language_model import LanguageModel

    if not isinstance(chosen, str) and isinstance(chosen, LanguageModel):
        return chosen
    if not isinstance(chosen, str) and not (hasattr(chosen, "model_name") and hasattr(chosen, "request_stream")):
        raise InvalidInput(
            f"{type(chosen).__name__} is not a language model.",
            hint="It needs name and ask(request, on_text=…, cancel=…), or is a model of pydantic-ai.",
        )
    from longmind.providers.pydantic_ai.models import VendorModel

    return VendorModel(
        chosen, timeout_seconds=settings.model_timeout_seconds, attempts=settings.model_attempts, loop=loop
    )


def _built_in(models_folder: Path) -> CheckedEmbedder | None:
    from longmind.providers.local.embedder import LocalEmbedder
    from longmind.providers.weights import MODELS, is_present

    model = MODELS[DEFAULT_MODEL]
    installed = all(find_spec(name) for name in ("onnxruntime", "tokenizers"))
    if installed and is_present(model, models_folder):
        return CheckedEmbedder(LocalEmbedder(model, models_folder))
    _log.info("recall goes by words alone; for meaning too: pip install 'longmind[local]' and longmind models pull")
    return None
