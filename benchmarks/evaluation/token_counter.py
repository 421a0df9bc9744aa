"""Token counts of texts, roughly as a language model would count them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from longmind.providers.local.word_pieces import WordPieces
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
    if not is_present(model, models_folder):
        return WORDS
    # As many tokens as there are: a text is counted to its end, and those at both ends are none of its own.
    wordpiece = WordPieces(models_folder / model.name / "vocab.txt", longest=sys.maxsize)
    return Tokenizer(f"WordPiece of {model.name}", lambda text: len(wordpiece.encode(text).ids) - 2)


WORDS = Tokenizer(f"words x {_TOKENS_PER_WORD}", lambda text: math.ceil(len(text.split()) * _TOKENS_PER_WORD))
