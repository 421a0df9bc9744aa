"""The choice of an embedder or a language model by its name."""

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
    """Return the embedder of a name, or the given object wrapped, or None for `none`.

    `auto` is the local default model if it is installed; otherwise recall goes by words alone, and the log says so.
    Raises InvalidInput for an unknown name or an object of the wrong kind.
    """
    if chosen is None or chosen == "none":
        return None
    if not isinstance(chosen, str):
        if not all(_has(chosen, name) for name in ("model", "dimension", "embed_texts", "embed_query")):
            raise InvalidInput(
                f"{type(chosen).__name__} is not an embedder.",
                hint="Give it model, dimension, embed_texts(texts) and embed_query(query).",
            )
        return CheckedEmbedder(chosen)
    if chosen == AUTO:
        return _make_default_embedder(models_folder)
    vendor, model = parse_name(chosen)
    # Packages that only some embedders need are loaded for those alone.
    if vendor == "local":
        from longmind.providers.local.embedder import LocalEmbedder
        from longmind.providers.model_files import get_model

        return CheckedEmbedder(LocalEmbedder(get_model(model), models_folder))
    from longmind.providers.pydantic_ai.embedder import RemoteEmbedder

    return CheckedEmbedder(RemoteEmbedder(chosen, loop=loop))


def _has(thing: object, name: str) -> bool:
    """Return whether an object has an attribute, without reading it: a dimension may take a request."""
    try:
        getattr_static(thing, name)
    except AttributeError:
        return hasattr(thing, name)
    return True


def choose_model(chosen: str | LanguageModel | Any, loop: BackgroundLoop, settings: Settings) -> LanguageModel:
    """Return the language model of a name such as `openai:gpt-5-mini`, or the given object as one.

    An object has `name` and `ask()`, or is a model of pydantic-ai. Raises InvalidInput for anything else.
    """
    from longmind.providers.language_model import LanguageModel

    if not isinstance(chosen, str) and isinstance(chosen, LanguageModel):
        return chosen
    if not isinstance(chosen, str) and not (hasattr(chosen, "model_name") and hasattr(chosen, "request_stream")):
        raise InvalidInput(
            f"{type(chosen).__name__} is not a language model.",
            hint="Give it name and ask(request, on_text=…, cancel=…), or pass a model of pydantic-ai.",
        )
    from longmind.providers.pydantic_ai.models import VendorModel

    return VendorModel(
        chosen, timeout_seconds=settings.model_timeout_seconds, attempts=settings.model_attempts, loop=loop
    )


def _make_default_embedder(models_folder: Path) -> CheckedEmbedder | None:
    """Return the local default model if its packages and weights are installed; log a hint otherwise."""
    from longmind.providers.local.embedder import LocalEmbedder
    from longmind.providers.model_files import MODELS, is_present

    model = MODELS[DEFAULT_MODEL]
    installed = find_spec("onnxruntime") is not None
    if installed and is_present(model, models_folder):
        return CheckedEmbedder(LocalEmbedder(model, models_folder))
    _log.info("recall uses words alone; to search by meaning, run: longmind models pull")
    return None
