"""The inner loops of recall in numpy, for platforms where nothing was compiled.

Each function does what the function of the same name in `inner_loops.c` does, up to the last digits of a number, since
sums are added in another order; `tests/recall/test_kernels.py` compares the two. Arguments that come last and are
arrays are the caller's, and receive the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from longmind.models.value import HiddenAttributes, Value
from longmind.recall.index.postings import RunArrays
from longmind.recall.kernels.numpy_best import BestAtoms, Columns, Weights, best
from longmind.recall.kernels.numpy_totals import is_too_rough, total, zero_missing
from longmind.recall.kernels.numpy_vectors import fine_likeness, likeness, measure_largest_error
from longmind.recall.kernels.numpy_windows import window_scores
from longmind.recall.kernels.numpy_words import word_scores

__all__ = [
    "best", "copy_values", "fine_likeness", "hold", "likeness", "rank", "total", "values", "window_scores",
    "word_scores",
]  # fmt: skip


V = TypeVar("V", bound=Value)
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


class SpaceArrays(NamedTuple):
    """The arrays and weights that stay the same from question to question, for `rank`."""

    runs: tuple[RunArrays, ...]
    worth: Floats
    rows: NDArray[np.int8] | None
    finer: NDArray[np.int8] | None
    scales: NDArray[np.float32]
    rest: Floats
    usual_atoms: float
    columns: Columns
    weights: Weights


class Scale(NamedTuple):
    """The numbers by which a question weighs words, and turns a total into a probability."""

    words_weight: float
    middle: float
    """The total at which the similarity is one half."""
    spread: float
    """The spread of the logistic curve."""


hold = SpaceArrays


def rank(
    held: SpaceArrays,
    terms: tuple[int, ...],
    vector: NDArray[np.float32] | None,
    roughly: NDArray[np.float32] | None,
    among: Mask | None,
    atoms: int,
    counted: Mask | None,
    usual: tuple[float, float] | None,
    rest: Floats | None,
    matching: Mask,
    bonus: Floats | None,
    most: float,
    known_at: int,
    now: int,
    limit: int,
    scale: Scale,
) -> tuple[BestAtoms, int]:
    """Return the best of the matching atoms, and the number of matching atoms.

    It is `word_scores`, `likeness`, `total` and `best` in one call. The exact likeness is computed only for the atoms
    that can be among the best, unless the approximate one is too rough for the space.

    roughly: the approximate likeness, if it is known already.
    rest: replaces the rest of `held`.
    scale: replaces the middle and the spread of the weights.
    """
    size = len(matching)
    lexical, sums = np.zeros(size), np.empty(size)
    word_scores(held.runs, terms, held.worth, among, atoms, lexical)
    rows, finer, scales = held.rows, held.finer, held.scales
    if rows is not None and vector is not None and roughly is None and size:
        roughly = np.empty(size, np.float32)
        likeness(vector, rows, scales, roughly)
    rest = held.rest if rest is None else rest
    among_all = (counted, usual, held.usual_atoms, scale.words_weight, rest, sums)
    by = total(lexical, roughly, None, 0.0, *among_all)
    slack, settle = 0.0, None
    if rows is not None and finer is not None and vector is not None and roughly is not None:
        unsure = measure_largest_error(vector, scales)
        if is_too_rough(unsure, by):
            dense = np.empty(size)
            fine_likeness(vector, rows, finer, scales, dense)
            total(lexical, roughly, dense, unsure, *among_all)
        else:
            slack, settle = by * unsure, _make_refiner(vector, rows, finer, scales, roughly, by, sums)
    weights = held.weights._replace(middle=scale.middle, spread=scale.spread)
    wanted = (matching, bonus, held.columns, weights, most, known_at, now, limit)
    return best(sums, *wanted, slack, settle), int(np.count_nonzero(matching))


def _make_refiner(
    vector: NDArray[np.float32],
    rows: NDArray[np.int8],
    finer: NDArray[np.int8],
    scales: NDArray[np.float32],
    roughly: NDArray[np.float32],
    by: float,
    sums: Floats,
) -> Callable[[Places], None]:
    def settle(places: Places) -> None:
        """Correct the totals of some places, whose likeness is only known approximately."""
        exactly = np.empty(len(places))
        fine_likeness(vector, rows[places], finer[places], scales[places], exactly)
        sums[places] += zero_missing((exactly - roughly[places]) * by)

    return settle


def values(kind: type[V], beside: HiddenAttributes, names: tuple[str, ...], columns: tuple[list[Any], ...]) -> list[V]:
    """Return values of a class from columns of all their fields, without validation.

    beside: the attributes of a value that are no fields, which the compiled version sets directly.
    """
    return [kind.from_trusted(dict(zip(names, fields, strict=True))) for fields in zip(*columns, strict=True)]


def copy_values(
    kind: type[V],
    beside: HiddenAttributes,
    own: tuple[str, ...],
    lists: tuple[str, ...],
    kept: Mapping[int, tuple[Any, ...]],
    places: list[int],
) -> list[V | None]:
    """Return new values of a class from cached fields, and None for a place that is not cached.

    kept: by place, the fields that are shared with other values, the own fields in the order of `own`, and the members
        of the lists in the order of `lists`, or None where all lists are empty. Each value gets lists of its own.
    """
    made: list[V | None] = []
    for found in map(kept.get, places):
        if found is None:
            made.append(None)
            continue
        common, members = found[0], found[len(own) + 1]
        fields = {**common, **dict(zip(own, found[1:], strict=False))}
        for at, name in enumerate(lists):
            fields[name] = [] if members is None else list(members[at])
        made.append(kind.from_trusted(fields))
    return made
