"""Decay of memory: the weight of an atom halves in a time that depends on its kind, down to a floor of a quarter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.atom_columns import KINDS

_DAY = 24 * 3600 * 1_000_000
_SLOW, _MEDIUM, _FAST = 365 * _DAY, 60 * _DAY, 14 * _DAY
_HALF_LIVES = {
    "FACT": _SLOW,
    "RULE": _SLOW,
    "INTENTION": _MEDIUM,
    "EPISODE": _FAST,
    "PREFERENCE": _SLOW,
    "PATTERN": _SLOW,
}
RATES = math.log(2) / np.array([_HALF_LIVES[kind] for kind in KINDS], np.float64)
"""The rate of decay of each kind, by its code."""
FLOOR = 0.25


def decay_weights(
    rates: NDArray[np.float64], fresh_at: NDArray[np.int64], now: int, floor: float
) -> NDArray[np.float64]:
    """Return the weight of each atom at an instant. An atom that begins in the future has its full weight."""
    # exp rather than exp2, since processors have fast instructions for it.
    weights: NDArray[np.float64] = (fresh_at - now) * rates
    np.minimum(weights, 0.0, out=weights)
    np.exp(weights, out=weights)
    return np.maximum(weights, floor, out=weights)
