"""What was superseded long ago is purged, counted from the day it was superseded."""

from __future__ import annotations

import pytest

import longmind
from tests.clock import SettableClock
from tests.tools.conftest import OWNER
from tests.tools.test_storing import contents

DAY = 24 * 3600


def everything(ctx: longmind.Context) -> list[str]:
    return contents(ctx.tools.memory_search(include_superseded=True))


@pytest.mark.conforms("B5.6", "T15")
def test_an_entry_is_purged_ninety_days_after_it_was_superseded(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    old = ctx.tools.memory_store("fact", "Uses npm")
    clock.advance(400 * DAY)
    ctx.tools.memory_store("fact", "Uses pnpm", supersedes=old.id)
    assert engine.purge_superseded() == 0
    clock.advance(90 * DAY - 1)
    assert engine.purge_superseded() == 0
    assert everything(ctx) == ["Uses pnpm", "Uses npm"]
    clock.advance(1)
    assert engine.purge_superseded() == 1
    assert everything(ctx) == ["Uses pnpm"]
    assert ctx.tools.memory_brief().entry_count == 1
    assert engine.purge_superseded() == 0


@pytest.mark.conforms("B5.6")
def test_opening_purges_too_and_the_time_can_be_set(
    database_url: str, ctx: longmind.Context, clock: SettableClock
) -> None:
    old = ctx.tools.memory_store("fact", "Uses npm")
    ctx.tools.memory_store("fact", "Uses pnpm", supersedes=old.id)
    clock.advance(7 * DAY)
    with longmind.open(database_url, embedder=None, clock=clock, purge_superseded_days=8) as another:
        assert everything(another.context(**OWNER)) == ["Uses pnpm", "Uses npm"]
    with longmind.open(database_url, embedder=None, clock=clock, purge_superseded_days=7) as another:
        assert everything(another.context(**OWNER)) == ["Uses pnpm"]


@pytest.mark.conforms("B5.6")
def test_no_other_memory_is_purged(engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock) -> None:
    ctx.tools.memory_store("fact", "Still holds")
    (group,) = ctx.memory.list_memory_spaces()
    own = ctx.memory.create_memory_space("personal")
    fact = {"name": "x", "kind": "FACT"}
    for space in (group, own):
        old = ctx.memory.add_atom(space.id, {"text": "Old", "category": fact})
        ctx.memory.supersede_atom(old.id, {"text": "New", "category": fact})
    written = ctx.memory.add_atom(own.id, {"text": "Written by a tool", "category": fact, "origin": "tool"})
    ctx.memory.supersede_atom(written.id, {"text": "Written anew", "category": fact})
    clock.advance(1_000 * DAY)
    assert engine.purge_superseded() == 0
    assert len(ctx.memory.list_atoms(own.id)) == 4
    assert len(ctx.memory.list_atoms(group.id)) == 3


def test_entries_of_all_users_and_groups_are_purged(engine: longmind.Engine, clock: SettableClock) -> None:
    contexts = [
        engine.context(tenant_id="acme", app_id="support", user_id=user, group=group)
        for user in ("ada", "bob")
        for group in ("one", "two")
    ]
    for ctx in contexts:
        old = ctx.tools.memory_store("fact", "Uses npm")
        ctx.tools.memory_store("fact", "Uses pnpm", supersedes=old.id)
    clock.advance(90 * DAY)
    assert engine.purge_superseded() == 4
    assert [everything(ctx) for ctx in contexts] == [["Uses pnpm"]] * 4


@pytest.mark.conforms("B5.6")
def test_an_older_version_goes_from_the_middle_of_a_chain(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    first = ctx.tools.memory_store("fact", "Uses npm")
    second = ctx.tools.memory_store("fact", "Uses yarn", supersedes=first.id)
    clock.advance(90 * DAY)
    ctx.tools.memory_store("fact", "Uses pnpm", supersedes=second.id)
    assert engine.purge_superseded() == 1
    assert everything(ctx) == ["Uses pnpm", "Uses yarn"]
