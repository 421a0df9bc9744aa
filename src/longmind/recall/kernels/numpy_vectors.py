"""Likeness in numpy: the cosine of a query with every vector, roughly or exactly.

A number of a vector is stored as two bytes, see `VectorsSegment`: the high bytes alone give an approximate cosine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.segments import FINER, rough, small_integers

try:
    from simsimd import cdist
except ImportError:
    cdist = None  # type: ignore[assignment]  # not built for this platform: numpy gives the same, five times slower


Floats = NDArray[np.float64]

_AT_ONCE = 512
"""Rows that are widened at a time."""


def likeness(
    query: NDArray[np.float32], rows: NDArray[np.int8], scales: NDArray[np.float32], found: NDArray[np.float32]
) -> None:
    """Write the approximate cosine of a vector with each row to `found`, from the high bytes alone.

    The error is at most `measure_largest_error`. A row whose scale is 0 has no vector and gets NaN.
    """
    steps, scale = small_integers(query)
    np.multiply(dots(rough(steps).astype(np.int8), rows), scales, out=found)
    found *= scale
    found[scales == 0] = np.nan


def fine_likeness(
    query: NDArray[np.float32],
    rows: NDArray[np.int8],
    finer: NDArray[np.int8],
    scales: NDArray[np.float32],
    found: Floats,
) -> None:
    """Write the cosine of a vector with each row to `found`, from both bytes; a row without a vector gets NaN.

    The sums are integers until the end, and so do not depend on the order of the additions.
    """
    steps, scale = small_integers(query)
    asked = steps.astype(np.float64)
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        wide = rows[part].astype(np.float64)
        wide *= FINER
        wide += finer[part]
        np.matmul(wide, asked, out=found[part])
    found *= scales.astype(np.float64) * (float(scale) / FINER**2)
    found[scales == 0] = np.nan


def measure_largest_error(query: NDArray[np.float32], scales: NDArray[np.float32]) -> float:
    """Return the largest error that `likeness` can make.

    A dot product is at most the product of the lengths. Vectors have length 1, so the error is at most the length of
    what rounding to high bytes leaves: half a step in each number of a row, and a known remainder of the query.
    """
    steps, scale = small_integers(query)
    of_rows = float(scales.max(initial=0)) * math.sqrt(len(query)) / 2
    left = (steps - FINER * rough(steps)).astype(np.float64)
    of_query = math.sqrt(float(left @ left)) * float(scale) / FINER
    # Rounding to the finest steps adds to it, the more the longer the vectors are.
    rounded = 1.001 + math.sqrt(len(query)) / 65_000
    return rounded * (of_rows + of_query + of_rows * of_query)


def dots(query: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the dot product of a vector with each row; both ways are exact, since the sums stay below 2**24."""
    if cdist is not None and len(rows):
        products: Any = cdist(query[None, :], rows, metric="dot", out_dtype="float32")
        return np.asarray(products, np.float32).reshape(-1)
    out = np.empty(len(rows), np.float32)
    wide = query.astype(np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        # A few rows at a time, so that their wider copies stay in the processor's cache.
        np.matmul(rows[start : start + _AT_ONCE].astype(np.float32), wide, out=out[start : start + _AT_ONCE])
    return out
