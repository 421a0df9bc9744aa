"""Addresses and users that were probably mistyped, with a suggestion each.

Only a person at the command line gets suggestions: one who may open the database may read all of it. A server and the
tools of an agent never say which users there are.
"""

from __future__ import annotations

from contextlib import closing
from difflib import get_close_matches
from pathlib import Path

from longmind.change_feed import ChangeFeed
from longmind.context import Context
from longmind.errors import InvalidInput
from longmind.memory.default_space import DEFAULT_SPACE
from longmind.settings import load_settings
from longmind.store.database_url import open_database, sqlite_path
from longmind.store.sqlite.database import MEMORY
from longmind.store.tables.owners import Owner, list_owners

_DATABASES = (".db", ".sqlite", ".sqlite3")
_LIKE = 0.7
"""The least likeness, from 0 to 1, of a name that is suggested."""


def find_address(url: str | None) -> str:
    """Return the address of the database; raise InvalidInput if its folder does not exist.

    Only the folder in the home is created by itself: any other that is missing was probably mistyped.
    """
    address = load_settings({"url": url}).url
    if not address.startswith("sqlite:") or address == load_settings({}, environment={}).url:
        return address
    path = Path(sqlite_path(address))
    if str(path) != MEMORY and not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent} for the database.", hint=_suggest_folder(path.parent))
    return address


def suggest_database(path: Path) -> str:
    """Return what to do about a database that does not exist."""
    folder = path.parent
    there = sorted(each.name for each in folder.iterdir() if each.suffix in _DATABASES) if folder.is_dir() else []
    like = get_close_matches(path.name, there, n=1, cutoff=_LIKE)
    if like:
        return f"Did you mean {folder / like[0]}? Check --url or LONGMIND_URL."
    return 'Check --url or LONGMIND_URL, or begin with: longmind add "…"'


def refuse_mistyped_user(context: Context, address: str) -> None:
    """Raise InvalidInput for a user without any data if the database has data of one whose name is like theirs."""
    if _has_data(context):
        return
    scope = context.scope
    with closing(open_database(load_settings({"url": address}), ChangeFeed())) as database:
        owners = database.read(None, list_owners)
    own = Owner(scope.tenant_id, scope.app_id, scope.user_id)
    elsewhere = [owner for owner in owners if owner.user_id == own.user_id and owner != own]
    here = [owner.user_id for owner in owners if (owner.tenant_id, owner.app_id) == (own.tenant_id, own.app_id)]
    # People mistype cases as often as letters.
    folded = {user.casefold(): user for user in here if user != own.user_id}
    like = get_close_matches(own.user_id.casefold(), folded, n=3, cutoff=_LIKE)
    where = f"There is no data of user {own.user_id!r} in tenant {own.tenant_id!r}, app {own.app_id!r}."
    if like:
        raise InvalidInput(where, hint=f"Did you mean --user {' or --user '.join(folded[each] for each in like)}?")
    if elsewhere:
        named = " or ".join(f"--tenant {owner.tenant_id} --app {owner.app_id}" for owner in elsewhere[:3])
        raise InvalidInput(where, hint=f"There is some elsewhere: give {named}.")


def _has_data(context: Context) -> bool:
    """Return whether a user has anything that a command could show."""
    # A read opens the default space, so one without facts says nothing.
    return bool(
        any(space.atom_count or space.name != DEFAULT_SPACE for space in context.memory.list_memory_spaces())
        or context.memory.list_shared_spaces()
        or context.conversations.list_conversations(limit=1)
        or context.blocks.list()
        or context.events.usage()
    )


def _suggest_folder(folder: Path) -> str:
    """Return a hint with a folder beside the missing one that is called like it, if there is one."""
    # The first part of the path that does not exist is the mistake.
    missing = folder
    while not missing.parent.is_dir():
        missing = missing.parent
    there = [each.name for each in missing.parent.iterdir() if each.is_dir()]
    like = get_close_matches(missing.name, there, n=1, cutoff=_LIKE)
    meant = f"Did you mean {missing.parent / like[0]}? " if like else ""
    return f"{meant}Check --url or LONGMIND_URL, or create the folder first: mkdir -p {folder}"
