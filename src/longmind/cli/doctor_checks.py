"""What the doctor looks at, one thing after the other. Each tells how it is and, if need be, what to do."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import longmind
from longmind.change_feed import ChangeFeed
from longmind.clock import Micros, system_clock, to_micros
from longmind.errors import LongmindError
from longmind.keys import AccessKeys
from longmind.providers.registry import choose_embedder
from longmind.settings import Settings, load_settings
from longmind.store.database import Database
from longmind.store.database_url import engine_of, open_database, sqlite_path
from longmind.store.inspection import DatabaseInspection, inspect_database
from longmind.store.migrations import load_migrations
from longmind.store.tables import metrics as measuring

State = Literal["ok", "warning", "trouble"]

_EXTRAS = {"server": ("starlette", "uvicorn", "limits", "jwt", "prometheus_client", "mcp"), "postgres": ("psycopg",)}
_LITTLE_ROOM, _NO_ROOM = 1024**3, 100 * 1024**2
_OFF_SECONDS, _FAR_OFF_SECONDS = 2, 60
_LONG_DUE_SECONDS = 300
_SOON = 7 * 24 * 3600 * 1_000_000
_RELEASED = to_micros("2026-01-01T00:00:00Z")


@dataclass(frozen=True)
class Finding:
    name: str
    state: State
    says: str
    todo: str = ""

    def as_json(self) -> dict[str, str]:
        return {"name": self.name, "state": self.state, "says": self.says, "todo": self.todo}


def examine(url: str | None, *, ask_models: bool = False) -> Iterator[Finding]:
    """Look at everything. What depends on something that is in trouble is left out."""
    yield from _installation()
    try:
        settings = load_settings({"url": url})
    except LongmindError as error:
        yield _trouble("settings", error)
        return
    yield Finding("settings", "ok", "can be read")
    yield from _database(settings)
    yield from _room(settings)
    yield _embedder(settings, ask_models)
    yield _extractor(settings)
    if _has("server"):
        yield from _server(settings)


def _installation() -> Iterator[Finding]:
    yield Finding("Longmind", "ok", f"{longmind.__version__} in {Path(longmind.__file__).parent}")
    yield Finding("Python", "ok", f"{platform.python_version()} on {platform.platform()}")
    for extra, what in (("server", "longmind serve"), ("postgres", "PostgreSQL")):
        if _has(extra):
            yield Finding(f"extra {extra}", "ok", "installed")
        else:
            todo = f"If you want {what}: pip install 'longmind[{extra}]'"
            yield Finding(f"extra {extra}", "warning", f"not installed, so there is no {what}", todo)
    yield _recall()


def _recall() -> Finding:
    from longmind.recall import kernels as kernel

    if kernel.compiled is not None:
        return Finding("recall", "ok", "its inner loops are compiled")
    says = "its inner loops were not compiled, so that it takes up to twice as long"
    todo = "Install a C compiler and Python's headers, then longmind once more, from its source."
    return Finding("recall", "warning", says, todo)


def _database(settings: Settings) -> Iterator[Finding]:
    try:
        found = inspect_database(settings)
    except LongmindError as error:
        yield _trouble("database", error)
        return
    kind = "SQLite" if found.engine == "sqlite" else "PostgreSQL"
    yield Finding("database", "ok", f"{kind} {found.version} answers")
    yield _clock(found)
    if found.engine == "sqlite" and found.applied is not None:
        yield _rights(Path(sqlite_path(settings.url)))
    migrations = _migrations(found)
    yield migrations
    if migrations.state == "ok":
        # It is as it should be, so that opening it changes nothing.
        with closing(open_database(settings, ChangeFeed())) as database:
            yield _keys(database)
            yield from _jobs(database)


def _clock(found: DatabaseInspection) -> Finding:
    if system_clock() < _RELEASED:
        return Finding("clock", "trouble", "is before this version was made", "Set the clock of this machine.")
    off = (found.clock_off or 0) / 1_000_000
    todo = "Have both machines keep their time by NTP."
    if off > _FAR_OFF_SECONDS:
        return Finding("clock", "trouble", f"differs by {off:,.0f} seconds from the database's", todo)
    if off > _OFF_SECONDS:
        return Finding("clock", "warning", f"differs by {off:.1f} seconds from the database's", todo)
    return Finding("clock", "ok", "is right" if found.clock_off is None else "agrees with the database's")


def _rights(path: Path) -> Finding:
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        return Finding("rights", "trouble", f"{path} cannot be written", "Check who owns it and its folder.")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Finding("rights", "warning", f"others than its owner may read {path}", f"Run: chmod 600 {path}")
    return Finding("rights", "ok", f"only its owner may read {path}")


def _migrations(found: DatabaseInspection) -> Finding:
    known = {migration.version for migration in load_migrations(found.engine)}
    if found.applied is None:
        return Finding("migrations", "warning", "there is no memory here yet", "It is made when it is first opened.")
    newer, missing = set(found.applied) - known, known - set(found.applied)
    if newer:
        says = f"the database has version {max(newer)}, and this Longmind knows versions up to {max(known)}"
        return Finding("migrations", "trouble", says, "Upgrade Longmind to the version that made it, or a newer one.")
    if missing:
        todo = "Make a copy of the database; opening it applies them."
        return Finding("migrations", "warning", f"{len(missing)} are to be applied: {sorted(missing)}", todo)
    return Finding("migrations", "ok", f"all {len(known)} are applied")


def _keys(database: Database) -> Finding:
    now = system_clock()
    keys = AccessKeys(database, system_clock)
    count = keys.count()
    if not count.made:
        todo = "To serve others: longmind keys create --tenant … --app … --user …"
        return Finding("keys", "ok", "none; the server is for the user of this machine alone", todo)
    if not count.valid:
        todo = "Make one: longmind keys create --tenant … --app … --user …"
        return Finding("keys", "warning", f"none of {count.made} is valid, so that requests are refused", todo)
    ending = [key.id for key in keys.list() if key.revoked_at is None and _ends_soon(key.expires_at, now)]
    if ending:
        says = f"{count.valid} valid, and within a week these end: {', '.join(ending)}"
        return Finding("keys", "warning", says, "Make new ones in time: longmind keys create")
    return Finding("keys", "ok", f"{count.valid} of {count.made} are valid")


def _ends_soon(expires_at: str | None, now: Micros) -> bool:
    return expires_at is not None and now < to_micros(expires_at) < now + _SOON


def _jobs(database: Database) -> Iterator[Finding]:
    queue = database.read(None, measuring.measure_queue, system_clock())
    dead, due = sum(each.dead for each in queue), sum(each.due for each in queue)
    oldest = max((each.oldest_due_seconds for each in queue), default=0.0)
    if oldest > _LONG_DUE_SECONDS:
        says = f"{due:,} are due, one of them for {oldest / 60:,.0f} minutes"
        yield Finding("jobs", "warning", says, "Does a worker run? Start one: longmind worker")
    else:
        yield Finding("jobs", "ok", f"{due:,} are due")
    if dead:
        todo = "See why: longmind jobs list --status dead; and try again: longmind jobs retry"
        yield Finding("dead jobs", "warning", f"{dead:,} were given up", todo)


def _room(settings: Settings) -> Iterator[Finding]:
    folders = {"models": Path(settings.models_folder)}
    # An address that cannot be read has been told of before.
    with suppress(LongmindError):
        if engine_of(settings.url) == "sqlite":
            folders["database"] = Path(sqlite_path(settings.url)).parent
    for name, folder in folders.items():
        there = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(there).free
        says = f"{free / 1024**3:,.1f} GB free in {there}"
        state: State = "trouble" if free < _NO_ROOM else "warning" if free < _LITTLE_ROOM else "ok"
        yield Finding(f"room for the {name}", state, says, "" if state == "ok" else "Free some space, or move it.")


def _embedder(settings: Settings, ask_models: bool) -> Finding:
    try:
        embedding = choose_embedder(settings.embedder, Path(settings.models_folder))
        if embedding is None:
            todo = "For meaning too: pip install 'longmind[local]' and longmind models pull"
            return Finding("embedder", "warning", "none: recall goes by words alone", todo)
        local = embedding.model.startswith("local:")
        if not local and not ask_models:
            return Finding("embedder", "ok", f"{embedding.model}, which was not asked", "To ask it: --ask-models")
        begun = time.perf_counter()
        embedding.query("Where do I live?")
    except LongmindError as error:
        return _trouble("embedder", error)
    return Finding("embedder", "ok", f"{embedding.model} answers in {(time.perf_counter() - begun) * 1000:,.0f} ms")


def _extractor(settings: Settings) -> Finding:
    if not settings.extractor.startswith("model:"):
        return Finding("extractor", "ok", settings.extractor)
    if find_spec("pydantic_ai") is None:
        todo = "pip install 'longmind[models]'"
        return Finding("extractor", "trouble", f"{settings.extractor} needs the package pydantic_ai", todo)
    return Finding("extractor", "ok", f"{settings.extractor}, with its vendor's key from the environment")


def _server(settings: Settings) -> Iterator[Finding]:
    from longmind.server.auth.rate_limits import RateLimiter
    from longmind.server.auth.web_tokens import check_jwt_settings
    from longmind.server.observability.tracing import open_tracing

    kind = settings.jwt_algorithm or "not accepted"
    for name, check, says in (
        ("web tokens", check_jwt_settings, kind),
        ("rates", RateLimiter, f"counted at {settings.rate_limit_storage.partition('://')[0]}://"),
        ("tracing", open_tracing, settings.tracing),
    ):
        try:
            check(settings)
        except LongmindError as error:
            yield _trouble(name, error)
        else:
            yield Finding(name, "ok", says)


def _has(extra: str) -> bool:
    return all(find_spec(package) for package in _EXTRAS[extra])


def _trouble(name: str, error: LongmindError) -> Finding:
    return Finding(name, "trouble", error.message, error.hint)
