"""The engine: an open database, the contexts made from it, its changes and its workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Unpack, get_args

from longmind.assembly.templates import Templates
from longmind.assembly.tokens import TokenCounter
from longmind.change_cursor import ChangeCursor
from longmind.change_feed import Subscriber
from longmind.clock import Clock, system_clock
from longmind.context import Context
from longmind.conversations.registered_tools import ToolFunction
from longmind.engine_parts import EngineParts
from longmind.errors import EngineClosed, InvalidInput, StoreBusy
from longmind.extraction.candidate import Extractor
from longmind.extraction.extractor_registry import RULES
from longmind.job_handlers import JobHandlers
from longmind.jobs import Handler, Worker
from longmind.jobs.worker import handler_thread
from longmind.keys import AccessKeys
from longmind.maintenance import Maintenance
from longmind.models.change import Change, ChangeKind
from longmind.models.job import WorkReport
from longmind.providers.embedder import Embedder
from longmind.providers.language_model import Tool
from longmind.providers.provider_registry import AUTO
from longmind.providers.reranker import Reranker
from longmind.runtime.fork_safety import survive_forks
from longmind.scope import Capability, Scope
from longmind.settings import Settings, SettingsOptions, load_settings
from longmind.store.tables import ledger
from longmind.summaries.summariser import Summariser
from longmind.summaries.summariser_registry import EXTRACTIVE
from longmind.validation.identifiers import validate_count
from longmind.validation.text import quote_value


def open(
    url: str | None = None,
    *,
    embedder: str | Embedder | None = AUTO,
    reranker: str | Reranker | None = None,
    extractor: str | Extractor | None = None,
    summariser: str | Summariser | None = None,
    token_counter: str | TokenCounter | None = None,
    clock: Clock = system_clock,
    **settings: Unpack[SettingsOptions],
) -> Engine:
    """Open the memory stored at a database URL; create it if it does not exist.

    url: `sqlite:///file.db`, `sqlite:///:memory:` or `postgresql://…`. By default the environment variable
    `LONGMIND_URL`, or else the file `.longmind/longmind.db` in the home folder.
    embedder, reranker, extractor, summariser, token_counter: a name, or an object of your own; by default the setting
    of that name decides. `embedder=None` searches by words alone.
    clock: returns the time in microseconds since 1970 UTC; for tests.
    settings: any other setting by its name, such as `cache_megabytes=64`.

    Raises InvalidInput for a setting that cannot be used and StoreError if the database cannot be opened.
    """
    # A name is a setting, and may come from the environment; an object of the caller's own is used as it is.
    # A name is a setting, and may come from the environment; an object of the caller's own is used as it is.
    named: dict[str, object] = {"url": url}
    if isinstance(embedder, str) and embedder != AUTO:
        named["embedder"] = embedder
    chosen = {"reranker": reranker, "extractor": extractor, "summariser": summariser, "token_counter": token_counter}
    named |= {name: each for name, each in chosen.items() if isinstance(each, str)}
    loaded = load_settings({**named, **settings})
    return Engine(
        loaded,
        clock,
        loaded.embedder if embedder == AUTO else embedder,
        loaded.reranker if reranker is None else reranker,
        loaded.extractor if extractor is None else extractor,
        loaded.summariser if summariser is None else summariser,
        loaded.token_counter if token_counter is None else token_counter,
    )


class Engine(Maintenance):
    """An open engine. Close it when done, or use it in a `with` statement. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock = system_clock,
        embedder: str | Embedder | None = AUTO,
        reranker: str | Reranker | None = None,
        extractor: str | Extractor = RULES,
        summariser: str | Summariser = EXTRACTIVE,
        token_counter: str | TokenCounter = AUTO,
    ) -> None:
        parts = EngineParts(settings, clock, embedder, reranker, extractor, summariser, token_counter)
        super().__init__(parts)
        self.settings = settings
        self.templates: Templates = parts.templates
        """The templates that lay out working contexts; register more of your own."""
        self.keys = AccessKeys(parts.database, parts.clock)
        """The keys that the server checks requests against."""
        self._database = parts.database
        self._clock = parts.clock
        self._workers: set[threading.Thread] = set()
        self._stop = threading.Event()
        JobHandlers(parts).register()
        survive_forks(self)
        self._purge_at_start()

    def __repr__(self) -> str:
        return f"Engine({self._database.address!r}, {'closed' if self._parts.closed else 'open'})"

    def renew_after_fork(self) -> None:
        # Threads stay with the parent: a child that wants workers starts its own.
        self._workers = set()
        self._stop = threading.Event()

    def context(
        self,
        *,
        tenant_id: str,
        app_id: str,
        user_id: str,
        agent_id: str | None = None,
        group: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        client_id: str | None = None,
        graph_id: str | None = None,
        node_id: str | None = None,
        capabilities: Iterable[Capability] = (),
    ) -> Context:
        """Bind the engine to one user. Pass ids that the host has verified, never ids that a user sent.

        tenant_id, app_id, user_id: own the data; a context sees nothing of other users.
        agent_id, group: own agent blocks and tool memory. session_id: chooses the timeline of events, and the session
        of memory tools. All ids are recorded with what is written.
        capabilities: `admin` permits operations that a user may not do alone.

        Raises InvalidIdentity if an id is blank, longer than 255 characters, `*` or has control characters.
        """
        scope = Scope(
            tenant_id=tenant_id,
            app_id=app_id,
            user_id=user_id,
            agent_id=agent_id,
            group=group,
            session_id=session_id,
            run_id=run_id,
            client_id=client_id,
            graph_id=graph_id,
            node_id=node_id,
            capabilities=capabilities,  # type: ignore[arg-type]  # made a frozenset, and checked, by Scope
        )
        return self._context(scope)

    def _context(self, scope: Scope) -> Context:
        return self._services.make_context(scope)

    def subscribe(self, subscriber: Subscriber, *, kinds: Iterable[ChangeKind] | None = None) -> Callable[[], None]:
        """Call a function with every change that this engine commits, after the commit.

        kinds: the kinds of changes to pass on, by default all.

        Returns a function that ends the subscription.
        """
        return self._parts.changes.subscribe(subscriber, None if kinds is None else _validate_kinds(kinds))

    def follow(self, after: int | None = None, *, wait: bool | float = False) -> Iterator[Change]:
        """Iterate over the changes of all processes and all users in order.

        after: the cursor of the last change you have dealt with; None is the beginning.
        wait: False ends when there is nothing more to read, True when the engine is closed, a number after that many
        seconds without a change.

        A change is held back while an earlier write is still under way.
        """
        return self._changes_of(self.following(after, wait=wait))

    def following(self, after: int | None = None, *, wait: bool | float = False) -> ChangeCursor:
        """Return a cursor to read changes step by step, for programs that wait in their own way."""
        self._parts.check_open()
        return ChangeCursor(self._database, after, wait)

    def _changes_of(self, following: ChangeCursor) -> Iterator[Change]:
        while not following.ended:
            try:
                changes = following.read()
            except EngineClosed:
                # For a waiting follower this is the end. Any other would take a part of the changes for all of them.
                if self._parts.closed and following.waits:
                    return
                raise
            yield from changes
            if following.waiting and not following.ended:
                time.sleep(following.pause_seconds)

    def last_cursor(self) -> int:
        """Return the cursor of the newest change; follow from it to see only changes to come."""
        newest = self._database.read(None, ledger.find_last_position)
        # A write that is under way may hold an earlier position, and its change is still to come.
        if not self._database.wait_for_writers(self.settings.busy_timeout_seconds):
            raise StoreBusy("The last change is unknown: a transaction has been writing for too long.")
        return newest

    def register_job(self, kind: str, handler: Handler) -> None:
        """Register the function that does jobs of a kind. Jobs of a kind without a handler wait for one."""
        self._parts.check_open()
        self._parts.handlers.register(kind, handler)
        self._parts.wake_workers()

    def register_tool(self, tool: Tool | dict[str, Any], function: ToolFunction) -> None:
        """Register a tool that turns may name, over REST too. It replaces one of the same name.

        tool: its name, description and JSON schema, as a model sees them.
        function: receives the context of the turn's user, and the arguments that the model chose; returns a text, or a
        value that is sent as JSON. What it raises goes to the model as an error.
        """
        self._parts.check_open()
        self._parts.registered_tools.register(tool, function)

    def work(self, limit: int | None = None) -> WorkReport:
        """Do the jobs that are due, in this thread, until none is left or `limit` are done; return how many ended how.

        limit: from 1 to 1,000,000, by default no limit.
        """
        self._parts.check_open()
        count = None if limit is None else validate_count("limit", limit, most=1_000_000)
        report = self._worker().work(count)
        unbound = self._parts.unbound_closings.take()
        return report.model_copy(update={"unbound": unbound}) if unbound else report

    def start_workers(self, count: int = 1) -> None:
        """Start 1 to 64 threads that do jobs in the background until `stop_workers()` or `close()`."""
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 64:
            raise InvalidInput(f"count is {quote_value(count)}.", hint="Start between 1 and 64 workers.")
        self._parts.check_open()
        for _ in range(count):
            thread = threading.Thread(
                target=self._worker().run_until,
                args=(self._stop, self._parts.bell),
                name="longmind-worker",
                daemon=True,
            )
            thread.start()
            self._workers.add(thread)

    def stop_workers(self, timeout: float | None = None) -> bool:
        """Stop the workers after their present jobs; return False if one is still busy after `timeout` seconds.

        timeout: None waits as long as it takes. Called by a job handler, it does not wait at all.
        """
        deadline = time.monotonic() + (threading.TIMEOUT_MAX if timeout is None else _validate_seconds(timeout))
        # Workers that are started from now on watch another event.
        stop, self._stop = self._stop, threading.Event()
        stop.set()
        self._parts.wake_workers()
        may_wait = handler_thread.get() not in self._workers
        for thread in list(self._workers):
            if may_wait:
                thread.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
            if not thread.is_alive():
                self._workers.discard(thread)
        return not self._workers

    def _worker(self) -> Worker:
        return Worker(self._database, self._parts.handlers, self.settings, self._clock, self._context)

    def close(self) -> None:
        """Stop the workers and close the database. Written data stays; closing again does nothing."""
        parts = self._parts
        if not parts.closed:
            self.stop_workers()
            parts.changes.finish()
            parts.closed = True
            if parts.mirror is not None:
                parts.mirror.sync()
            parts.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _validate_kinds(kinds: object) -> frozenset[str]:
    known = get_args(ChangeKind)
    hint = f"Pass a list with any of: {', '.join(known)}."
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InvalidInput(f"kinds is {kinds!r}.", hint=hint)
    wanted = list(kinds)
    unknown = [kind for kind in wanted if kind not in known]
    if unknown:
        raise InvalidInput(f"Unknown kinds {unknown!r}.", hint=hint)
    return frozenset(wanted)


def _validate_seconds(timeout: object) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout <= threading.TIMEOUT_MAX:
        raise InvalidInput(
            f"timeout is {quote_value(timeout)}.",
            hint="Pass a number of seconds from 0, or None to wait as long as it takes.",
        )
    return timeout
