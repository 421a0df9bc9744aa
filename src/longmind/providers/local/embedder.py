"""The local embedder: a small ONNX model that needs no key and no network.

Texts and questions are computed by two graphs with the same weights. Each is loaded when it is first needed, so a
process that only asks or only writes has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longmind.providers.embedder import Vectors
from longmind.providers.local.query_encoder import QueryEncoder
from longmind.providers.local.recent_results import RecentResults
from longmind.providers.local.text_encoder import LONGEST, TextEncoder
from longmind.providers.model_files import FileSource, LocalModel, validate_files

_RECENT_SECONDS = 60.0
_RECENT_QUERIES = 256
"""Vectors of questions that are kept at most; with 384 numbers each they take 400 KB."""


class LocalEmbedder:
    """An embedder that loads its weights at the first use. Threads may share it.

    A host often asks one question in several spaces, or of facts and events, so the vectors of recent ones are kept.
    """

    def __init__(self, model: LocalModel, folder: Path, *, find_files: FileSource = validate_files) -> None:
        self._model = model
        self.encoder = TextEncoder(model, folder, find_files=find_files)
        """The encoder of texts, whose states the reader of facts works on."""
        self._queries = QueryEncoder(model, folder, longest=LONGEST, find_files=find_files)
        self._recent: RecentResults[Vectors] = RecentResults(seconds=_RECENT_SECONDS, most=_RECENT_QUERIES)

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
        return self.encoder.encode_all(texts)

    def embed_query(self, query: str) -> Vectors:
        """Return the raw vector of a question. It cannot be written to."""
        return self._recent.find(query, self._encode_query)

    def _encode_query(self, query: str) -> Vectors:
        vector = self._queries.encode(query)
        vector.flags.writeable = False
        return vector
