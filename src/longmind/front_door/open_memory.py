"""The connection of one user to their memory: the shared engine, the context, and the space in use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

from longmind.clock import Clock
from longmind.context import Context
from longmind.engine import Engine
from longmind.errors import EngineClosed, NotFound
from longmind.extraction.candidate import Extractor
from longmind.front_door.arguments import (
    FROM_SETTINGS,
    UserFromSettings,
    UserId,
    read_model,
    read_space,
    read_url,
    read_user,
)
from longmind.front_door.shared_engines import ENGINES, SharedEngine
from longmind.memory.default_space import DEFAULT_NAMESPACE
from longmind.memory.space_lookup import find_space
from longmind.models.space import MemorySpace
from longmind.providers.embedder import Embedder
from longmind.providers.language_model import LanguageModel
from longmind.providers.provider_registry import AUTO
from longmind.settings import load_caller
from longmind.validation.parameter_limits import Name

T = TypeVar("T")
_MOST_BINDINGS = 10_000


class OpenMemory:
    """An open memory of one user; `Memory` adds the operations."""

    def __init__(
        self,
        user: UserId | UserFromSettings = FROM_SETTINGS,
        *,
        url: str | Path | None = None,
        tenant: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        space: Name | None = None,
        model: str | LanguageModel | Extractor | None = None,
        embedder: str | Embedder | None = AUTO,
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        """Open the memory of a user, which is created where there is none.

        user: your own id of the user, a text, a whole number or a UUID; by default `LONGMIND_USER`, or `default`.
        url: a path, `sqlite:///file.db` or `postgresql://…`; by default `LONGMIND_URL`, or a file in the home folder.
        tenant, app: whose user it is; by default `LONGMIND_TENANT` and `LONGMIND_APP`, as on the command line.
        agent, session: recorded with what is written.
        space: a memory space by name or id, in place of the default one; a name that is new creates it.
        model: the language model that reads what is added, such as `openai:gpt-5-mini`; by default the local reader.
        embedder: as for `longmind.open`; None searches by words alone.
        settings: any other setting of `longmind.open`.

        Memories of one process with the same database and settings share one engine. The memory goes on in a forked
        child. Raises InvalidIdentity for an id that cannot be one.
        """
        named = {"user": read_user(user), "tenant": tenant, "app": app, "agent": agent, "session": session}
        caller = load_caller(named)
        choices = dict(settings) | {"embedder": embedder}
        choices |= {} if clock is None else {"clock": clock}
        choices |= {} if model is None else {"extractor": read_model(model)}
        self._closed = False
        self._shared: SharedEngine = ENGINES.open(read_url(url), choices)
        self._space_name = read_space(space)
        self._space: MemorySpace | None = None
        try:
            self._ctx = self._shared.engine.context(
                tenant_id=caller.tenant,
                app_id=caller.app,
                user_id=caller.user,
                agent_id=caller.agent,
                group=caller.group,
                session_id=caller.session,
            )
            # A space that cannot be had is an error now, and not with the first fact.
            if self._space_name is not None:
                self._find_space()
        except BaseException:
            ENGINES.release(self._shared)
            raise

    @property
    def user(self) -> str:
        """The id of the user, as a text."""
        return self._ctx.scope.user_id

    @property
    def engine(self) -> Engine:
        """The engine below, which other memories of this process may share."""
        self._check_open()
        return self._shared.engine

    @property
    def ctx(self) -> Context:
        """The context of the user, with all operations of the engine."""
        self._check_open()
        return self._ctx

    @property
    def space(self) -> MemorySpace:
        """The memory space that is read and written, as it is now."""
        self._check_open()
        return self._ctx.memory.get_memory_space(self._find_space().id) or self._find_space(anew=True)

    def close(self) -> None:
        """Close the memory; its engine closes with the last memory that uses it. Closing again does nothing."""
        # Counted once, however often it is closed.
        if not self._closed:
            self._closed = True
            ENGINES.release(self._shared)

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __aenter__(self) -> NoReturn:
        raise TypeError("Memory is synchronous. Write `with`, or use longmind.AsyncMemory.")

    def __aexit__(self, *_: object) -> NoReturn:
        raise TypeError("Memory is synchronous. Write `with`, or use longmind.AsyncMemory.")

    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        space = "" if self._space_name is None else f", space={self._space_name!r}"
        return f"{type(self).__name__}({self.user!r}{space}, {self._shared.place}{state})"

    def _check_open(self) -> None:
        """Raise EngineClosed after `close`; in a forked child, start the worker that the fork has left behind."""
        if self._closed:
            raise EngineClosed("This memory is closed.", hint="Make a new longmind.Memory, or close it later.")
        ENGINES.ensure_worker(self._shared)

    @property
    def _namespace(self) -> str:
        """The namespace of conversations that lead to the space."""
        return DEFAULT_NAMESPACE if self._space_name is None else f"{DEFAULT_NAMESPACE}:{self._find_space().id}"

    def _find_space(self, *, anew: bool = False) -> MemorySpace:
        """Return the space in use, which is looked up once, and again if asked for."""
        # Others may delete it, and its id is looked up again only then.
        if self._space is None or anew:
            memory = self._ctx.memory
            if self._space_name is None:
                self._space = memory.open_default_space()
            else:
                self._space = _open_space(self._ctx, self._space_name)
        return self._space

    def _with_space(self, read: Callable[[MemorySpace], T]) -> T:
        """Call a function of the space, and once more if the space was deleted since it was found."""
        space = self._find_space()
        try:
            return read(space)
        except NotFound as error:
            if error.noun != "memory space":
                raise
            return read(self._find_space(anew=True))


def _open_space(ctx: Context, name: str) -> MemorySpace:
    """Return a space by its name or id, with a binding that leads into it; a name that is new creates it."""
    memory = ctx.memory
    try:
        space = find_space(memory, name)
    except NotFound:
        # An id that leads nowhere is no name for a new space.
        if name.startswith("ms_"):
            raise
        # The default space comes first, or else a user's only space, which is this one, would be taken for it.
        if not memory.list_memory_spaces():
            memory.open_default_space()
        space = memory.create_memory_space(name)
    namespace = f"{DEFAULT_NAMESPACE}:{space.id}"
    if space.user_id == ctx.scope.user_id and not any(
        space.id in binding.memory_space_ids and any(member.namespace == namespace for member in binding.members)
        for binding in memory.list_bindings(limit=_MOST_BINDINGS)
    ):
        memory.create_binding({"namespace": namespace, "user_id": ctx.scope.user_id}, [space.id])
    return space
