"""Options that many commands share, declared once: the database, and the user whose memory it is.

`provide_memory` turns a function of a `MemoryAccess` into a command: it adds these options to its signature, opens the
engine, and closes it afterwards. Commands for operators use `open_as_admin` or `open_without_models` instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from longmind.cli.typing_mistakes import find_address, refuse_mistyped_user, suggest_database
from longmind.context import Context
from longmind.engine import Engine, open
from longmind.errors import InvalidInput
from longmind.memory.space_lookup import find_space
from longmind.models.space import MemorySpace
from longmind.settings import Caller, load_caller
from longmind.store.database_url import sqlite_path
from longmind.store.sqlite.database import MEMORY

P = ParamSpec("P")

Url = Annotated[str | None, typer.Option(help="The database; LONGMIND_URL by default.")]
# Commands accept a name as well as an id, because people know names.
Space = Annotated[str | None, typer.Option(help="A memory space, by name or id; optional if there is only one.")]

_PANEL = "Scope"
Tenant = Annotated[str | None, typer.Option(help="The tenant; LONGMIND_TENANT by default.", rich_help_panel=_PANEL)]
App = Annotated[str | None, typer.Option(help="The app; LONGMIND_APP by default.", rich_help_panel=_PANEL)]
User = Annotated[str | None, typer.Option(help="The user; LONGMIND_USER by default.", rich_help_panel=_PANEL)]
Agent = Annotated[
    str | None,
    typer.Option(help="The agent, for memory of one agent; LONGMIND_AGENT by default.", rich_help_panel=_PANEL),
]
Group = Annotated[
    str | None,
    typer.Option(help="The group of the memory tools; LONGMIND_GROUP by default.", rich_help_panel=_PANEL),
]
Session = Annotated[
    str | None,
    typer.Option(help="The session to record with new entries; LONGMIND_SESSION by default.", rich_help_panel=_PANEL),
]
_SCOPE_OPTIONS = {"tenant": Tenant, "app": App, "user": User, "agent": Agent, "group": Group, "session": Session}

Subject = Annotated[str, typer.Option("--user", help="The user; LONGMIND_USER is ignored here.")]
"""The user of a command about all of a user's data. It has no default, so that no one is meant by accident."""


@dataclass(frozen=True)
class MemoryAccess:
    """An open engine, and the context of the user that a command is for."""

    engine: Engine
    context: Context

    def choose_space(self, name: str | None) -> MemorySpace:
        """Return the space of that name or id, or the default one, which is created for a user without spaces."""
        memory = self.context.memory
        return memory.open_default_space() if name is None else find_space(memory, name)


def make_context(engine: Engine, caller: Caller) -> Context:
    """Return the context of a caller; each field comes from an option or its environment variable."""
    return engine.context(
        tenant_id=caller.tenant,
        app_id=caller.app,
        user_id=caller.user,
        agent_id=caller.agent,
        group=caller.group,
        session_id=caller.session,
    )


def provide_memory(command: Callable[Concatenate[MemoryAccess, P], None]) -> Callable[..., None]:
    """Decorate a command with the options of database and user.

    The first parameter of the function receives a MemoryAccess; all others become arguments and options of the command.
    The engine is closed when the function returns or raises. The database is created if there is none.
    """
    return _add_options(command, _open_memory)


def provide_known_memory(command: Callable[Concatenate[MemoryAccess, P], None]) -> Callable[..., None]:
    """Decorate a command that only reads, like `provide_memory`.

    A database that does not exist is an error, and so is a user without data whose name is like that of another one: an
    empty answer would hide a typing mistake.
    """
    return _add_options(command, _open_known_memory)


@contextmanager
def _open_memory(url: str | None, caller: Caller) -> Iterator[MemoryAccess]:
    """Open the memory of a caller; create the database if there is none."""
    with open(find_address(url)) as engine:
        yield MemoryAccess(engine, make_context(engine, caller))


@contextmanager
def _open_known_memory(url: str | None, caller: Caller) -> Iterator[MemoryAccess]:
    """Open the memory of a caller who only reads, and refuse what was probably mistyped."""
    address = require_database(url)
    with open(address) as engine:
        context = make_context(engine, caller)
        refuse_mistyped_user(context, address)
        yield MemoryAccess(engine, context)


def _add_options(
    command: Callable[Concatenate[MemoryAccess, P], None],
    open_memory: Callable[[str | None, Caller], AbstractContextManager[MemoryAccess]],
) -> Callable[..., None]:
    """Return the command with the shared options in its signature, which typer reads.

    open_memory: opens the memory that the options name, for as long as the command runs.
    """

    @wraps(command)
    def run(**options: Any) -> None:
        url = options.pop("url")
        caller = load_caller({name: options.pop(name) for name in _SCOPE_OPTIONS})
        with open_memory(url, caller) as memory:
            command(memory, **options)  # type: ignore[call-arg]

    # The shared options come last, so that --help lists the command's own options first.
    shared = {"url": Url, **_SCOPE_OPTIONS}
    own = list(inspect.signature(command).parameters)[1:]
    hints = get_type_hints(command, include_extras=True)
    parameters = [inspect.signature(command).parameters[name].replace(annotation=hints[name]) for name in own]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in shared.items()
    ]
    # All parameters are keyword-only, so that optional ones may precede required ones.
    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = inspect.Signature([*keyword, *added])  # type: ignore[attr-defined]
    # Typer reads the signature for the order and the annotations for the types.
    run.__annotations__ = {**{each.name: each.annotation for each in (*keyword, *added)}, "return": None}
    return run


@contextmanager
def open_as_admin(
    url: str | None, tenant: str | None, app: str | None, *, subject: str | None = None
) -> Iterator[Context]:
    """Open a context that may administrate all users of an app.

    No key is needed: a user who can run the command can also open the database.

    subject: the user whose data is read; InvalidInput is raised if there is none and the name was probably mistyped.
    """
    caller = load_caller({"tenant": tenant, "app": app})
    with open_without_models(url) as engine:
        if subject is not None:
            read = engine.context(tenant_id=caller.tenant, app_id=caller.app, user_id=subject)
            refuse_mistyped_user(read, find_address(url))
        yield engine.context(tenant_id=caller.tenant, app_id=caller.app, user_id="longmind-cli", capabilities={"admin"})


def open_without_models(url: str | None) -> Engine:
    """Open an engine that neither loads a local model nor asks for the key of a vendor."""
    return open(find_address(url), extractor="none", summariser="extractive", embedder=None)


def require_database(url: str | None) -> str:
    """Return the address of a database, or raise InvalidInput if an SQLite file does not exist.

    A command that only reads would otherwise create an empty database, find nothing in it, and report success.
    """
    address = find_address(url)
    if address.startswith("sqlite:"):
        path = Path(sqlite_path(address))
        if str(path) != MEMORY and not path.is_file():
            raise InvalidInput(f"There is no database at {path}.", hint=suggest_database(path))
    return address
