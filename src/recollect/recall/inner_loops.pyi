from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.recall.plain_loops import Columns, Floats, Mask, Places, Weights
from recollect.recall.postings import RunArrays

VERSION: int

def word_scores(
    runs: Sequence[RunArrays],
    terms: tuple[int, ...],
    worth: Floats,
    among: Mask | None,
    atoms: int,
    scores: Floats,
    /,
) -> None: ...
def total(
    lexical: Floats,
    dense: NDArray[np.float32] | None,
    counted: Mask | None,
    usual: tuple[float, float] | None,
    usual_atoms: float,
    words_weight: float,
    rest: Floats,
    sums: Floats,
    /,
) -> None: ...
def best(
    standing: Floats,
    matching: Mask,
    bonus: Floats | None,
    columns: Columns,
    weights: Weights,
    share: float,
    known_at: int,
    now: int,
    places: Places,
    factors: Floats,
    /,
) -> int: ...
