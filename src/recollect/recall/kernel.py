"""The innermost loops of recall: compiled ones where the package was built with a compiler, or else numpy's."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.recall import plain_loops

try:
    from simsimd import cdist
except ImportError:
    cdist = None  # type: ignore[assignment]  # not built for this platform: numpy gives the same, five times slower

COMPILED_VERSION = 1
"""What `VERSION` in `inner_loops.c` is. What was compiled from another version of it is left alone."""
_AT_ONCE = 512


def _compiled() -> ModuleType | None:
    try:
        from recollect.recall import inner_loops
    except ImportError:
        return None
    return inner_loops if inner_loops.VERSION == COMPILED_VERSION else None


compiled = _compiled()
if TYPE_CHECKING:
    loops = plain_loops  # the other one has the same functions
else:
    loops = plain_loops if compiled is None else compiled


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
