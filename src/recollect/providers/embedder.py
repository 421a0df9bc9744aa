"""The contract of an embedder, and the names they are chosen by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed, InvalidInput, RecollectError

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors. Texts that mean the same are near each other."""

    @property
    def model(self) -> str:
        """What the vectors are stamped with: two embedders of the same model give vectors that can be compared."""

    @property
    def dimension(self) -> int: ...

    def embed_texts(self, texts: Sequence[str]) -> Any:
        """One vector for each text that is to be found."""

    def embed_query(self, query: str) -> Any:
        """The vector of a question. Some models want it asked in a form of its own."""


def checked_vectors(vectors: Any, count: int, embedder: Embedder) -> Vectors:
    """The vectors as unit vectors, or an error that says what the embedder did wrong."""
    array = _as_floats(vectors, embedder)
    if array.shape != (count, embedder.dimension):
        wanted = (count, embedder.dimension)
        raise EmbedderFailed(f"The embedder {embedder.model!r} gave vectors of the shape {array.shape}, not {wanted}.")
    lengths = np.sqrt(np.add.reduce(array * array, axis=1, keepdims=True))
    # A length that is a number says so of each part; of very long vectors the parts have to be asked.
    if not np.isfinite(lengths).all() and not np.isfinite(array).all():
        raise EmbedderFailed(f"The embedder {embedder.model!r} gave a vector with NaN or infinity in it.")
    return (array / np.where(lengths == 0, np.float32(1), lengths)).astype(np.float32, copy=False)


def _as_floats(vectors: Any, embedder: Embedder) -> Vectors:
    if isinstance(vectors, np.ndarray) and vectors.dtype == np.float32:
        return vectors
    try:
        with np.errstate(over="ignore"):
            # What is too large becomes infinity, and is refused later.
            return np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbedderFailed(
            f"The embedder {embedder.model!r} gave something that is not a list of vectors."
        ) from error


class Embedding:
    """An embedder whose answers are checked and whose failures are errors of ours."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model = embedder.model
        self.usual: tuple[float, float] | None = getattr(embedder, "usual_similarity", None)
        """The mean and deviation of the similarity of a question and a text that have nothing to do with each other."""

    def texts(self, texts: Sequence[str]) -> Vectors:
        return self._checked(self._embedder.embed_texts, list(texts), len(texts))

    def query(self, query: str) -> Vectors:
        vector = self._checked(lambda text: [self._embedder.embed_query(text)], query, 1)
        return vector[0]  # type: ignore[no-any-return]  # numpy cannot say what a row is

    def _checked(self, embed: Callable[[Any], Any], what: Any, count: int) -> Vectors:
        try:
            # An embedder behind an API may have to ask for its dimension, which can fail as well.
            return checked_vectors(embed(what), count, self._embedder)
        except RecollectError:
            raise
        except Exception as error:
            raise EmbedderFailed(f"The embedder {self.model!r} failed: {type(error).__name__}: {error}") from error


def parse_name(name: str) -> tuple[str, str]:
    """Take `vendor:model` apart."""
    vendor, colon, model = name.partition(":")
    if not colon or not vendor or not model:
        raise InvalidInput(
            f"{name!r} is not the name of an embedder.", hint="Write vendor:model, for example local:arctic-s."
        )
    return vendor, model
