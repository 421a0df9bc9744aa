"""The contract of a reranker, which reads a question and a text together, and the wrapper that checks its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from longmind.errors import InvalidInput, LongmindError, RerankerFailed
from longmind.providers.model_files import FileSource, validate_files


class Reranker(Protocol):
    """Scores how well texts answer a question."""

    @property
    def model(self) -> str:
        """Its name, for errors and explanations."""

    def score(self, query: str, texts: Sequence[str]) -> Any:
        """Return one number for each text, the log odds that it answers the question: zero is as likely as not."""


CAREFUL_RERANKER = "local:minilm-l12"
"""The reranker of recalls with high effort, where the host has chosen none."""
_LARGEST_SCORE = 1e6
"""Largest log odds that are used: beyond it a text is certain, and infinite scores could not be added."""


class CheckedReranker:
    """A reranker whose scores are validated and whose failures are errors of ours."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self.model = reranker.model

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a finite score for each text; raise RerankerFailed if the reranker fails or returns anything else."""
        try:
            found = [float(value) for value in self._reranker.score(query, list(texts))]
        except LongmindError:
            raise
        except Exception as error:
            raise RerankerFailed(f"The reranker {self.model!r} failed: {type(error).__name__}: {error}") from error
        if len(found) != len(texts):
            raise RerankerFailed(f"The reranker {self.model!r} returned {len(found)} numbers for {len(texts)} texts.")
        if not all(map(math.isfinite, found)):
            raise RerankerFailed(f"The reranker {self.model!r} returned NaN or infinity.")
        return [max(-_LARGEST_SCORE, min(value, _LARGEST_SCORE)) for value in found]


def choose_reranker(
    chosen: str | Reranker | None, models_folder: Path, find_files: FileSource = validate_files
) -> CheckedReranker | None:
    """Return the reranker of a name, or the given object wrapped, or None for `none`.

    find_files: returns the files of a local one when it is first used.

    Raises InvalidInput for an unknown name or an object of the wrong kind.
    """
    if chosen is None or chosen in ("", "none"):
        return None
    if not isinstance(chosen, str):
        if not all(hasattr(chosen, name) for name in ("model", "score")):
            raise InvalidInput(
                f"{type(chosen).__name__} is not a reranker.", hint="Give it model and score(query, texts)."
            )
        return CheckedReranker(chosen)
    # Loaded only here: few programs use one, and all should start quickly.
    from longmind.providers.local.reranker import LocalReranker
    from longmind.providers.model_files import RERANKERS

    name = chosen.removeprefix("local:")
    if name not in RERANKERS:
        known = ", ".join(f"local:{each}" for each in sorted(RERANKERS))
        raise InvalidInput(f"Unknown reranker {chosen!r}.", hint=f"Use 'none' or one of {known}.")
    return CheckedReranker(LocalReranker(RERANKERS[name], models_folder, find_files=find_files))
