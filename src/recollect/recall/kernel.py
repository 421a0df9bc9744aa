"""The innermost loop: integer dot products of one vector with many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from simsimd import cdist
except ImportError:
    cdist = None  # type: ignore[assignment]  # not built for this platform: numpy gives the same, five times slower

_AT_ONCE = 512


def dots(query: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """The dot product of a vector with each row. Integers below 2**24 are exact in either way."""
    if cdist is not None and len(rows):
        found: Any = cdist(query[None, :], rows, metric="dot", out_dtype="float32")
        return np.asarray(found, np.float32).reshape(-1)
    out = np.empty(len(rows), np.float32)
    wide = query.astype(np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        # A few rows at a time, so that their wider copies stay in the processor's cache.
        np.matmul(rows[start : start + _AT_ONCE].astype(np.float32), wide, out=out[start : start + _AT_ONCE])
    return out
