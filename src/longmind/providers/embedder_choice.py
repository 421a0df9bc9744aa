"""The embedder of an engine, decided when a vector is first needed.

By default it is the local model, which may have to be fetched. If it cannot be had, recall goes by words alone for as
long as the process runs, and says why: once in the log, in each recall, in the engine's measures and in `doctor`.
"""

from __future__ import annotations

import logging
import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from longmind.errors import LongmindError
from longmind.models.engine_measures import EmbedderState
from longmind.providers.embedder import CheckedEmbedder, Embedder
from longmind.providers.model_files import FileSource, get_model
from longmind.providers.provider_registry import AUTO, DEFAULT_MODEL, choose_embedder
from longmind.runtime.fork_safety import survive_forks

if TYPE_CHECKING:
    from longmind.providers.background_loop import BackgroundLoop

_log = logging.getLogger("longmind.embedder")
_reported: set[str] = set()
"""The reasons that this process has logged, each once."""


class EmbedderChoice:
    """The embedder that was chosen, and whether it can be had. Threads may share it."""

    def __init__(
        self, chosen: str | Embedder | None, models_folder: Path, loop: BackgroundLoop | None, find_files: FileSource
    ) -> None:
        self._chosen = choose_embedder(chosen, models_folder, loop, find_files)
        self._folder, self._find_files = models_folder, find_files
        self.is_default = isinstance(chosen, str) and chosen == AUTO
        # Any other choice is used as it is, and reports its own errors.
        self._is_decided = not self.is_default
        self._reason, self._hint = "", ""
        self._deciding = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._deciding = threading.Lock()

    @property
    def model(self) -> str | None:
        """The name of its vectors, whether or not it can be had; None if there is no embedder."""
        return None if self._chosen is None else self._chosen.model

    @property
    def notice(self) -> str | None:
        """A sentence for the user if the default embedder cannot be had."""
        return f"Found by words alone, not by meaning: {self._reason} {self._hint}".rstrip() if self._reason else None

    def decide(self) -> CheckedEmbedder | None:
        """Return the embedder, or None. The default one is fetched now if it is not on this machine."""
        if not self._is_decided:
            with self._deciding:
                if not self._is_decided:
                    self._check_default()
                    self._is_decided = True
        return None if self._reason else self._chosen

    def _check_default(self) -> None:
        """Look whether the default embedder can be had, and log it once if it cannot."""
        try:
            self._find_files(get_model(DEFAULT_MODEL), self._folder)
            # Where there is no build of the runtime, its import fails.
            import_module("longmind.providers.local.onnx").import_runtime()
        except LongmindError as error:
            self._reason, self._hint = error.message, error.hint
            if self._reason not in _reported:
                _reported.add(self._reason)
                _log.warning("recall goes by words alone, not by meaning: %s %s", self._reason, self._hint)

    def describe(self) -> EmbedderState:
        """Return the state of the embedder, without deciding or fetching anything."""
        if self._chosen is None:
            return EmbedderState(state="none", model=None)
        if not self._is_decided:
            return EmbedderState(state="undecided", model=self.model)
        if self._reason:
            return EmbedderState(state="unavailable", model=self.model, reason=f"{self._reason} {self._hint}".rstrip())
        return EmbedderState(state="ready", model=self.model)
