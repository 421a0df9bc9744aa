"""What PostgreSQL does to a program that uses it: restarts, lost connections, other defaults, and Ctrl-C in between."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Literal

import psycopg
import pytest
from psycopg import sql

import longmind
from harness.alarms import is_interrupted
from harness.crew import wait_until
from harness.messages import all_messages
from harness.postgres import PostgresServer
from longmind.store.database import Transaction
from longmind.store.postgres.error_translation import translate
from longmind.store.tables import conversations
from longmind.store.tables.conversations import NewConversation
from tests.store.sessions import sessions_of


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(postgres_url) as engine:
        yield engine


def context(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada")


def fill_the_pool(engine: longmind.Engine, size: int = 8) -> None:
    pool = engine._database._connections.open_pool()  # type: ignore[attr-defined]
    with ExitStack() as held:
        for _ in range(size):
            held.enter_context(pool.connection())


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def end_connections(url: str) -> None:
    """What a restart, an administrator or a firewall does."""
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = 'longmind' AND datname = current_database()"
        )


def on_each_message(url: str, action: str, *, when: Literal["at once", "at the commit"]) -> None:
    """Let the server do something for each message that is stored."""
    kind, deferred = ("CONSTRAINT", "DEFERRABLE INITIALLY DEFERRED") if when == "at the commit" else ("", "")
    execute(
        url,
        f"CREATE FUNCTION longmind.trouble() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER "
        f"AS $$ BEGIN {action}; RETURN NULL; END $$",
    )
    execute(
        url,
        f"CREATE {kind} TRIGGER trouble AFTER INSERT ON longmind.events {deferred} "
        "FOR EACH ROW EXECUTE FUNCTION longmind.trouble()",
    )


# --- lost connections ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_an_idle_server_is_not_noticed(
    mode: Literal["fast", "immediate"], postgres: longmind.Engine, postgres_server: PostgresServer
) -> None:
    chat = context(postgres).conversations
    conversation = chat.create_conversation("daily-checkin")
    told: list[longmind.Change] = []
    postgres.subscribe(told.append)
    fill_the_pool(postgres)
    postgres_server.restart(mode)
    numbers = [chat.append_user_message(conversation.id, f"{number}").sequence for number in range(30)]
    assert numbers == list(range(1, 31))
    assert len(told) == 30


def test_reads_and_writes_of_many_threads_find_their_way_after_a_restart(
    postgres: longmind.Engine, postgres_server: PostgresServer
) -> None:
    chat = context(postgres).conversations
    fill_the_pool(postgres)
    for _ in range(3):
        postgres_server.restart()
        with ThreadPoolExecutor(8) as threads:
            made = list(threads.map(lambda number: chat.create_conversation(f"n{number}"), range(16)))
            found = list(threads.map(lambda each: chat.get_conversation(each.id), made))
        assert found == made


def test_a_connection_lost_in_the_middle_of_a_write_begins_it_anew_and_tells_of_it_once(
    postgres: longmind.Engine, postgres_url: str
) -> None:
    ada = context(postgres)
    tries: list[str] = []

    def begin(run: Transaction, scope: longmind.Scope) -> str:
        tries.append(conversations.create(run, scope, NewConversation("by-a-job", None, None, "{}"), 0).id)
        if len(tries) == 1:
            end_connections(postgres_url)
            run.one("get_job", id="any")
        return tries[-1]

    told: list[longmind.Change] = []
    postgres.subscribe(told.append)
    postgres.register_job("begin", lambda run: longmind.Effect(begin, (run.scope,)))
    ada.jobs.enqueue("begin")
    assert postgres.work() == longmind.WorkReport(succeeded=1)
    assert len(tries) == 2
    assert [each.id for each in ada.conversations.list_conversations()] == tries[1:]
    assert [change.conversation_id for change in told] == tries[1:]


@pytest.mark.parametrize("use", ["read", "write"])
def test_a_connection_that_is_lost_every_time_is_given_up(
    use: str, postgres: longmind.Engine, postgres_url: str
) -> None:
    tries: list[int] = []

    def look(run: Transaction) -> None:
        tries.append(len(tries))
        end_connections(postgres_url)
        run.one("get_job", id="any")

    with pytest.raises(longmind.StoreUnavailable):
        getattr(postgres._database, use)(context(postgres).scope, look)
    assert tries == [0, 1]
    assert context(postgres).conversations.list_conversations() == []


def test_a_connection_lost_in_the_commit_leaves_the_outcome_open_and_says_so(
    postgres: longmind.Engine, postgres_url: str
) -> None:
    chat = context(postgres).conversations
    conversation = chat.create_conversation("daily-checkin")
    told: list[longmind.Change] = []
    postgres.subscribe(told.append)
    on_each_message(postgres_url, "PERFORM pg_terminate_backend(pg_backend_pid())", when="at the commit")
    with pytest.raises(longmind.OutcomeUnknown, match="outcome is unknown") as caught:
        chat.append_user_message(conversation.id, "Hello?", idempotency_key="once")
    assert "idempotency key makes a retry safe" in caught.value.hint
    assert told == []
    execute(postgres_url, "DROP TRIGGER trouble ON longmind.events")
    chat.append_user_message(conversation.id, "Hello?", idempotency_key="once")
    assert [each.text for each in chat.get_messages(conversation.id)] == ["Hello?"]


def test_sessions_ended_at_any_moment_make_nothing_there_that_was_refused_nor_anything_twice(
    postgres: longmind.Engine, postgres_url: str
) -> None:
    chat = context(postgres).conversations
    conversation = chat.create_conversation("daily-checkin")
    # Every third commit lasts long enough to be struck on a machine of any speed; the others are struck anywhere.
    on_each_message(postgres_url, "IF random() < 0.33 THEN PERFORM pg_sleep(0.02); END IF", when="at the commit")
    ended, unknown = threading.Event(), threading.Event()

    def append_some(writer: int) -> dict[str, range]:
        may_be: dict[str, range] = {}
        while not ended.is_set():
            text = f"{writer}.{len(may_be)}"
            try:
                chat.append_user_message(conversation.id, text)
                may_be[text] = range(1, 2)
            except longmind.OutcomeUnknown:
                may_be[text] = range(2)
                unknown.set()
            except longmind.StoreUnavailable:
                may_be[text] = range(1)
        return may_be

    strikes, patience_ends = 0, time.monotonic() + 60
    with ThreadPoolExecutor(4) as threads:
        writers = [threads.submit(append_some, number) for number in range(4)]
        while strikes < 30 or not (unknown.is_set() or time.monotonic() > patience_ends):
            end_connections(postgres_url)
            strikes += 1
        ended.set()
    there = Counter(message.text for message in all_messages(chat, conversation.id))
    told = {text: counts for writer in writers for text, counts in writer.result().items()}
    assert {text: there[text] for text in told if there[text] not in told[text]} == {}
    assert any(counts == range(2) for counts in told.values())


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """A database that cannot be written by sessions that begin in this block, however long they last."""
    name = url.partition("@/")[2].partition("?")[0]
    execute(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    end_connections(url)
    try:
        yield
    finally:
        with psycopg.connect(url, autocommit=True) as administrator:
            administrator.execute("SET default_transaction_read_only = off")
            administrator.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(sql.Identifier(name)))


def test_a_write_to_a_replica_is_refused_and_costs_those_who_read_from_it_nothing(
    postgres: longmind.Engine, postgres_url: str
) -> None:
    chat = context(postgres).conversations
    with read_only(postgres_url):
        assert chat.list_conversations() == []
        fill_the_pool(postgres)
        sessions, history = sessions_of(postgres_url), postgres._database.read(None, lambda run: run.history)
        with ThreadPoolExecutor(8) as threads:
            for refused in [threads.submit(chat.create_conversation, "daily-checkin") for _ in range(40)]:
                assert isinstance(refused.exception(), longmind.StoreReadOnly)
        assert len(sessions) > 1
        assert sessions <= sessions_of(postgres_url)
        # By which what is kept in memory is known to be of the same past.
        assert postgres._database.read(None, lambda run: run.history) == history
    conversation = chat.create_conversation("daily-checkin")
    assert chat.list_conversations() == [conversation]
    # A session that was left is there for a moment longer.
    wait_until(lambda: sessions_of(postgres_url).isdisjoint(sessions))
    assert postgres._database.read(None, lambda run: run.history) != history


def test_a_connection_that_has_become_read_only_is_left_for_one_that_can_write(
    postgres: longmind.Engine, postgres_url: str
) -> None:
    chat = context(postgres).conversations
    with read_only(postgres_url):
        assert chat.list_conversations() == []
        with pytest.raises(longmind.StoreReadOnly):
            chat.create_conversation("daily-checkin")
    # What the pool holds was made while the server could not be written, as after a failover.
    conversation = chat.create_conversation("daily-checkin")
    assert chat.list_conversations() == [conversation]


def test_what_is_kept_in_memory_of_a_past_that_was_lost_is_not_found_any_more(
    postgres: longmind.Engine, postgres_server: PostgresServer, postgres_url: str
) -> None:
    name = postgres_url.partition("@/")[2].partition("?")[0]
    memory, events = context(postgres).memory, context(postgres).events
    space = memory.create_memory_space("home").id
    memory.add_atoms(space, [{"text": "Ada has a garden.", "category": {"name": "home", "kind": "FACT"}}])
    events.record("note", "Ada planted roses.")

    def found(engine: longmind.Engine) -> tuple[list[str], list[str]]:
        ada = context(engine)
        recalled = ada.memory.recall_by_topic(space, "Ada cat dog garden")
        searched = ada.events.search("Ada roses fed", mode="lexical")
        # Read, kept, and shown from memory.
        assert [ada.events.recent() for _ in range(3)] == [ada.events.recent_persisted()] * 3
        return sorted(hit.atom.text for hit in recalled.hits), sorted(event.text or "" for event in searched)

    end_connections(postgres_url)
    execute(postgres_server.url(), f"CREATE DATABASE {name}_backup TEMPLATE {name}")
    memory.add_atoms(space, [{"text": "Ada has a dog.", "category": {"name": "home", "kind": "FACT"}}])
    events.record("note", "Ada fed the dog.")
    assert found(postgres) == (["Ada has a dog.", "Ada has a garden."], ["Ada fed the dog.", "Ada planted roses."])
    # The backup is brought back, and what was written since is lost; its numbers are used for something else.
    end_connections(postgres_url)
    execute(postgres_server.url(), f"DROP DATABASE {name} WITH (FORCE)")
    execute(postgres_server.url(), f"ALTER DATABASE {name}_backup RENAME TO {name}")
    with longmind.open(postgres_url) as another:
        context(another).memory.add_atoms(
            space, [{"text": "Ada has a cat.", "category": {"name": "home", "kind": "FACT"}}]
        )
        context(another).events.record("note", "Ada fed the cat.")
    assert found(postgres) == (["Ada has a cat.", "Ada has a garden."], ["Ada fed the cat.", "Ada planted roses."])


# --- defaults of the database ----------------------------------------------------------------


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_the_default_isolation_level_of_the_database_does_not_matter(level: str, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_isolation = {}").format(
                sql.Identifier(connection.info.dbname), level
            )
        )
    with ExitStack() as opened, ThreadPoolExecutor(4) as threads:
        engines = [opened.enter_context(each) for each in threads.map(longmind.open, [postgres_url] * 4)]
        conversation = context(engines[0]).conversations.create_conversation("daily-checkin")

        def append_some(engine: longmind.Engine) -> None:
            for number in range(20):
                context(engine).conversations.append_user_message(conversation.id, f"{number}")

        list(threads.map(append_some, engines))
        messages = context(engines[0]).conversations.get_messages(conversation.id, limit=1000)
    assert [each.sequence for each in messages] == list(range(1, 81))


def test_what_another_transaction_came_between_can_be_tried_again(postgres: longmind.Engine, postgres_url: str) -> None:
    chat = context(postgres).conversations
    conversation = chat.create_conversation("daily-checkin")
    on_each_message(postgres_url, "RAISE EXCEPTION 'came between' USING ERRCODE = '40001'", when="at once")
    with pytest.raises(longmind.StoreBusy, match="came between") as caught:
        chat.append_user_message(conversation.id, "Hello?")
    assert "Try again" in caught.value.hint


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_has_no_room_for_every_character_is_refused(
    encoding: str, postgres_server: PostgresServer
) -> None:
    name = f"in_{encoding.lower()}"
    execute(postgres_server.url(), f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(longmind.StoreError, match=encoding) as caught:
            longmind.open(postgres_server.url(name))
        assert "ENCODING 'UTF8'" in caught.value.hint
    finally:
        postgres_server.drop_database(name)


@pytest.mark.parametrize("place", ["address", "environment"])
def test_another_encoding_of_the_client_is_not_used(
    place: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "address":
        postgres_url += "&client_encoding=latin1"
    else:
        monkeypatch.setenv("PGCLIENTENCODING", "latin1")
    with longmind.open(postgres_url) as engine:
        conversation = context(engine).conversations.create_conversation("büro 🗂")
        assert context(engine).conversations.get_conversation(conversation.id) == conversation


def test_a_text_that_cannot_be_encoded_is_refused_in_our_words(postgres: longmind.Engine) -> None:
    scope = context(postgres).scope
    with pytest.raises(longmind.InvalidInput, match=r"U\+D800 at position 1") as caught:
        postgres._database.read(scope, lambda run: run.one("get_job", id="a\ud800"))
    assert caught.value.hint


# --- Ctrl-C ----------------------------------------------------------------------------------


def test_ctrl_c_comes_through_when_the_driver_stumbles_over_it(postgres: longmind.Engine) -> None:
    def stumble(run: Transaction) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise psycopg.OperationalError("cannot exit pipeline mode while busy")

    scope = context(postgres).scope
    for use in (postgres._database.read, postgres._database.write):
        with pytest.raises(KeyboardInterrupt):
            use(scope, stumble)
    assert context(postgres).conversations.list_conversations() == []


def test_an_error_during_the_handling_of_ctrl_c_is_still_that_error(postgres: longmind.Engine) -> None:
    chat = context(postgres).conversations
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(longmind.NotFound):
            chat.append_user_message("conv_that_never_was", "Goodbye.")


@pytest.mark.timeout(method="thread")  # the alarm is taken
def test_ctrl_c_at_any_moment_ends_the_call_and_leaves_the_engine_usable(postgres: longmind.Engine) -> None:
    chat = context(postgres).conversations
    conversation = chat.create_conversation("daily-checkin")
    chance = random.Random(7)

    def append_for_ever() -> None:
        while True:
            chat.append_turn(conversation.id, user_content="Question", assistant={"content": "Answer"})

    for _ in range(200):
        chat.append_user_message(conversation.id, "The connection is there")
        # Again and again, since Python ignores what strikes it in a destructor.
        assert is_interrupted(append_for_ever, chance.uniform(0.0005, 0.004), 0.1)
    fill_the_pool(postgres, postgres.settings.pool_size)
    messages = all_messages(chat, conversation.id)
    last = chat.append_user_message(conversation.id, "Still here").sequence
    assert [each.sequence for each in messages] == list(range(1, last))


def test_ctrl_c_in_one_thread_is_nothing_to_the_others(postgres: longmind.Engine) -> None:
    chat = context(postgres).conversations
    conversation = chat.create_conversation("daily-checkin")

    def interrupted(run: Transaction) -> None:
        raise KeyboardInterrupt

    with ThreadPoolExecutor(8) as threads:
        appended = [threads.submit(chat.append_user_message, conversation.id, f"{number}") for number in range(400)]
        while not appended[-1].done():
            with pytest.raises(KeyboardInterrupt):
                postgres._database.write(context(postgres).scope, interrupted)
            appended[len(appended) // 2].exception()
    assert sorted(each.result().sequence for each in appended) == list(range(1, 401))


def test_a_row_that_is_refused_is_not_quoted(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (said TEXT, at TEXT NOT NULL)")
        with pytest.raises(psycopg.errors.NotNullViolation, match="marzipan") as caught:
            connection.execute("INSERT INTO notes VALUES ('I like marzipan.', NULL)")
    told = translate(caught.value, "postgresql://host/db")
    assert "not-null" in str(told)
    assert "marzipan" not in str(told)
