"""Embedders behind the API of a vendor, through pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.pydantic_ai.vendor_packages import (
    explain_missing_library,
    explain_missing_package,
    explain_refusal,
)
from longmind.runtime.fork_safety import survive_forks

_AT_ONCE = 256
"""Texts in one request. Vendors allow about two thousand."""


class RemoteEmbedder:
    """An embedding model that pydantic-ai knows, such as `openai:text-embedding-3-small`.

    Its key comes from the environment. dimension: saves the request that finds it out.
    """

    def __init__(
        self,
        name: str,
        dimension: int | None = None,
        *,
        timeout_seconds: float = 60.0,
        loop: BackgroundLoop | None = None,
    ) -> None:
        try:
            from pydantic_ai import Embedder
            from pydantic_ai.exceptions import UserError
        except ImportError as error:
            raise explain_missing_library("embedder", name) from error
        # Checked at once: a missing key would otherwise be found with the first text, when that is stored already.
        self._make = partial(Embedder, name, defer_model_check=False)
        self._name = name
        self._dimension = dimension
        self._timeout = timeout_seconds
        self._loop = loop or BackgroundLoop()
        try:
            # Also makes the first embedder.
            self.renew_after_fork()
        except ImportError as error:
            raise explain_missing_package("embedder", name, error) from error
        except (UserError, ValueError) as error:
            raise explain_refusal("embedder", name, error, "openai:text-embedding-3-small") from error
        survive_forks(self)

    def renew_after_fork(self) -> None:
        # The connections belong to the loop of the parent.
        self._embedder = self._make()

    @property
    def model(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            # The length of a first vector is the dimension.
            self._dimension = len(self.embed_query("dimension"))
        return self._dimension

    def embed_texts(self, texts: Sequence[str]) -> list[Any]:
        """Return the vectors of texts, fetched in batches; raises whatever pydantic-ai raises."""
        vectors: list[Any] = []
        for start in range(0, len(texts), _AT_ONCE):
            vectors += self._wait_for(self._embedder.embed_documents(list(texts[start : start + _AT_ONCE]))).embeddings
        return vectors

    def embed_query(self, query: str) -> Any:
        return self._wait_for(self._embedder.embed_query(query)).embeddings[0]

    def _wait_for(self, request: Coroutine[Any, Any, Any]) -> Any:
        """Run one request on the background loop; raise TimeoutError after the limit."""
        return self._loop.submit(asyncio.wait_for(request, self._timeout)).result()
