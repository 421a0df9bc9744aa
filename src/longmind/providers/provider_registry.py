"""The choice of an embedder or a language model by its name."""

from __future__ import annotations

from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longmind.errors import InvalidInput
from longmind.providers.embedder import CheckedEmbedder, Embedder, parse_name
from longmind.providers.model_files import FileSource, get_model, validate_files
from longmind.settings import Settings

if TYPE_CHECKING:
    from longmind.providers.background_loop import BackgroundLoop
    from longmind.providers.language_model import LanguageModel

AUTO = "auto"
DEFAULT_MODEL = "arctic-s"


def choose_embedder(
    chosen: str | Embedder | None,
    models_folder: Path,
    loop: BackgroundLoop | None = None,
    find_files: FileSource = validate_files,
) -> CheckedEmbedder | None:
    """Return the embedder of a name, or the given object wrapped, or None for `none`.

    `auto` is the local default model.

    find_files: returns the files of a local model when it is first used.

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
    vendor, model = parse_name(f"local:{DEFAULT_MODEL}" if chosen == AUTO else chosen)
    # Packages that only some embedders need are loaded for those alone.
    if vendor == "local":
        from longmind.providers.local.embedder import LocalEmbedder

        return CheckedEmbedder(LocalEmbedder(get_model(model), models_folder, find_files=find_files))
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
