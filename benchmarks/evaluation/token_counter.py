"""Token counts of texts, roughly as a language model would count them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from longmind.providers.model_files import MODELS, is_present
from longmind.providers.provider_registry import DEFAULT_MODEL

_TOKENS_PER_WORD = 1.3


@dataclass(frozen=True)
class Tokenizer:
    """A way to count tokens, with the name that results report."""

    name: str
    count: Callable[[str], int]


def choose_tokenizer(models_folder: Path) -> Tokenizer:
    """Return the tokenizer of the built-in embedder if it is installed, else an estimate from words."""
    model = MODELS[DEFAULT_MODEL]
    try:
        from tokenizers import BertWordPieceTokenizer
    except ImportError:
        return WORDS
    if not is_present(model, models_folder):
        return WORDS
    wordpiece = BertWordPieceTokenizer(str(models_folder / model.name / "vocab.txt"), lowercase=True)
    return Tokenizer(
        f"WordPiece of {model.name}", lambda text: len(wordpiece.encode(text, add_special_tokens=False).ids)
    )


WORDS = Tokenizer(f"words x {_TOKENS_PER_WORD}", lambda text: math.ceil(len(text.split()) * _TOKENS_PER_WORD))
