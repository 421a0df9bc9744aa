"""Engines that several memories of one process share: one for each database and choice of settings.

The engine is opened with its first memory and closed with its last. One worker thread reads in the background what was
added without waiting, embeds quotes, and consolidates facts. After a fork the child goes on with the same engines and
starts a worker of its own.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from longmind.engine import Engine, open
from longmind.providers.language_model import LanguageModel
from longmind.runtime.fork_safety import survive_forks
from longmind.settings import load_settings
from longmind.store.database_url import engine_of, sqlite_path
from longmind.store.sqlite.database import MEMORY

_PATIENCE_SECONDS = 2.0


@dataclass
class SharedEngine:
    """An open engine, and the number of memories that use it."""

    engine: Engine
    key: Hashable | None
    """Its database and settings; None for a database in memory, which is never shared."""
    place: str
    """The database, as representations show it: without a password."""
    users: int = 1
    has_worker: bool = False


class SharedEngines:
    """The engines of this process that memories have opened."""

    def __init__(self) -> None:
        self._by_key: dict[Hashable, SharedEngine] = {}
        self._all: dict[int, SharedEngine] = {}
        self._lock = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._lock = threading.Lock()
        # Threads stay with the parent.
        for shared in self._all.values():
            shared.has_worker = False

    def open(self, url: str | None, choices: Mapping[str, Any]) -> SharedEngine:
        """Return the engine of a database with these choices, and count one more user of it."""
        address = _find_address(url)
        # A database in memory belongs to the memory that opens it.
        key = None if address == MEMORY else (address, *((name, _identify(choices[name])) for name in sorted(choices)))
        # Held while it opens, so that two threads that ask for one engine do not open two.
        with self._lock:
            shared = None if key is None else self._by_key.get(key)
            if shared is not None:
                shared.users += 1
                return shared
            shared = SharedEngine(_open(url, choices), key, _describe(address))
            self._all[id(shared)] = shared
            if key is not None:
                self._by_key[key] = shared
            return shared

    def release(self, shared: SharedEngine) -> None:
        """Count one user less, and close the engine after the last."""
        with self._lock:
            shared.users -= 1
            if shared.users:
                return
            self._all.pop(id(shared), None)
            if shared.key is not None:
                self._by_key.pop(shared.key, None)
        # Outside of the lock, because it waits for the worker's present job.
        shared.engine.close()

    def stop_workers(self, seconds: float) -> None:
        """Stop the workers of all engines, each within a number of seconds."""
        for shared in list(self._all.values()):
            if shared.has_worker:
                shared.engine.stop_workers(seconds)

    def ensure_worker(self, shared: SharedEngine) -> None:
        """Start the worker of an engine, unless this process has started it."""
        if shared.has_worker:
            return
        with self._lock:
            if not shared.has_worker:
                shared.engine.start_workers(1)
                shared.has_worker = True


def _open(url: str | None, choices: Mapping[str, Any]) -> Engine:
    """Open an engine; a language model is made the extractor that asks it."""
    extractor = choices.get("extractor")
    if callable(getattr(extractor, "ask", None)) and not hasattr(extractor, "extract"):
        # Imported on use: a program that calls no model should not load it.
        from longmind.extraction.model.extractor import ModelExtractor

        return open(url, **{**choices, "extractor": ModelExtractor(cast(LanguageModel, extractor))})
    return open(url, **choices)


def _find_address(url: str | None) -> str:
    """Return the path of an SQLite file, or the URL of a server."""
    address = load_settings({"url": url}).url
    return sqlite_path(address) if engine_of(address) == "sqlite" else address


def _describe(address: str) -> str:
    """Return a path as it is, and a URL without user and password."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _identify(value: object) -> Hashable:
    """Return the part of a key that a choice is: its value, or the identity of an object."""
    return value if isinstance(value, str | int | float | None) else id(value)


ENGINES = SharedEngines()


@atexit.register
def _stop_workers() -> None:
    """Let workers end their present jobs before the interpreter ends; a job that takes longer is done again later."""
    ENGINES.stop_workers(_PATIENCE_SECONDS)
