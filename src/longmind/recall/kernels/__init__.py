"""The innermost loops of recall: compiled ones where the package was built with a compiler, or else numpy's."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from longmind.recall.kernels import numpy_kernels

COMPILED_VERSION = 7
"""What `VERSION` in `inner_loops.c` is. What was compiled from another version of it is left alone."""


def _import_compiled() -> ModuleType | None:
    try:
        from longmind.recall.kernels import inner_loops
    except ImportError:
        return None
    return inner_loops if inner_loops.VERSION == COMPILED_VERSION else None


compiled = _import_compiled()
if TYPE_CHECKING:
    loops = numpy_kernels  # the other one has the same functions
else:
    loops = numpy_kernels if compiled is None else compiled


# On a processor that the compiler was not told to make use of, a library that knows them all is faster.
knows_processor = compiled is not None and bool(compiled.KNOWS_PROCESSOR)
likeness = loops.likeness if knows_processor else numpy_kernels.likeness
