"""The reranker that runs here: a small cross-encoder, which reads the question and a text as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longmind.providers.local.onnx import OnnxModel, padded
from longmind.providers.weights import ModelWeights

_LONGEST = 256
_AT_ONCE = 10


class LocalReranker(OnnxModel):
    """Loads its weights when it is first used. Threads may share it."""

    def __init__(self, weights: ModelWeights, folder: Path) -> None:
        super().__init__(weights, folder, longest=_LONGEST)
        self.model = weights.stamp

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        tokenizer, session = self.load()
        encoded = tokenizer.encode_batch([(query, text) for text in texts])
        scores = np.empty(len(texts), np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(encoded[place].ids))
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            scores[places] = _run(session, [encoded[place] for place in places])
        return [float(score) for score in scores]


def _run(session: Any, batch: list[Any]) -> Any:
    given = padded([each.ids for each in batch], [each.type_ids for each in batch])
    (logits, *_) = session.run(None, {each.name: given[each.name] for each in session.get_inputs()})
    return logits.reshape(-1)
