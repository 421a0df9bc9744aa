"""Settings of an engine from a configuration of mem0.

A language model and an embedder that are named there are used here by the same names. Databases and the rest have no
counterpart: Longmind has one database, whose URL is `{"longmind": {"url": …}}`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

_log = logging.getLogger("longmind.compat")
# Names of vendors there, and here.
_MODELS = {
    "openai": "openai",
    "openai_structured": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "groq": "groq",
    "ollama": "ollama",
    "deepseek": "deepseek",
    "xai": "grok",
    "together": "together",
    "aws_bedrock": "bedrock",
    "azure_openai": "azure",
    "azure_openai_structured": "azure",
    "litellm": "litellm",
}
_EMBEDDERS = {"openai": "openai", "gemini": "google", "ollama": "ollama"}
_LOCAL_EMBEDDERS = ("huggingface", "fastembed", "lmstudio", "mock")
_NO_COUNTERPART = ("vector_store", "history_db_path", "reranker", "custom_instructions", "graph_store")


def read_config(config: object) -> dict[str, Any]:
    """Return settings for `longmind.open` from a configuration of mem0, a dict or its `MemoryConfig`.

    Raises ValueError for a vendor that neither library knows.
    """
    given = _to_dict(config)
    settings = dict(given.get("longmind") or {})
    if (model := _name_model(given.get("llm"), _MODELS, "LLM")) and "extractor" not in settings:
        settings["extractor"] = f"model:{model}"
    embedder = given.get("embedder")
    if isinstance(embedder, Mapping) and embedder.get("provider") in _LOCAL_EMBEDDERS:
        _log.warning("the embedder %s is replaced by the built-in one", embedder.get("provider"))
    elif (name := _name_model(embedder, _EMBEDDERS, "embedding")) and "embedder" not in settings:
        settings["embedder"] = name
    ignored = [name for name in _NO_COUNTERPART if given.get(name)]
    if ignored:
        _log.warning("these parts of the configuration have no counterpart and are ignored: %s", ", ".join(ignored))
    return settings


def _to_dict(config: object) -> dict[str, Any]:
    """Return the parts of a configuration that were set."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    dump = getattr(config, "model_dump", None)
    if dump is None:
        raise ValueError(f"config must be a dict or a MemoryConfig, not {type(config).__name__}.")
    # Defaults of mem0, such as a model of OpenAI, were not asked for.
    return dict(dump(exclude_unset=True))


def _name_model(part: object, vendors: Mapping[str, str], noun: str) -> str | None:
    """Return the name of a model as `vendor:model`; None if the configuration names none."""
    if not isinstance(part, Mapping) or "provider" not in part:
        return None
    provider, details = str(part["provider"]), part.get("config") or {}
    if provider not in vendors:
        raise ValueError(f"Unsupported {noun} provider: {provider}")
    if details.get("api_key"):
        _log.warning("api_key of %s is ignored: keys are read from the vendor's environment variable", provider)
    model = details.get("model")
    return f"{vendors[provider]}:{model}" if model else None
