"""The contract of an embedder, and the names they are chosen by."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from longmind.errors import EmbedderFailed, InvalidInput, LongmindError
from longmind.validation.text import validate_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
T = TypeVar("T")


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


def validate_vectors(vectors: Any, count: int, embedder: Embedder) -> Vectors:
    """The vectors as unit vectors, or an error that says what the embedder did wrong."""
    # Loaded only now: to choose an embedder, or none, nothing has to be computed.
    import numpy as np

    array = _as_floats(vectors, embedder)
    if array.shape != (count, embedder.dimension):
        wanted = (count, embedder.dimension)
        raise EmbedderFailed(f"The embedder {embedder.model!r} gave vectors of the shape {array.shape}, not {wanted}.")
    with np.errstate(over="ignore"):
        squares = np.add.reduce(array * array, axis=1, keepdims=True)
    if ((squares > _TINY) & (squares < _HUGE)).all():
        return (array / np.sqrt(squares)).astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise EmbedderFailed(f"The embedder {embedder.model!r} gave a vector with NaN or infinity in it.")
    # First to numbers of at most 1: the squares of very large or very small ones are none that 32 bits can hold.
    largest = np.abs(array).max(axis=1, keepdims=True, initial=0)
    scaled = array / np.where(largest == 0, 1, largest)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def _as_floats(vectors: Any, embedder: Embedder) -> Vectors:
    import numpy as np

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


def _validate_vector(vector: Any, embedder: Embedder) -> Vectors:
    """The same of one vector. The length of a usual one tells at once that there is nothing wrong with it."""
    import numpy as np

    if isinstance(vector, np.ndarray) and vector.dtype == np.float32 and vector.shape == (embedder.dimension,):
        squared = float(vector.dot(vector))
        if abs(squared - 1) < _ROUNDING:
            return vector
        if _TINY < squared < _HUGE:
            unit: Vectors = np.divide(vector, math.sqrt(squared), dtype=np.float32)
            return unit
    return validate_vectors([vector], 1, embedder)[0]  # type: ignore[no-any-return]  # numpy cannot say what a row is


_ROUNDING = 1e-6
"""How far from 1 the square of a length may be that was made 1 with the precision of 32 bits."""
_TINY, _HUGE = 1e-20, 1e20
"""Squares of lengths between which nothing is lost to rounding. NaN is between no two numbers."""


def _usual(given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        mean, deviation = map(float, given)
    except (TypeError, ValueError):
        mean = deviation = math.nan
    if not (math.isfinite(mean) and math.isfinite(deviation) and deviation >= 0):
        raise InvalidInput(
            f"The embedder's usual_similarity is {given!r}.",
            hint="It is two numbers: the mean and the deviation of cosines that are not related.",
        )
    return mean, deviation


class CheckedEmbedder:
    """An embedder whose answers are checked and whose failures are errors of ours."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model = type(embedder).__name__
        self.model = validate_text("The embedder's model", self._checked(lambda: embedder.model), blank=False)
        self._stamp: str | None = None
        self.usual = _usual(self._checked(lambda: getattr(embedder, "usual_similarity", None)))
        """The mean and deviation of the similarity of a question and a text that have nothing to do with each other."""

    @property
    def stamp(self) -> str:
        """What vectors are kept under: two embedders may have one model's name and give vectors of different sizes."""
        if self._stamp is None:
            # An embedder behind an API may have to ask for its dimension, which can fail.
            self._stamp = self._checked(lambda: f"{self.model}@{self._embedder.dimension}")
        return self._stamp

    def texts(self, texts: Sequence[str]) -> Vectors:
        return self._checked(
            lambda: validate_vectors(self._embedder.embed_texts(list(texts)), len(texts), self._embedder)
        )

    def query(self, query: str) -> Vectors:
        # By itself, without a function to be made for `_checked`: every recall comes by here.
        try:
            return _validate_vector(self._embedder.embed_query(query), self._embedder)
        except LongmindError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _checked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except LongmindError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> EmbedderFailed:
        return EmbedderFailed(f"The embedder {self.model!r} failed: {type(error).__name__}: {error}")


def parse_name(name: str) -> tuple[str, str]:
    """Take `vendor:model` apart."""
    vendor, colon, model = name.partition(":")
    if not colon or not vendor or not model:
        raise InvalidInput(
            f"{name!r} is not the name of an embedder.", hint="Write vendor:model, for example local:arctic-s."
        )
    return vendor, model
