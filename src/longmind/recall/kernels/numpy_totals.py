"""The total of every atom in numpy: words, likeness and the rest on one scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def total(
    lexical: Floats,
    roughly: NDArray[np.float32] | None,
    dense: Floats | None,
    unsure: float,
    counted: Mask | None,
    usual: tuple[float, float] | None,
    usual_atoms: float,
    words_weight: float,
    rest: Floats,
    sums: Floats,
) -> float:
    """Write the total of each atom to `sums`: weighted words, standardised likeness, and the rest.

    lexical: the word scores.
    roughly, dense: the approximate and the exact likeness; None where there is none.
    unsure: the largest error of `roughly`.
    counted: the atoms whose likeness defines the mean and the deviation; None for all.
    usual, usual_atoms: the mean and deviation of the embedder, and the number of atoms that they count as.

    The mean and the deviation come from `roughly`, or from `dense` where the likeness of the atoms differs by less than
    `roughly` can resolve. Returns the weight of one unit of likeness, which is 0 without vectors.
    """
    np.multiply(lexical, words_weight, out=sums)
    by = 0.0
    if roughly is not None:
        values = roughly.astype(np.float64)
        mean, deviation = measure_usual(counted, values, usual, usual_atoms)
        finely = dense is not None and is_too_rough(unsure, 1 / deviation)
        if dense is not None and finely:
            values = dense.copy()
            mean, deviation = measure_usual(counted, values, usual, usual_atoms)
        by = 1 / deviation
        values -= mean
        values *= by
        sums += values if counted is None else zero_missing(values)
        sums += rest
        if dense is not None and not finely:
            sums += zero_missing((dense - roughly) * by)
    else:
        sums += rest
    return by


def is_too_rough(unsure: float, by: float) -> bool:
    """Return whether the error of an approximate likeness, in deviations, is too large for it to rank atoms.

    The limit is generous, since the usual error is far below the largest one.
    """
    return unsure * by > _LARGEST_ERROR


_LARGEST_ERROR = 4.0
LARGEST_SHARE = 0.5
"""The largest share of a space in what counts as usual, where the embedder says what is usual."""
_LEAST_VARIANCE = 1e-8
"""Cosines that vary by less differ only by rounding."""


def standardise(counted: Mask | None, values: Floats, usual: tuple[float, float] | None, usual_atoms: float) -> Floats:
    """Return the distance of each value from the mean of the space, in deviations; NaN counts as the mean."""
    mean, deviation = measure_usual(counted, values, usual, usual_atoms)
    return zero_missing((values - mean) * (1 / deviation))


def zero_missing(values: Floats) -> Floats:
    """Put atoms without a vector at the mean, which is 0."""
    return np.nan_to_num(values, copy=False)


def measure_usual(
    counted: Mask | None, values: Floats, usual: tuple[float, float] | None, usual_atoms: float
) -> tuple[float, float]:
    """Return the mean and the deviation of values, mixed with the `usual` ones: the more the fewer values there are.

    The usual ones keep a share however many there are. A question that has nothing to do with a space is a little more
    like some of its texts than like others, and only what is usual elsewhere shows that none is like it.
    """
    own_values = values if counted is None else values[counted]
    count = len(own_values)
    mean, variance = (0.0, 1.0) if usual is None else (usual[0], usual[1] ** 2)
    if count:
        own = float(np.add.reduce(own_values)) / count
        share = 1.0 if usual is None else count / (count / LARGEST_SHARE + usual_atoms)
        # Not by a dot product: for many atoms that starts threads, which cost more than they save. The rounding
        # error of the difference is far below the least variance.
        own_variance = float(np.add.reduce(own_values * own_values)) / count - own * own
        variance = share * max(own_variance, 0.0) + (1 - share) * variance
        mean = share * own + (1 - share) * mean
    return mean, max(variance, _LEAST_VARIANCE) ** 0.5
