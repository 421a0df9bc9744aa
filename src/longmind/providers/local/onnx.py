"""What the models that run here have in common: files that are checked, loaded once, and run on one thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longmind.errors import ExtensionMissing
from longmind.providers.weights import ModelWeights, validate_files
from longmind.runtime.fork_safety import survive_forks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class OnnxModel:
    """A tokenizer and a session, which are loaded when they are first used."""

    def __init__(self, weights: ModelWeights, folder: Path, *, longest: int) -> None:
        self._weights = weights
        self._folder = folder
        self._longest = longest
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        survive_forks(self)

    def renew_after_fork(self) -> None:
        # The threads of the runtime stay with the parent, and a session without them hangs.
        self._loading = threading.Lock()
        self._loaded = None

    def load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = _open(validate_files(self._weights, self._folder), self._longest)
        return self._loaded


def _open(files: dict[str, Path], longest: int) -> tuple[Any, Any]:
    try:
        import onnxruntime  # type: ignore[import-untyped]  # it has no types
        from tokenizers import BertWordPieceTokenizer
    except ImportError as error:
        raise ExtensionMissing(
            "Local models need onnxruntime and tokenizers, which are not installed.",
            hint="pip install 'longmind[local]'",
        ) from error
    tokenizer = BertWordPieceTokenizer(str(files["vocab.txt"]), lowercase=True)
    tokenizer.enable_truncation(longest)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return tokenizer, onnxruntime.InferenceSession(str(files["model.onnx"]), options)


def padded(
    batch: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]] | None = None
) -> dict[str, NDArray[np.int64]]:
    """What a model of this family is given: tokens, which of them count, and to which of two texts they belong."""
    import numpy as np

    longest = max(len(ids) for ids in batch)
    ids = np.zeros((len(batch), longest), np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
        if kinds is not None:
            types[row, : len(tokens)] = kinds[row]
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
