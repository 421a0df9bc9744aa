"""The contract of an embedder, and the wrapper that checks what one returns.

Embedders are the host's code or a vendor's. Whatever they return is validated here and normalised to unit vectors of
32-bit floats, and whatever they raise becomes an EmbedderFailed, unless it is a LongmindError already. So everything
behind this module may rely on vectors.
"""

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
    """Turns texts into vectors, so that texts with a similar meaning are near each other.

    It may also have `usual_similarity`: the mean and deviation of the cosine of unrelated questions and texts.
    """

    @property
    def model(self) -> str:
        """The name that vectors are stamped with: those of embedders with the same name can be compared."""

    @property
    def dimension(self) -> int:
        """The length of its vectors. It is read only when it is needed, since it may take a request."""

    def embed_texts(self, texts: Sequence[str]) -> Any:
        """Return one vector for each text to be found: an array, or anything that converts to one."""

    def embed_query(self, query: str) -> Any:
        """Return the vector of a question, for which some models expect a form of its own."""


def validate_vectors(vectors: Any, count: int, embedder: Embedder) -> Vectors:
    """Return the vectors as unit vectors; raise EmbedderFailed if the shape is wrong or a number is not finite."""
    # Loaded only now: choosing an embedder, or none, computes nothing.
    import numpy as np

    array = _as_floats(vectors, embedder)
    if array.shape != (count, embedder.dimension):
        wanted = (count, embedder.dimension)
        raise EmbedderFailed(
            f"The embedder {embedder.model!r} returned vectors of the shape {array.shape}, not {wanted}."
        )
    with np.errstate(over="ignore"):
        squares = np.add.reduce(array * array, axis=1, keepdims=True)
    if ((squares > _TINY) & (squares < _HUGE)).all():
        return (array / np.sqrt(squares)).astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise EmbedderFailed(f"The embedder {embedder.model!r} returned a vector with NaN or infinity.")
    # Scaled to numbers of at most 1 first: squares of very large or very small ones do not fit into 32 bits.
    largest = np.abs(array).max(axis=1, keepdims=True, initial=0)
    scaled = array / np.where(largest == 0, 1, largest)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def _as_floats(vectors: Any, embedder: Embedder) -> Vectors:
    """Return the embedder's answer as an array of 32-bit floats; raise EmbedderFailed if it is none."""
    import numpy as np

    if isinstance(vectors, np.ndarray) and vectors.dtype == np.float32:
        return vectors
    try:
        with np.errstate(over="ignore"):
            # Numbers that are too large become infinity, and are refused later.
            return np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbedderFailed(
            f"The embedder {embedder.model!r} returned something that is not a list of vectors."
        ) from error


def _validate_vector(vector: Any, embedder: Embedder) -> Vectors:
    """Return one vector as a unit vector, like `validate_vectors`.

    The usual case is fast: a length of 1 already proves that every number in it is finite.
    """
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
"""Largest deviation from 1 of the squared length of a vector that was normalised with 32-bit precision."""
_TINY, _HUGE = 1e-20, 1e20
"""Range of squared lengths without a loss to rounding. NaN is not in any range."""


def _validate_usual_similarity(given: Any) -> tuple[float, float] | None:
    """Return the embedder's usual similarity, or None if it names none; raise InvalidInput unless it is two numbers."""
    if given is None:
        return None
    try:
        mean, deviation = map(float, given)
    except (TypeError, ValueError):
        mean = deviation = math.nan
    if not (math.isfinite(mean) and math.isfinite(deviation) and deviation >= 0):
        raise InvalidInput(
            f"The embedder's usual_similarity is {given!r}.",
            hint="Return two numbers: the mean and the deviation of the cosines of unrelated texts.",
        )
    return mean, deviation


class CheckedEmbedder:
    """An embedder whose answers are validated and whose failures are errors of ours. Threads may share it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model = type(embedder).__name__
        self.model = validate_text("The embedder's model", self._call(lambda: embedder.model), blank=False)
        self._stamp: str | None = None
        self.usual = _validate_usual_similarity(self._call(lambda: getattr(embedder, "usual_similarity", None)))
        """The mean and deviation of the similarity of an unrelated question and text, if the embedder knows them."""

    @property
    def encoder(self) -> Any:
        """The encoder that an embedder on this machine runs, for readers that work on its states; None without one."""
        return getattr(self._embedder, "encoder", None)

    @property
    def stamp(self) -> str:
        """The name that vectors are stored under: the model's, and the dimension, since names are not always unique."""
        if self._stamp is None:
            # An embedder behind an API may need a request to learn its dimension, which can fail.
            self._stamp = self._call(lambda: f"{self.model}@{self._embedder.dimension}")
        return self._stamp

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of texts; raise EmbedderFailed or the embedder's own LongmindError."""
        return self._call(lambda: validate_vectors(self._embedder.embed_texts(list(texts)), len(texts), self._embedder))

    def query(self, query: str) -> Vectors:
        """Return the unit vector of a question; raises like `texts`."""
        # Without a closure for `_call`: every recall passes here.
        try:
            return _validate_vector(self._embedder.embed_query(query), self._embedder)
        except LongmindError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _call(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except LongmindError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> EmbedderFailed:
        return EmbedderFailed(f"The embedder {self.model!r} failed: {type(error).__name__}: {error}")


def parse_name(name: str) -> tuple[str, str]:
    """Split `vendor:model`; raise InvalidInput if it has another form."""
    vendor, colon, model = name.partition(":")
    if not colon or not vendor or not model:
        raise InvalidInput(
            f"{name!r} is not a valid name of an embedder.", hint="Write vendor:model, for example local:arctic-s."
        )
    return vendor, model
