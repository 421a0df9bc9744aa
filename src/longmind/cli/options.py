"""Options that many commands share, each said once: where memory is kept, and whose it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from longmind.context import Context
from longmind.engine import Engine, open
from longmind.errors import InvalidInput
from longmind.memory.space_lookup import DEFAULT_SPACE, find_default_space, find_space
from longmind.models.space import MemorySpace
from longmind.settings import Caller, load_caller, load_settings
from longmind.store.database_url import sqlite_path
from longmind.store.sqlite.database import MEMORY

P = ParamSpec("P")

Url = Annotated[str | None, typer.Option(help="Where the memory is kept; LONGMIND_URL by default.")]
Space = Annotated[str | None, typer.Option(help="A memory space, by name or id; not needed while there is only one.")]

_PANEL = "Whose memory"
Tenant = Annotated[str | None, typer.Option(help="The tenant; LONGMIND_TENANT by default.", rich_help_panel=_PANEL)]
App = Annotated[str | None, typer.Option(help="The app; LONGMIND_APP by default.", rich_help_panel=_PANEL)]
User = Annotated[str | None, typer.Option(help="The user; LONGMIND_USER by default.", rich_help_panel=_PANEL)]
Agent = Annotated[
    str | None,
    typer.Option(help="The agent, for what is kept apart for one; LONGMIND_AGENT by default.", rich_help_panel=_PANEL),
]
Group = Annotated[
    str | None,
    typer.Option(help="The group of the memory tools; LONGMIND_GROUP by default.", rich_help_panel=_PANEL),
]
Session = Annotated[
    str | None,
    typer.Option(
        help="The session that is written down with what is stored; LONGMIND_SESSION by default.",
        rich_help_panel=_PANEL,
    ),
]
_WHOSE = {"tenant": Tenant, "app": App, "user": User, "agent": Agent, "group": Group, "session": Session}

Subject = Annotated[str, typer.Option("--user", help="Whose data; the environment does not say so here.")]
"""For what is done to all that a user has: nobody should be meant by accident."""


@dataclass(frozen=True)
class Opened:
    """An open engine, and the context of whom the command is for."""

    engine: Engine
    context: Context

    def space(self, named: str | None) -> MemorySpace:
        """The space that is meant; without a name and without any space yet, one called `default` is made."""
        if named is not None:
            return find_space(self.context.memory, named)
        found = find_default_space(self.context.memory, self.context.scope.group)
        return found or self.context.memory.create_memory_space(DEFAULT_SPACE)


def context_of(engine: Engine, caller: Caller) -> Context:
    return engine.context(
        tenant_id=caller.tenant,
        app_id=caller.app,
        user_id=caller.user,
        agent_id=caller.agent,
        group=caller.group,
        session_id=caller.session,
    )


def opened(command: Callable[Concatenate[Opened, P], None]) -> Callable[..., None]:
    """Give a command what it works on, and the options that say what that is."""

    @wraps(command)
    def run(**given: Any) -> None:
        url = given.pop("url")
        caller = load_caller({name: given.pop(name) for name in _WHOSE})
        with open(url) as engine:
            command(Opened(engine, context_of(engine, caller)), **given)  # type: ignore[call-arg]

    shared = {"url": Url, **_WHOSE}
    own = list(inspect.signature(command).parameters)[1:]
    hints = get_type_hints(command, include_extras=True)
    parameters = [inspect.signature(command).parameters[name].replace(annotation=hints[name]) for name in own]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in shared.items()
    ]
    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = inspect.Signature([*keyword, *added])  # type: ignore[attr-defined]
    # Typer reads both.
    run.__annotations__ = {**{each.name: each.annotation for each in (*keyword, *added)}, "return": None}
    return run


@contextmanager
def administrator(url: str | None, tenant: str | None, app: str | None) -> Iterator[Context]:
    """A context that may look after all users of an app: who runs a command has the database in hand."""
    caller = load_caller({"tenant": tenant, "app": app})
    with open_plain(url) as engine:
        yield engine.context(tenant_id=caller.tenant, app_id=caller.app, user_id="longmind-cli", capabilities={"admin"})


def open_plain(url: str | None) -> Engine:
    """An engine for what needs no model, so that none is loaded or asked for its key."""
    return open(url, extractor="none", summariser="extractive", embedder=None)


def existing(url: str | None) -> str:
    """The address that is meant, refused when there is no database yet.

    What looks through a database, or takes something out of it, would find nothing in one that it has just made, and
    say that all is well.
    """
    address = load_settings({"url": url}).url
    if address.startswith("sqlite:"):
        path = sqlite_path(address)
        if path != MEMORY and not Path(path).is_file():
            raise InvalidInput(f"There is no database at {path}.", hint="Check --url, or LONGMIND_URL.")
    return address
