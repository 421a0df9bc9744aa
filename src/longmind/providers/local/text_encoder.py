"""The pass of the local encoder over a text: its vector for search, and the states of its tokens for the reader.

Both come from one run of the model. A text is read alone, never in a batch: the model scales its numbers by the largest
one in the run, so a neighbour would change them, and one text at a time is as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longmind.providers.embedder import Vectors
from longmind.providers.local.onnx import OnnxModel
from longmind.providers.local.recent_results import RecentResults
from longmind.providers.model_files import FileSource, LocalModel, validate_files

LONGEST = 256
"""Tokens of a text that are read; the rest is ignored."""
_RECENT_SECONDS = 900.0
_RECENT_TEXTS = 384
"""Texts whose states are kept: with 30 tokens each, they take 35 MB."""


@dataclass(frozen=True)
class EncodedText:
    """The results of one pass over a text."""

    vector: Vectors
    """The raw vector of the text; the caller normalises it."""
    states: Any
    """The states of the tokens, with those at the beginning and the end: those of several layers side by side."""
    offsets: tuple[tuple[int, int], ...]
    """The characters that each token stands for; nothing for the first and the last one."""


class TextEncoder(OnnxModel):
    """Encodes texts one by one. Threads may share it.

    A message is encoded for search when it is appended, and read for facts when its conversation is closed, so recent
    results are kept for a while.
    """

    def __init__(self, model: LocalModel, folder: Path, *, find_files: FileSource = validate_files) -> None:
        super().__init__(model, folder, longest=LONGEST, find_files=find_files)
        self._model = model
        self._recent: RecentResults[EncodedText] = RecentResults(seconds=_RECENT_SECONDS, most=_RECENT_TEXTS)
        self.passes = 0
        """The passes of the model since it was made."""

    def encode(self, text: str) -> EncodedText:
        """Return what the model computes from a text, computed unless it was encoded lately."""
        return self._recent.find(text, self._run)

    def encode_all(self, texts: Sequence[str]) -> Vectors:
        """Return the raw vectors of texts, in their order."""
        import numpy as np

        vectors = np.empty((len(texts), self._model.dimension), np.float32)
        for place, text in enumerate(texts):
            vectors[place] = self.encode(text).vector
        return vectors

    def _run(self, text: str) -> EncodedText:
        import numpy as np

        tokenizer, session = self.load()
        encoded = tokenizer.encode(self._model.text_prefix + text)
        ids = np.array([encoded.ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        last, *middle = session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})
        self.passes += 1
        # Half precision: the states are kept for a while, and the reader was trained on such.
        states = np.concatenate([*(each[0] for each in middle), last[0]], axis=1).astype(np.float16)
        # In this family of models, the first token represents the whole text.
        return EncodedText(last[0, 0], states, tuple(encoded.offsets))

    def _open_session(self, runtime: Any, options: Any, weights: Path) -> Any:
        added = b"".join(_add_output(layer) for layer in self._model.reader_layers)
        return runtime.InferenceSession(weights.read_bytes() + added, options)


def _add_output(layer: int) -> bytes:
    """Return bytes that, at the end of a model's file, make the states after a layer one more output of its graph.

    A file of ONNX is a message of protobuf, and bytes appended to one are merged into it. So the published file
    stays as it is, and its checksum holds.
    """
    name = f"/encoder/layer.{layer - 1}/output/LayerNorm/Add_1_output_0".encode()
    output = _encode_field(_NAME_OF_VALUE, name)
    return _encode_field(_GRAPH_OF_MODEL, _encode_field(_OUTPUT_OF_GRAPH, output))


_GRAPH_OF_MODEL, _OUTPUT_OF_GRAPH, _NAME_OF_VALUE = 7, 12, 1
"""Numbers of fields in the format of ONNX."""
_BYTES = 2
"""The type of a field of protobuf that holds bytes or another message."""


def _encode_field(number: int, content: bytes) -> bytes:
    """Return a field of protobuf; all lengths here fit into one byte."""
    return bytes((number << 3 | _BYTES, len(content))) + content
