"""The encoder of questions: it costs little more than half of what the embedder's own graph needs for one.

The embedder expects an instruction before a question, which is half of the tokens of a usual one. The packaged graph
has constants in its place, and reads its matrices from the embedder's file. So its vectors can be compared with those
of texts, and nothing is stored twice. `training/query_encoder` makes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longmind.providers.embedder import Vectors
from longmind.providers.local.onnx import OnnxModel
from longmind.providers.model_files import FileSource, LocalModel, read_query_graph, validate_files


class QueryEncoder(OnnxModel):
    """Computes the vectors of questions, one at a time. Threads may share it."""

    def __init__(
        self, model: LocalModel, folder: Path, *, longest: int, find_files: FileSource = validate_files
    ) -> None:
        super().__init__(model, folder, longest=longest, find_files=find_files)
        self._model = model

    def encode(self, query: str) -> Vectors:
        """Return the raw vector of a question; the caller normalises it."""
        import numpy as np

        tokenizer, session = self.load()
        # Without the token at the end, which has constants in its place too.
        ids = tokenizer.encode(query).ids[:-1]
        (vector,) = session.run(None, {"ids": np.array([ids], np.int64)})
        return vector  # type: ignore[no-any-return]  # onnxruntime has no types

    def _open_session(self, runtime: Any, options: Any, weights: Path) -> Any:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights.parent))
        return runtime.InferenceSession(read_query_graph(self._model), options)
