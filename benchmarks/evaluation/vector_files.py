"""Files of vectors, so that a later run need not compute them again."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from longmind.providers.embedder import CheckedEmbedder, Vectors

_KEY_BYTES = 16
_PROBE = "The cat that lives next door was born on 3 May 2021 and weighs four kilograms."


def make_key(text: str) -> bytes:
    """Return the key under which the vector of a text is stored."""
    return hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest()


class VectorFolder:
    """A folder of files with vectors. Every save adds a file, so several processes may share the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def of_embedder(cls, folder: Path, embedding: CheckedEmbedder) -> VectorFolder:
        """Return the part of a folder for an embedder.

        The vectors of a fixed text name it: the same model in another version of our code may differ.
        """
        probe = np.concatenate([embedding.texts([_PROBE])[0], embedding.query(_PROBE)])
        name = re.sub(r"[^\w.-]+", "-", embedding.stamp)
        return cls(folder / f"{name}-{zlib.crc32(probe.tobytes()):08x}")

    def load(self, kind: str) -> dict[bytes, Vectors]:
        """Return all stored vectors of a kind."""
        found: dict[bytes, Vectors] = {}
        for path in sorted(self._folder.glob(f"{kind}-*.npz")):
            with np.load(path) as arrays:
                vectors = arrays["vectors"]
                found.update((key.tobytes(), vector) for key, vector in zip(arrays["keys"], vectors, strict=True))
        return found

    def save(self, kind: str, vectors: Mapping[bytes, Vectors]) -> None:
        """Store vectors in a file of their own."""
        if not vectors:
            return
        keys = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), _KEY_BYTES)
        name = f"{kind}-{hashlib.blake2b(keys.tobytes(), digest_size=8).hexdigest()}.npz"
        # A reader sees the whole file or none.
        partial = self._folder / f".{name}.{os.getpid()}"
        with partial.open("wb") as file:
            np.savez(file, keys=keys, vectors=np.array(list(vectors.values())))
        partial.replace(self._folder / name)
