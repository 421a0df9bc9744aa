"""`longmind keys`, as it is called in a shell."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import longmind
from longmind.cli import main
from longmind.server.auth.identity import Authenticator
from tests.cli.command_calls import Run
from tests.server.asgi_requests import bearer


def test_a_key_is_made_listed_used_and_revoked(run: Run, database_url: str) -> None:
    where = ("--tenant", "acme", "--app", "support", "--url", database_url)
    made = run("keys", "create", *where, "--user", "ada", "--name", "[red]phone[/red]", "--expires", "30d")
    assert made.code == 0, made.err
    token = made.out.strip()
    # The key alone on standard output, so that it can be put into a file; the rest is for whoever looks on.
    assert made.out == f"{token}\n"
    assert "user ada of acme, app support" in made.err
    assert token not in made.err

    with longmind.open(database_url, embedder=None) as engine:
        assert Authenticator(engine).identify(bearer(token)).scope == longmind.Scope("acme", "support", "ada")
        engine.keys.settle()

    (key,) = json.loads(run("keys", "list", "--url", database_url, "--json").out)
    assert (key["name"], key["access"], key["userId"]) == ("[red]phone[/red]", "user", "ada")
    assert key["lastUsedAt"] is not None
    lasts = datetime.fromisoformat(key["expiresAt"]) - datetime.now(UTC)
    assert timedelta(days=29) < lasts <= timedelta(days=30)
    shown = run("keys", "list", "--url", database_url, COLUMNS="300").out
    assert key["id"] in shown
    assert "[red]phone[/red]" in shown
    assert token not in shown + json.dumps(key)

    revoked = run("keys", "revoke", key["id"], "--url", database_url)
    assert revoked.code == 0
    assert "Revoked " in revoked.out


def test_a_key_is_told_as_json_with_its_token(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    def create(*options: str) -> dict[str, Any]:
        with pytest.raises(SystemExit):
            main(["keys", "create", "--tenant", "acme", "--app", "support", "--url", sqlite_url, "--json", *options])
        made: dict[str, Any] = json.loads(capsys.readouterr().out)
        return made

    anybody, admin = create("--any-user", "--rate", "600/minute"), create("--admin")

    assert (anybody["access"], anybody["rate"], anybody["userId"]) == ("any-user", "600/minute", None)
    assert admin["access"] == "admin"
    assert anybody["token"].startswith(f"{anybody['id']}_")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "--tenant", "a", "--app", "b"), "for one user, for any user, or for an admin"),
        (
            ("create", "--tenant", "a", "--app", "b", "--user", "u", "--admin"),
            "for one user, for any user, or for an admin",
        ),
        (("create", "--tenant", "a", "--app", "b", "--admin", "--expires", "2020-01-01"), "in the past"),
        (("create", "--tenant", "a", "--app", "b", "--admin", "--expires", "soon"), "ISO 8601"),
        (("create", "--tenant", "a", "--app", "b", "--admin", "--rate", "often"), "rate is 'often'"),
        (("revoke", "rk_nonesuch"), "There is no key 'rk_nonesuch'"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_a_hint(
    sqlite_url: str, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    longmind.open(sqlite_url, embedder=None).close()
    with pytest.raises(SystemExit) as ended:
        main(["keys", *arguments, "--url", sqlite_url])

    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (1, "")
    assert words in told.err
    assert "Hint:" in told.err
