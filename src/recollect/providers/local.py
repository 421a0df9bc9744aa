"""The embedder that runs here: a small ONNX model, no key, no network."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect.errors import ExtensionMissing
from recollect.forking import survive_forks
from recollect.providers.embedder import Vectors
from recollect.providers.weights import LocalModel, checked_files

_LONGEST = 256
"""Tokens of a text that are looked at."""
_AT_ONCE = 16


class LocalEmbedder:
    """Loads its weights when it is first used. Threads may share it."""

    def __init__(self, model: LocalModel, folder: Path) -> None:
        self._model = model
        self._folder = folder
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        survive_forks(self)

    def renew_after_fork(self) -> None:
        # The threads of the runtime stay with the parent, and a session without them hangs.
        self._loading = threading.Lock()
        self._loaded = None

    @property
    def model(self) -> str:
        return self._model.stamp

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def usual_similarity(self) -> tuple[float, float]:
        return self._model.usual_similarity

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        return self._embed([self._model.text_prefix + text for text in texts])

    def embed_query(self, query: str) -> Vectors:
        return self._embed([self._model.query_prefix + query])[0]  # type: ignore[no-any-return]

    def _embed(self, texts: list[str]) -> Vectors:
        import numpy as np

        tokenizer, session = self._load()
        encoded = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        vectors = np.empty((len(texts), self._model.dimension), np.float32)
        # Texts of like length go together, so that little time is spent on padding.
        order = sorted(range(len(texts)), key=lambda place: len(encoded[place]))
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            vectors[places] = _run(session, [encoded[place] for place in places])
        return vectors

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = _open(checked_files(self._model, self._folder))
        return self._loaded


def _open(files: dict[str, Path]) -> tuple[Any, Any]:
    try:
        import onnxruntime  # type: ignore[import-untyped]  # it has no types
        from tokenizers import BertWordPieceTokenizer
    except ImportError as error:
        raise ExtensionMissing(
            "The local embedder needs onnxruntime and tokenizers, which are not installed.",
            hint="pip install 'recollect[local]'",
        ) from error
    tokenizer = BertWordPieceTokenizer(str(files["vocab.txt"]), lowercase=True)
    tokenizer.enable_truncation(_LONGEST)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return tokenizer, onnxruntime.InferenceSession(str(files["model.onnx"]), options)


def _run(session: Any, batch: list[list[int]]) -> Vectors:
    import numpy as np

    longest = max(len(ids) for ids in batch)
    ids = np.zeros((len(batch), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (states, *_) = session.run(None, {each.name: given[each.name] for each in session.get_inputs()})
    # The first token stands for the whole text in this family of models.
    return states[:, 0] if states.ndim == 3 else states  # type: ignore[no-any-return]
