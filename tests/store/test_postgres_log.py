"""PostgreSQL's own log: what docs/how-to/operating.md says of it is so."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

import longmind
from harness.log_watch import secrets_in
from harness.operation_calls import make_direct_call
from harness.postgres import PostgresServer
from tests.admin.planted_words import Words, plant

STATEMENTS = {"log_statement": "all", "log_min_duration_statement": "0"}


def used(server: PostgresServer, url: str, settings: dict[str, str], user: str = "ada") -> str:
    """What the server logs while everything is used, with settings of the database's own."""
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.info.dbname
        for name, value in settings.items():
            statement = sql.SQL("ALTER DATABASE {} SET {} = {}")
            connection.execute(statement.format(sql.Identifier(connection.info.dbname), sql.Identifier(name), value))
    log = server.folder / "log"
    before = log.stat().st_size
    with longmind.open(url, embedder=None) as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id=user)
        plant(engine, make_direct_call(context), user, Words(3))
    return log.read_bytes()[before:].decode("utf-8", "replace")


def test_left_as_it_is_it_has_nothing_that_users_said(postgres_server: PostgresServer, postgres_url: str) -> None:
    assert secrets_in(used(postgres_server, postgres_url, {})) == []


@pytest.mark.parametrize("setting", STATEMENTS)
def test_statements_are_logged_with_what_is_stored_unless_parameters_are_cut_off(
    postgres_server: PostgresServer, postgres_url: str, setting: str
) -> None:
    asked = {setting: STATEMENTS[setting]}
    assert secrets_in(used(postgres_server, postgres_url, asked))
    log = used(postgres_server, postgres_url, {**asked, "log_parameter_max_length": "0"}, "eva")
    assert "INSERT INTO" in log
    assert secrets_in(log) == []
