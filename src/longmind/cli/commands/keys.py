"""`longmind keys`: create, list and revoke the API keys of the server.

The database stores only a hash of each key. The first key ends single-user mode of the server for good.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from longmind.cli.options import Url, open_without_models, require_database
from longmind.cli.output import AsJson, print_json, print_table, stderr, stdout, write_text
from longmind.errors import InvalidInput, NotFound
from longmind.models.key import AccessKey

app = typer.Typer(help="API keys of the server.", no_args_is_help=True)

_DURATION = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command("create")
def create(
    tenant: Annotated[str, typer.Option(help="The tenant of the key.")],
    app_id: Annotated[str, typer.Option("--app", help="The app of the key.")],
    user: Annotated[str | None, typer.Option(help="The only user of the key.")] = None,
    any_user: Annotated[bool, typer.Option("--any-user", help="Let each request name its user.")] = False,
    admin: Annotated[bool, typer.Option("--admin", help="Like --any-user, and allow administration.")] = False,
    expires: Annotated[
        str | None, typer.Option(help="The expiry: 12h, 30d, 8w, or an ISO 8601 instant; never by default.")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="The rate limit, such as 600/minute.")] = None,
    name: Annotated[str, typer.Option(help="A name to recognise the key by.")] = "",
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it. It cannot be shown again."""
    # The operation refuses this too, but names arguments of Python.
    if (user is not None) + any_user + admin != 1:
        raise InvalidInput(
            "A key is for one user, for any user, or for an admin.",
            hint="Give one of --user NAME, --any-user or --admin.",
        )
    with open_without_models(url) as engine:
        key = engine.keys.create(
            tenant_id=tenant,
            app_id=app_id,
            user_id=user,
            any_user=any_user,
            admin=admin,
            name=name,
            expires_at=None if expires is None else _parse_expiry(expires),
            rate=rate,
        )
    if as_json:
        print_json(key.model_dump(mode="json"))
        return
    # The key alone goes to standard output, so that it can be piped into a secret store.
    stderr.print(Text(f"{_describe_key(key)}. Store it now; it cannot be shown again."), soft_wrap=True)
    write_text(key.token)


@app.command("list")
def list_keys(
    tenant: Annotated[str | None, typer.Option(help="Only keys of this tenant.")] = None,
    app_id: Annotated[str | None, typer.Option("--app", help="Only keys of this app.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List keys, oldest first, without the keys themselves."""
    with open_without_models(require_database(url)) as engine:
        keys = engine.keys.list(tenant_id=tenant, app_id=app_id)
    if as_json:
        print_json([key.model_dump(mode="json") for key in keys])
        return
    print_table(
        ("id", "name", "tenant", "app", "for", "rate", "expires", "last use", "revoked"),
        (
            (
                it.id,
                it.name,
                it.tenant_id,
                it.app_id,
                it.user_id or it.access,
                it.rate,
                *map(_cut_to_minute, _list_times(it)),
            )
            for it in keys
        ),
        empty="There are no keys. Create one with: longmind keys create",
    )


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id of the key, rk_…")], url: Url = None, as_json: AsJson = False
) -> None:
    """Revoke a key. Every server of this database refuses its next request."""
    with open_without_models(require_database(url)) as engine:
        try:
            key = engine.keys.revoke(key_id)
        except NotFound as error:
            error.hint = "See all keys with: longmind keys list"
            raise
    if as_json:
        print_json(key.model_dump(mode="json"))
    else:
        stdout.print(Text(f"Revoked {key.id} at {key.revoked_at}."), soft_wrap=True)


def _list_times(key: AccessKey) -> tuple[str | None, ...]:
    """Return the three instants of a key that a table shows."""
    return key.expires_at, key.last_used_at, key.revoked_at


def _cut_to_minute(at: str | None) -> str:
    """Return an instant without its seconds."""
    return (at or "")[:16]


def _describe_key(key: AccessKey) -> str:
    """Return a sentence on the owner and the expiry of a key."""
    owner = {"user": f"user {key.user_id}", "any-user": "any user", "admin": "administration"}[key.access]
    until = "" if key.expires_at is None else f", until {key.expires_at}"
    return f"A key for {owner} of {key.tenant_id}, app {key.app_id}{until}"


def _parse_expiry(expires: str) -> str | datetime:
    """Return the instant after a duration such as 30d; anything else is an instant for the engine to check."""
    duration = _DURATION.fullmatch(expires)
    if duration is None:
        return expires
    try:
        return datetime.now(UTC) + timedelta(**{_UNITS[duration[2]]: int(duration[1])})
    except OverflowError:
        raise InvalidInput(
            f"expires is {expires!r}, which is beyond the calendar.", hint="Give an earlier expiry."
        ) from None
