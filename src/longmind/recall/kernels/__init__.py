"""The innermost loops of recall: compiled ones, or those of numpy where the package was built without a compiler."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from longmind.recall.kernels import numpy_kernels

COMPILED_VERSION = 8
"""The `VERSION` of `inner_loops.c` that fits this code. A compiled module of another version is ignored."""


def _import_compiled() -> ModuleType | None:
    try:
        from longmind.recall.kernels import inner_loops
    except ImportError:
        return None
    return inner_loops if inner_loops.VERSION == COMPILED_VERSION else None


compiled = _import_compiled()
if TYPE_CHECKING:
    loops = numpy_kernels  # both have the same functions
else:
    loops = numpy_kernels if compiled is None else compiled


# On a processor whose instructions the compiled module does not use, simsimd is faster.
knows_processor = compiled is not None and bool(compiled.KNOWS_PROCESSOR)
likeness = loops.likeness if knows_processor else numpy_kernels.likeness
