"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Column:
    """One value for each atom of a space, in the order of their positions."""

    def __init__(self, kind: DTypeLike, fill: Any = 0, width: int | None = None) -> None:
        self._array = np.empty((0,) if width is None else (0, width), kind)
        self._fill = fill
        self._size = 0

    def grow(self, size: int) -> None:
        """Make room up to a size; new places hold what nothing is known of."""
        if size > len(self._array):
            room = max(size, len(self._array) * 5 // 4 + 16)
            grown = np.empty((room, *self._array.shape[1:]), self._array.dtype)
            grown[: self._size] = self._array[: self._size]
            self._array = grown
        if size > self._size:
            self._array[self._size : size] = self._fill
            self._size = size

    @property
    def values(self) -> NDArray[Any]:
        return self._array[: self._size]

    @property
    def nbytes(self) -> int:
        return self._array.nbytes
