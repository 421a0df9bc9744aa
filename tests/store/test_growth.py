"""No operation of a user takes longer because there are many others: no statement of theirs reads a whole table."""

from __future__ import annotations

import re

import psycopg
import pytest

import longmind
from longmind.store.queries import make_query
from prove.scale.plans import OVER_ALL, find_unexpected, index_conditions, statements, steps_of, whole_reads


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database that no other test has had: PostgreSQL remembers that a table was small, and then reads all of it."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


def test_no_statement_reads_a_whole_table_but_those_that_are_about_all_of_it(engine: longmind.Engine) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    assert find_unexpected(whole_reads(engine, scope, seldom=True)) == []


def test_what_may_read_a_whole_table_is_the_hosts_work_over_all_users(engine: longmind.Engine) -> None:
    known = statements(engine)
    assert [name for name in OVER_ALL if name not in known or not known[name].system] == []


def test_a_statement_without_an_index_is_noticed(engine: longmind.Engine) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    planted = "SELECT id FROM conversations WHERE title = :title AND :scope_id IS NOT NULL"
    engine._database.add_queries({"by_title": make_query("by_title", planted, engine._database.engine)})
    assert find_unexpected(whole_reads(engine, scope, seldom=True)) == ["by_title reads all of conversations"]


def test_an_erasure_still_finds_the_shared_spaces_of_others(engine: longmind.Engine) -> None:
    owner = engine.context(tenant_id="acme", app_id="support", user_id="owner")
    reader = engine.context(tenant_id="acme", app_id="support", user_id="reader")
    space = owner.memory.create_memory_space("plans", kind="shared")
    owner.memory.grant_space(space.id, "reader")
    assert reader.admin.delete_user_data(confirm=True)["deleted"]["named_in_history"] == 1


@pytest.mark.parametrize(
    ("statement", "cursor"),
    [
        ("list_atoms", r"position<"),
        ("list_conversations", r"\(created_at,id\)<"),
        ("list_jobs", r"(AND|\(|\))id<"),
        ("last_messages", r"sequence<"),
    ],
)
def test_a_deep_page_is_looked_up_where_the_page_before_has_ended(
    engine: longmind.Engine, statement: str, cursor: str
) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    conditions = index_conditions(engine, scope, statement)
    assert re.search(cursor, re.sub(r'[ "]', "", conditions)), conditions


def test_an_atom_that_is_stated_again_is_looked_up_by_its_text(engine: longmind.Engine) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    conditions = index_conditions(engine, scope, "atom_by_text")
    assert "text_hash=" in re.sub(r'[ "()]', "", conditions), conditions


_MANY_JOBS = """
INSERT INTO longmind.jobs (
    scope_id, id, tenant_id, app_id, user_id, kind, status, payload, attempts, max_attempts, fencing_token, epoch,
    due_at, created_at, updated_at
)
SELECT md5((number % 2000)::text), 'job_' || lpad(number::text, 12, '0'), 'acme', 'support', 'somebody',
    'kind ' || number % 2, 'queued', '{}', 0, 5, 0, 0, number, number, number
FROM generate_series(1, 30000) AS number
"""


@pytest.mark.parametrize("statement", ["claim_jobs", "jobs_of_all_scopes"])
def test_a_long_queue_is_not_sorted_to_take_one_job_or_to_show_the_newest(postgres_url: str, statement: str) -> None:
    with longmind.open(postgres_url, embedder=None) as engine:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(_MANY_JOBS)
            connection.execute("ANALYZE longmind.jobs")
        assert "Sort" not in steps_of(engine, statement)


def test_a_job_of_an_erased_user_is_not_taken_and_one_queued_since_is(engine: longmind.Engine) -> None:
    ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    engine.register_job("greet", lambda run: {})
    ada.jobs.enqueue("greet")
    ada.admin.delete_user_data(confirm=True)
    assert engine.work().succeeded == 0
    ada.jobs.enqueue("greet")
    assert engine.work().succeeded == 1
