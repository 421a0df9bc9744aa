"""The local embedder: a small ONNX model that needs no key and no network.

Texts and questions are computed by two graphs with the same weights. Each is loaded when it is first needed, so a
process that only asks or only writes has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longmind.providers.embedder import Vectors
from longmind.providers.local.onnx import OnnxModel, pad_batch
from longmind.providers.local.query_encoder import QueryEncoder
from longmind.providers.local.recent_vectors import RecentVectors
from longmind.providers.model_files import LocalModel

_LONGEST = 256
"""Tokens of a text that are read; the rest is ignored."""
_AT_ONCE = 16


class LocalEmbedder(OnnxModel):
    """An embedder that loads its weights at the first use. Threads may share it."""

    def __init__(self, model: LocalModel, folder: Path) -> None:
        super().__init__(model, folder, longest=_LONGEST)
        self._model = model
        self._queries = QueryEncoder(model, folder, longest=_LONGEST)
        self._recent = RecentVectors()

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
        """Return the raw vectors of texts, in their order."""
        import numpy as np

        tokenizer, session = self.load()
        encoded = [
            encoding.ids for encoding in tokenizer.encode_batch([self._model.text_prefix + text for text in texts])
        ]
        vectors = np.empty((len(texts), self._model.dimension), np.float32)
        # Batches of similar length spend little time on padding.
        order = sorted(range(len(texts)), key=lambda place: len(encoded[place]))
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            vectors[places] = _run(session, [encoded[place] for place in places])
        return vectors

    def embed_query(self, query: str) -> Vectors:
        return self._recent.find(query, self._queries.encode)


def _run(session: Any, batch: list[list[int]]) -> Vectors:
    """Return the raw vectors of one batch; the caller normalises them."""
    inputs = pad_batch(batch)
    (states, *_) = session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})
    # In this family of models, the first token represents the whole text.
    return states[:, 0] if states.ndim == 3 else states  # type: ignore[no-any-return]
