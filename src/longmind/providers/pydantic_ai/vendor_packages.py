"""The package and the key that a vendor needs, and the errors that name them."""

from __future__ import annotations

import re

from longmind.errors import ExtensionMissing, InvalidInput

_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_API_KEY\b")
_NAMED_EXTRA = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")
_OWN_EXTRA = frozenset(
    "anthropic bedrock bedrock-mantle cerebras cohere crusoe google groq huggingface mistral openai openrouter "
    "sentence-transformers snowflake typesafe voyageai xai zai".split()
)
"""The vendors whose extra of pydantic-ai-slim has their name."""
_LIKE_OPENAI = frozenset(
    "alibaba azure azure-responses deepseek fireworks github heroku litellm meta moonshotai nebius ollama ovhcloud "
    "sambanova together vercel vllm".split()
)
"""The vendors that are asked with the package of OpenAI."""


def explain_missing_library(what: str, name: str) -> ExtensionMissing:
    """Return the error for a model of a vendor while pydantic-ai is not installed; what: "model" or "embedder"."""
    extra = _find_extra(name)
    vendor = f" 'pydantic-ai-slim[{extra}]'" if extra else ""
    return ExtensionMissing(
        f"The {what} {name!r} needs pydantic-ai, which is not installed.",
        hint=f"Run: pip install 'longmind[models]'{vendor}",
    )


def explain_missing_package(what: str, name: str, error: ImportError) -> ExtensionMissing:
    """Return the error for a vendor whose own package is not installed."""
    named = _NAMED_EXTRA.search(str(error))
    extra = named[1] if named else _find_extra(name)
    return ExtensionMissing(
        f"The {what} {name!r} needs the package of its vendor: {error}",
        hint=f"Run: pip install 'pydantic-ai-slim[{extra}]'" if extra else "Install the package that it names.",
    )


def explain_refusal(what: str, name: str, error: Exception, example: str) -> InvalidInput:
    """Return the error for a name that pydantic-ai does not take, or one without a key.

    example: a name of the right form.
    """
    # The words of the library are about its own classes.
    key = _KEY_VARIABLE.search(str(error))
    if key is not None:
        return InvalidInput(
            f"The {what} {name!r} needs the key of its vendor, and {key[0]} is not set.",
            hint=f"Set {key[0]} in the environment of this program.",
        )
    return InvalidInput(
        f"The {what} {name!r} cannot be used: {error}",
        hint=f"Write vendor:model, for example {example}, with the vendor's key in the environment.",
    )


def _find_extra(name: str) -> str:
    """Return the extra of pydantic-ai-slim for a name such as `openai-chat:gpt-5`, or "" for an unknown vendor."""
    vendor, colon, _ = name.partition(":")
    if not colon:
        return ""
    family = vendor.partition("-")[0]
    if vendor in _OWN_EXTRA:
        return vendor
    if vendor in _LIKE_OPENAI or family == "openai":
        return "openai"
    return "google" if family == "google" else ""
