"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Column:
    """One value for each atom of a space, in the order of positions."""

    def __init__(self, kind: DTypeLike, fill: Any = 0, width: int | None = None) -> None:
        self._array = np.empty((0,) if width is None else (0, width), kind)
        self._fill = fill
        self.values: NDArray[Any] = self._array
        """The filled part of the array."""

    def grow(self, size: int, expected: int = 0) -> None:
        """Extend the column to a size; new places hold the fill value.

        expected: the size that it will have soon, for which room is made at once.
        """
        filled = len(self.values)
        if size > len(self._array):
            room = max(size, expected, len(self._array) * 5 // 4 + 16)
            grown = np.empty((room, *self._array.shape[1:]), self._array.dtype)
            grown[:filled] = self.values
            self._array = grown
        if size > filled:
            self._array[filled:size] = self._fill
            self.values = self._array[:size]

    @property
    def nbytes(self) -> int:
        return self._array.nbytes
