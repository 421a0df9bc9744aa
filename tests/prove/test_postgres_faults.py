"""What comes between an engine and its PostgreSQL: cut, silenced and moved connections, by a proxy that can do it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, get_args

import psycopg
import pytest
from psycopg import sql

import longmind
from harness.crew import wait_until
from harness.postgres import PostgresServer
from longmind.conversations.service import Conversations
from prove.postgres_faults.proxy import Attack, Proxy
from tests.server.live_server import serving

LIMITS: dict[str, Any] = {
    "embedder": None,
    "busy_timeout_seconds": 5.0,
    "answer_timeout_seconds": 5.0,
    "connect_timeout_seconds": 3.0,
}
IMPATIENT: dict[str, Any] = {
    "embedder": None,
    "busy_timeout_seconds": 1.0,
    "answer_timeout_seconds": 1.0,
    "connect_timeout_seconds": 2.0,
}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(tcp=True) as server:
        longmind.open(server.create_database("memory")).close()
        yield server


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    proxy = Proxy(("127.0.0.1", port_of(server.url())))
    yield proxy
    proxy.close()


@pytest.fixture
def attacked(server: PostgresServer, proxy: Proxy) -> Iterator[longmind.Engine]:
    with longmind.open(way_through(proxy, server), **LIMITS) as engine:
        yield engine


def way_through(proxy: Proxy, server: PostgresServer) -> str:
    url = server.url("memory").replace(f":{port_of(server.url())}/", f":{proxy.port}/")
    return f"{url}?sslmode=disable&gssencmode=disable"


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


def ada(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada")


@pytest.mark.parametrize("attack", get_args(Attack)[:4])
def test_a_connection_cut_at_any_point_is_made_good_or_told_of(
    attack: Attack, proxy: Proxy, attacked: longmind.Engine
) -> None:
    chat = ada(attacked).conversations
    conversation = chat.create_conversation("attacked").id
    for number in range(4):
        proxy.attacks = [attack]
        try:
            chat.append_user_message(conversation, f"{number}", idempotency_key=f"{number}")
        except longmind.OutcomeUnknown:
            assert "commit" in attack
            chat.append_user_message(conversation, f"{number}", idempotency_key=f"{number}")
        else:
            assert "commit" not in attack
    assert proxy.done == [attack] * 4
    assert [message.text for message in chat.get_messages(conversation)] == ["0", "1", "2", "3"]


def test_a_connection_on_which_not_even_a_transaction_was_begun_in_time_can_be_used_again(
    proxy: Proxy, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Far apart, so that no statement but this one takes too long.
    monkeypatch.setattr("prove.postgres_faults.proxy.HELD_UP", 3.0)
    with psycopg.connect(server.url("memory"), autocommit=True) as administrator:
        administrator.execute("ALTER DATABASE memory SET statement_timeout = '1500ms'")
        try:
            with longmind.open(way_through(proxy, server), **LIMITS, pool_size=1) as engine:
                chat = ada(engine).conversations
                conversation = chat.create_conversation("attacked").id
                for text in ("one", "two"):
                    chat.append_user_message(conversation, text)
                # What is sent for the third time is prepared. Here the server skips it, behind what it has given up.
                proxy.attacks = ["held up at its beginning"]
                with pytest.raises(longmind.StoreBusy, match="statement timeout"):
                    chat.append_user_message(conversation, "late")
                chat.append_user_message(conversation, "three")
                assert [message.text for message in chat.get_messages(conversation)] == ["one", "two", "three"]
        finally:
            administrator.execute("ALTER DATABASE memory RESET statement_timeout")


def test_a_server_that_says_nothing_more_is_given_up_in_time_and_found_again(
    proxy: Proxy, server: PostgresServer
) -> None:
    with longmind.open(way_through(proxy, server), **IMPATIENT) as engine:
        chat = ada(engine).conversations
        conversation = chat.create_conversation("attacked").id
        proxy.silence()
        began = time.monotonic()
        with pytest.raises(longmind.StoreUnavailable, match="does not answer"):
            chat.get_messages(conversation)
        # There is no connection left, and none can be made.
        with pytest.raises(longmind.StoreUnavailable, match=r"has not answered yet|timeout expired|no answer for"):
            chat.append_user_message(conversation, "Anybody there?")
        # Far sooner than with the patience that is set where nothing else is said.
        assert time.monotonic() - began < longmind.Settings().answer_timeout_seconds / 2
        proxy.cut_all()
        proxy.resume()
        chat.append_user_message(conversation, "Good to have you back.")
        assert [message.text for message in chat.get_messages(conversation)] == ["Good to have you back."]


def test_a_write_that_lost_its_server_is_no_call_of_a_tool_to_be_repeated(
    proxy: Proxy, attacked: longmind.Engine
) -> None:
    tools = ada(attacked).tools
    tools.memory_store("fact", "Uses macOS.")
    proxy.attacks = ["after the commit, before its answer"]
    with pytest.raises(longmind.ToolError) as caught:
        tools.memory_store("fact", "Likes tea.")
    assert (caught.value.code, caught.value.retriable) == ("PLUGIN_TIMEOUT", False)
    assert [entry.content for entry in tools.memory_search("tea").results][:1] == ["Likes tea."]


def test_a_connection_that_was_on_its_way_while_nothing_could_be_written_is_not_used_for_the_second_try(
    proxy: Proxy, server: PostgresServer, attacked: longmind.Engine
) -> None:
    chat = ada(attacked).conversations
    with psycopg.connect(server.url(), autocommit=True) as administrator:
        for number in range(5):
            administrator.execute("ALTER DATABASE memory SET default_transaction_read_only = on")
            administrator.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'longmind'"
            )
            # Slow, so that some are always on their way.
            proxy.delay = 0.02
            with pytest.raises(longmind.StoreReadOnly):
                chat.create_conversation("refused")
            administrator.execute("ALTER DATABASE memory RESET default_transaction_read_only")
            chat.create_conversation("made")
            proxy.delay = 0.0
            assert len(chat.list_conversations(namespace="made")) == number + 1
    assert chat.list_conversations(namespace="refused") == []


def test_a_server_that_could_not_be_written_a_moment_ago_is_not_ready(
    server: PostgresServer, attacked: longmind.Engine
) -> None:
    chat = ada(attacked).conversations
    with psycopg.connect(server.url(), autocommit=True) as administrator, serving(attacked) as client:
        administrator.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        administrator.execute("SELECT pg_reload_conf()")
        try:
            # The server reads its settings when it comes to it.
            wait_until(lambda: _is_refused(chat))
            assert client.get("/readyz").status == 503
        finally:
            administrator.execute("ALTER SYSTEM RESET default_transaction_read_only")
            administrator.execute("SELECT pg_reload_conf()")
        wait_until(lambda: not _is_refused(chat))
        assert client.get("/readyz").status == 200


def _is_refused(chat: Conversations) -> bool:
    try:
        chat.create_conversation("daily")
    except longmind.StoreReadOnly:
        return True
    return False


def test_a_password_that_was_changed_is_named_by_who_waited_for_a_connection(
    server: PostgresServer, attacked: longmind.Engine
) -> None:
    chat = ada(attacked).conversations
    before = chat.list_conversations()
    with psycopg.connect(server.url("memory"), autocommit=True) as administrator:
        try:
            administrator.execute("ALTER ROLE postgres PASSWORD 'another'")
            administrator.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'longmind'"
            )
            with pytest.raises(longmind.StoreUnavailable, match="password authentication failed"):
                chat.list_conversations()
        finally:
            password = server.url().partition("postgres:")[2].partition("@")[0]
            administrator.execute(sql.SQL("ALTER ROLE postgres PASSWORD {}").format(password))
    assert chat.list_conversations() == before


@pytest.mark.slow  # it waits as long as the probe of a load balancer does
def test_a_server_is_not_ready_while_its_database_hangs_and_says_so_in_time(
    proxy: Proxy, server: PostgresServer
) -> None:
    with longmind.open(way_through(proxy, server), embedder=None) as engine, serving(engine) as client:
        assert client.get("/readyz").status == 200
        proxy.silence()
        began = time.monotonic()
        assert [client.get("/readyz").status for _ in range(2)] == [503, 503]
        assert time.monotonic() - began < 15
        proxy.resume()
        wait_until(lambda: client.get("/readyz").status == 200)
