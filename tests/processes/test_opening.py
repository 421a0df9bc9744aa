"""Processes that open a database at the moment of its making."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import apsw
import psycopg
import pytest

from harness.crew import Line, ada, run_together, start_process
from longmind.store.migrations import load_migrations

DATABASES = 3


def open_each(line: Line, urls: list[str], name: str) -> None:
    for url in urls:
        line.wait_for_others()
        with ada(url) as (_, ctx):
            conversation = ctx.conversations.create_conversation("opened", title=name)
            ctx.conversations.append_user_message(conversation.id, "It works.")


@pytest.mark.parametrize("processes", [2, 8])
def test_processes_that_open_a_new_database_at_the_same_moment_all_find_it_made_once(
    new_url: Callable[[], str], processes: int
) -> None:
    urls = [new_url() for _ in range(DATABASES)]
    names = [f"process {number}" for number in range(processes)]

    run_together(open_each, [(urls, name) for name in names])

    for url in urls:
        with ada(url) as (_, ctx):
            conversations = ctx.conversations.list_conversations()
            assert sorted(str(conversation.title) for conversation in conversations) == names
            assert [conversation.message_count for conversation in conversations] == [1] * processes
        known = load_migrations("sqlite" if url.startswith("sqlite") else "postgres")
        assert _applied(url) == [(migration.version, migration.name) for migration in known]


def look_with_another_program(line: Line, path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM events").fetchall()
    connection.close()


def read_texts(line: Line, url: str, conversation_id: str) -> list[str]:
    with ada(url) as (_, ctx):
        return [message.text for message in ctx.conversations.get_messages(conversation_id)]


def test_a_second_engine_in_a_process_takes_no_lock_from_the_first(sqlite_url: str) -> None:
    with ada(sqlite_url) as (_, ctx):
        conversation = ctx.conversations.create_conversation("first")
        with ada(sqlite_url):
            pass
        # The last to leave clears the log of changes away. The other program must see that it is not the last.
        with start_process(look_with_another_program, sqlite_url.removeprefix("sqlite:///")) as other:
            other.result()
        ctx.conversations.append_user_message(conversation.id, "Still here")
        with start_process(read_texts, sqlite_url, conversation.id) as reader:
            assert reader.result() == ["Still here"]


def _applied(url: str) -> list[tuple[int, str]]:
    """The migrations that the database says it has been through."""
    query = "SELECT version, name FROM longmind_schema ORDER BY version"
    if url.startswith("sqlite:///"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        return list(connection.execute(query))
    with psycopg.connect(url, options="-c search_path=longmind") as postgres:
        return postgres.execute(query).fetchall()
