"""The base of local models: files that are verified, loaded once, and run on one thread.

One thread per call, because callers run in parallel already; more would compete for the same cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longmind.errors import ExtensionMissing
from longmind.providers.local.word_pieces import WordPieces
from longmind.providers.model_files import FileSource, ModelWeights, validate_files
from longmind.runtime.fork_safety import survive_forks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class OnnxModel:
    """A tokenizer and a session of onnxruntime, loaded at the first use.

    longest: tokens of a text that are read; the rest is ignored.
    find_files: returns the files; by default one that is missing or damaged is an error, and not fetched.
    """

    def __init__(
        self, weights: ModelWeights, folder: Path, *, longest: int, find_files: FileSource = validate_files
    ) -> None:
        self._weights = weights
        self._folder = folder
        self._longest = longest
        self._find_files = find_files
        self._loading = threading.Lock()
        self._loaded: tuple[WordPieces, Any] | None = None
        survive_forks(self)

    def renew_after_fork(self) -> None:
        # The threads of the runtime exist only in the parent, and a session without them hangs.
        self._loading = threading.Lock()
        self._loaded = None

    def load(self) -> tuple[WordPieces, Any]:
        """Return the tokenizer and the session; raise ModelMissing or ExtensionMissing if they cannot be loaded."""
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = self._open(self._find_files(self._weights, self._folder))
        return self._loaded

    def _open(self, files: dict[str, Path]) -> tuple[WordPieces, Any]:
        """Load the tokenizer and the session from verified files."""
        runtime = import_runtime()
        tokenizer = WordPieces(files["vocab.txt"], longest=self._longest)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        return tokenizer, self._open_session(runtime, options, files["model.onnx"])

    def _open_session(self, runtime: Any, options: Any, weights: Path) -> Any:
        """Return the session of onnxruntime that runs the model."""
        return runtime.InferenceSession(str(weights), options)


def import_runtime() -> Any:
    """Return the module onnxruntime, without its telemetry; raise ExtensionMissing if it cannot be imported."""
    # From 1.31 on it reports to its maker from its import on, which only the environment can prevent.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # type: ignore[import-untyped]  # it has no types
    except ImportError as error:
        raise ExtensionMissing(
            f"Local models need onnxruntime, which cannot be imported: {error}.", hint="Run: pip install onnxruntime"
        ) from error
    # The program may have imported it before.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def pad_batch(
    batch: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]] | None = None
) -> dict[str, NDArray[np.int64]]:
    """Return the inputs of a BERT-like model: padded token ids, the mask of real tokens, and the token types.

    kinds: for each token, the text of a pair that it belongs to, 0 or 1.
    """
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
