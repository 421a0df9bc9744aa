"""`longmind keys`: who may use the server."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from longmind.cli.options import Url, existing, open_plain
from longmind.cli.output import AsJson, answer_json, answer_table, answers, problems, write
from longmind.errors import InvalidInput
from longmind.models.key import AccessKey

app = typer.Typer(help="Keys of the server: who may use it, and as whom.", no_args_is_help=True)

_LASTING = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command("create")
def create(
    tenant: Annotated[str, typer.Option(help="The tenant it is for.")],
    app_id: Annotated[str, typer.Option("--app", help="The app of the tenant.")],
    user: Annotated[str | None, typer.Option(help="It is for this user alone.")] = None,
    any_user: Annotated[bool, typer.Option("--any-user", help="Each request names its user.")] = False,
    admin: Annotated[bool, typer.Option("--admin", help="Like --any-user, and may administrate.")] = False,
    expires: Annotated[
        str | None, typer.Option(help="When it ends: 12h, 30d, 8w, or an instant in ISO 8601; never by default.")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="How often it may be used, such as 600/minute.")] = None,
    name: Annotated[str, typer.Option(help="What it is for, to tell it from others.")] = "",
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. It is written to standard output, once: nobody can show it again."""
    with open_plain(url) as engine:
        key = engine.keys.create(
            tenant_id=tenant,
            app_id=app_id,
            user_id=user,
            any_user=any_user,
            admin=admin,
            name=name,
            expires_at=None if expires is None else _instant(expires),
            rate=rate,
        )
    if as_json:
        answer_json(key.model_dump(mode="json"))
        return
    problems.print(Text(f"{_whose(key)}. Keep it: it is shown this once."), soft_wrap=True)
    write(key.token)


@app.command("list")
def list_keys(
    tenant: Annotated[str | None, typer.Option(help="Only those of this tenant.")] = None,
    app_id: Annotated[str | None, typer.Option("--app", help="Only those of this app.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show what is known of the keys, the oldest first; never the keys themselves."""
    with open_plain(existing(url)) as engine:
        keys = engine.keys.list(tenant_id=tenant, app_id=app_id)
    if as_json:
        answer_json([key.model_dump(mode="json") for key in keys])
        return
    answer_table(
        ("id", "name", "tenant", "app", "for", "rate", "expires", "last use", "revoked"),
        (
            (it.id, it.name, it.tenant_id, it.app_id, it.user_id or it.access, it.rate, *map(_minute, _times(it)))
            for it in keys
        ),
        empty="There are no keys: longmind keys create makes one.",
    )


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="Which key: its id, rk_…")], url: Url = None, as_json: AsJson = False
) -> None:
    """Take a key back. The next request with it is refused, on every server of this database."""
    with open_plain(existing(url)) as engine:
        key = engine.keys.revoke(key_id)
    if as_json:
        answer_json(key.model_dump(mode="json"))
    else:
        answers.print(Text(f"{key.id} was revoked at {key.revoked_at}."), soft_wrap=True)


def _times(key: AccessKey) -> tuple[str | None, ...]:
    return key.expires_at, key.last_used_at, key.revoked_at


def _minute(at: str | None) -> str:
    return (at or "")[:16]


def _whose(key: AccessKey) -> str:
    whom = {"user": f"user {key.user_id}", "any-user": "any user", "admin": "administration"}[key.access]
    until = "" if key.expires_at is None else f", until {key.expires_at}"
    return f"A key for {whom} of {key.tenant_id}, app {key.app_id}{until}"


def _instant(expires: str) -> str | datetime:
    lasting = _LASTING.fullmatch(expires)
    if lasting is None:
        return expires
    try:
        return datetime.now(UTC) + timedelta(**{_UNITS[lasting[2]]: int(lasting[1])})
    except OverflowError:
        raise InvalidInput(f"expires is {expires!r}, which is beyond the calendar.") from None
