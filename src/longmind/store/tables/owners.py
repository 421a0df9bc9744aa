"""Users that have data in a database, for the operator of it."""

from __future__ import annotations

from typing import NamedTuple

from longmind.store.database import Transaction

_MOST = 10_000


class Owner(NamedTuple):
    """A user of an app of a tenant."""

    tenant_id: str
    app_id: str
    user_id: str


def list_owners(run: Transaction) -> list[Owner]:
    """Return users that have spaces or conversations, at most 10,000. Only for a read over all scopes."""
    return [Owner(*row) for row in run.all("list_owners", limit=_MOST)]
