"""From the name of an embedder to one that works."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.providers.embedder import Embedder, Embedding, parse_name
from recollect.providers.local import LocalEmbedder
from recollect.providers.remote import RemoteEmbedder
from recollect.providers.weights import MODELS, is_present, known_model

_log = logging.getLogger("recollect.embedder")

AUTO = "auto"
DEFAULT_MODEL = "arctic-s"


def choose_embedder(chosen: str | Embedder | None, models_folder: Path) -> Embedding | None:
    """The embedder of a name, the one that is given, or none.

    `auto` is the built-in model where it is installed; where it is not, recall goes by words, and the log says so.
    """
    if chosen is None or chosen == "none":
        return None
    if not isinstance(chosen, str):
        if not all(hasattr(chosen, name) for name in ("model", "dimension", "embed_texts", "embed_query")):
            raise InvalidInput(
                f"{type(chosen).__name__} is not an embedder.",
                hint="It needs model, dimension, embed_texts(texts) and embed_query(query).",
            )
        return Embedding(chosen)
    if chosen == AUTO:
        return _built_in(models_folder)
    vendor, model = parse_name(chosen)
    if vendor == "local":
        return Embedding(LocalEmbedder(known_model(model), models_folder))
    return Embedding(RemoteEmbedder(chosen))


def _built_in(models_folder: Path) -> Embedding | None:
    model = MODELS[DEFAULT_MODEL]
    installed = all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers"))
    if installed and is_present(model, models_folder):
        return Embedding(LocalEmbedder(model, models_folder))
    _log.info("recall goes by words alone; for meaning too: pip install 'recollect[local]' and recollect models pull")
    return None
