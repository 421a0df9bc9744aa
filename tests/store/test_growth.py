"""No operation of a user takes longer because there are many others: no statement of theirs reads a whole table."""

from __future__ import annotations

import re

import pytest

import recollect
from prove.scale.plans import OVER_ALL, index_conditions, statements, unexpected, whole_reads
from recollect.store.queries import made


def test_no_statement_reads_a_whole_table_but_those_that_are_about_all_of_it(engine: recollect.Recollect) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    assert unexpected(whole_reads(engine, scope, seldom=True)) == []


def test_what_may_read_a_whole_table_is_the_hosts_work_over_all_users(engine: recollect.Recollect) -> None:
    known = statements(engine)
    assert [name for name in OVER_ALL if name not in known or not known[name].system] == []


def test_a_statement_without_an_index_is_noticed(engine: recollect.Recollect) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    planted = "SELECT id FROM conversations WHERE title = :title AND :scope_id IS NOT NULL"
    engine._database.know({"by_title": made("by_title", planted, engine._database.engine)})
    assert unexpected(whole_reads(engine, scope, seldom=True)) == ["by_title reads all of conversations"]


def test_an_erasure_still_finds_the_shared_spaces_of_others(engine: recollect.Recollect) -> None:
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
    engine: recollect.Recollect, statement: str, cursor: str
) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    conditions = index_conditions(engine, scope, statement)
    assert re.search(cursor, re.sub(r'[ "]', "", conditions)), conditions
