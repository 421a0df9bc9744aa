"""The local reranker: a small cross-encoder, which reads the question and a text together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longmind.providers.local.onnx import OnnxModel, pad_batch
from longmind.providers.local.word_pieces import Tokens
from longmind.providers.model_files import FileSource, ModelWeights, validate_files

_LONGEST = 256
_AT_ONCE = 10


class LocalReranker(OnnxModel):
    """A reranker that loads its weights at the first use. Threads may share it."""

    def __init__(self, weights: ModelWeights, folder: Path, *, find_files: FileSource = validate_files) -> None:
        super().__init__(weights, folder, longest=_LONGEST, find_files=find_files)
        self.model = weights.stamp

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the log odds that each text answers the question."""
        tokenizer, session = self.load()
        encoded = [tokenizer.encode_pair(query, text) for text in texts]
        scores = np.empty(len(texts), np.float32)
        # Batches of similar length spend little time on padding.
        order = sorted(range(len(texts)), key=lambda place: len(encoded[place].ids))
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            scores[places] = _run(session, [encoded[place] for place in places])
        return [float(score) for score in scores]


def _run(session: Any, batch: list[Tokens]) -> Any:
    inputs = pad_batch([each.ids for each in batch], [each.kinds for each in batch])
    (logits, *_) = session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})
    return logits.reshape(-1)
