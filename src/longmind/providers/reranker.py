"""The contract of a reranker: a slower reader that looks at a question and a memory together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from longmind.errors import InvalidInput, LongmindError, RerankerFailed


class Reranker(Protocol):
    """Tells how well texts answer a question."""

    @property
    def model(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> Any:
        """One number for each text: the higher, the better it answers. Zero is as likely as not."""


_MOST_SURE = 1e6
"""Odds beyond this one, in logarithms, are as good as certain; numbers without end could not be added up."""


class CheckedReranker:
    """A reranker whose answers are checked and whose failures are errors of ours."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self.model = reranker.model

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        try:
            found = [float(value) for value in self._reranker.score(query, list(texts))]
        except LongmindError:
            raise
        except Exception as error:
            raise RerankerFailed(f"The reranker {self.model!r} failed: {type(error).__name__}: {error}") from error
        if len(found) != len(texts):
            raise RerankerFailed(f"The reranker {self.model!r} gave {len(found)} numbers for {len(texts)} texts.")
        if not all(map(math.isfinite, found)):
            raise RerankerFailed(f"The reranker {self.model!r} gave NaN or infinity.")
        return [max(-_MOST_SURE, min(value, _MOST_SURE)) for value in found]


def choose_reranker(chosen: str | Reranker | None, models_folder: Path) -> CheckedReranker | None:
    """The reranker of a name, the one that is given, or none."""
    if chosen is None or chosen in ("", "none"):
        return None
    if not isinstance(chosen, str):
        if not all(hasattr(chosen, name) for name in ("model", "score")):
            raise InvalidInput(
                f"{type(chosen).__name__} is not a reranker.", hint="It needs model and score(query, texts)."
            )
        return CheckedReranker(chosen)
    # Loaded only where one is asked for: few are, and a program should start quickly.
    from longmind.providers.local.reranker import LocalReranker
    from longmind.providers.weights import RERANKERS

    name = chosen.removeprefix("local:")
    if name not in RERANKERS:
        known = ", ".join(f"local:{each}" for each in sorted(RERANKERS))
        raise InvalidInput(f"There is no reranker {chosen!r}.", hint=f"Known are none and {known}.")
    return CheckedReranker(LocalReranker(RERANKERS[name], models_folder))
