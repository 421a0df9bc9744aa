"""An older version of a fact stays hidden when the newer one is deleted, until an administrator restores it."""

from __future__ import annotations

from functools import partial

import pytest

import longmind
from longmind.clock import to_iso
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.extraction.conftest import talk
from tests.memory.facts import administrator, at_once, fact, found, kinds_since, looked_up, rows_of

WHERE = "Where does Ada live?"


@pytest.fixture
def admin(engine: longmind.Engine) -> Memory:
    return administrator(engine)


def hidden(memory: Memory, space_id: str) -> longmind.Atom:
    """A fact that was superseded by one that was deleted."""
    old = memory.add_atom(space_id, fact("Ada lives in Graz."))
    memory.delete_atom(memory.supersede_atom(old.id, fact("Ada lives in Wien.")).id)
    return old


@pytest.mark.conforms("T11")
def test_what_was_superseded_by_a_deleted_version_holds_again(
    engine: longmind.Engine,
    memory: Memory,
    admin: Memory,
    space: longmind.MemorySpace,
    clock: SettableClock,
    database_url: str,
) -> None:
    old = hidden(memory, space.id)
    assert found(memory, space.id, WHERE) == []
    cursor = engine.last_cursor()
    clock.advance(60)
    restored = admin.restore_atom(old.id)
    assert restored == looked_up(memory, old) == old.model_copy(update={"updated_at": to_iso(clock.now)})
    assert found(memory, space.id, WHERE) == ["Ada lives in Graz."]
    assert memory.list_atoms(space.id, valid_at=to_iso(clock.now)) == [restored]
    (change,) = engine.follow(cursor)
    assert (change.kind, change.data) == ("atom.restored", {"spaceId": space.id, "atomId": old.id})
    assert "Wien" not in repr(rows_of(database_url))


@pytest.mark.conforms("T11")
def test_it_ends_where_it_was_to_end_at_first(memory: Memory, admin: Memory, space: longmind.MemorySpace) -> None:
    old = memory.add_atom(space.id, fact(valid_from="2026-01-01T00:00:00Z", valid_to="2026-09-01T00:00:00Z"))
    new = memory.supersede_atom(old.id, fact("Ada lives in Wien.", valid_from="2026-02-01T00:00:00Z"))
    memory.delete_atom(new.id)
    assert looked_up(memory, old).valid_to == "2026-02-01T00:00:00.000000Z"
    assert admin.restore_atom(old.id).valid_to == old.valid_to
    assert found(memory, space.id, WHERE) == [old.text]


@pytest.mark.conforms("T11")
def test_restoring_takes_an_administrator(engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace) -> None:
    old = hidden(memory, space.id)
    before, cursor = looked_up(memory, old), engine.last_cursor()
    # Whether there is such an atom is not told either.
    for atom_id in (old.id, "atom_none"):
        with pytest.raises(longmind.Forbidden, match="admin"):
            memory.restore_atom(atom_id)
    assert looked_up(memory, old) == before
    assert kinds_since(engine, cursor) == []


@pytest.mark.conforms("T11", "T12")
def test_a_version_whose_newer_one_is_there_is_not_restored(
    memory: Memory, admin: Memory, space: longmind.MemorySpace
) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz."))
    second = memory.supersede_atom(first.id, fact("Ada lives in Wien."))
    third = memory.supersede_atom(second.id, fact("Ada lives in Linz."))
    for old in (first, second):
        with pytest.raises(longmind.Conflict) as refused:
            admin.restore_atom(old.id)
        assert third.id in (refused.value.hint or "")
    memory.archive_atom(third.id)
    with pytest.raises(longmind.Conflict, match="superseded"):
        admin.restore_atom(second.id)
    memory.delete_atom(third.id)
    with pytest.raises(longmind.Conflict) as refused:
        admin.restore_atom(first.id)
    assert f"{second.id!r}: restore that one" in (refused.value.hint or "")
    admin.restore_atom(second.id)
    assert found(memory, space.id, WHERE) == ["Ada lives in Wien."]
    fourth = memory.supersede_atom(second.id, fact("Ada lives in Rom."))
    assert (fourth.supersedes, looked_up(memory, first).superseded_by) == (second.id, second.id)
    assert found(memory, space.id, WHERE) == ["Ada lives in Rom."]


@pytest.mark.conforms("T11")
def test_what_holds_already_is_given_back_as_it_is(
    engine: longmind.Engine, memory: Memory, admin: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    never = memory.add_atom(space.id, fact("Ada plays."))
    restored = admin.restore_atom(hidden(memory, space.id).id)
    whole, cursor = memory.get_memory_space(space.id), engine.last_cursor()
    clock.advance(60)
    assert admin.restore_atom(never.id) == never
    assert admin.restore_atom(restored.id) == restored
    assert memory.get_memory_space(space.id) == whole
    assert kinds_since(engine, cursor) == []


@pytest.mark.conforms("T11", "A3.12")
def test_what_was_archived_or_deleted_is_not_restored(
    memory: Memory, admin: Memory, space: longmind.MemorySpace
) -> None:
    old = hidden(memory, space.id)
    memory.archive_atom(old.id)
    before = looked_up(memory, old)
    with pytest.raises(longmind.Conflict, match="archived"):
        admin.restore_atom(old.id)
    assert looked_up(memory, old) == before
    memory.delete_atom(old.id)
    with pytest.raises(longmind.NotFound):
        admin.restore_atom(old.id)
    in_old_space = hidden(memory, space.id)
    memory.delete_memory_space(space.id)
    with pytest.raises(longmind.NotFound):
        admin.restore_atom(in_old_space.id)


@pytest.mark.conforms("T11", "A0.4")
@pytest.mark.parametrize("stranger", [{"tenant_id": "other"}, {"app_id": "other"}, {"user_id": "root"}], ids=str)
def test_an_administrator_restores_nothing_of_another_scope(
    stranger: dict[str, str], engine: longmind.Engine, memory: Memory
) -> None:
    space = memory.create_memory_space("handbook", kind="shared")
    old = hidden(memory, space.id)
    # Neither does one who may read the space.
    memory.grant_space(space.id, "root")
    before = looked_up(memory, old)
    known = {"tenant_id": "acme", "app_id": "support", "user_id": "ada", **stranger}
    other = engine.context(**known, capabilities={"admin"}).memory
    with pytest.raises(longmind.NotFound):
        other.restore_atom(old.id)
    assert looked_up(memory, old) == before


@pytest.mark.conforms("T11")
def test_what_another_process_has_in_memory_is_restored_too(
    memory: Memory, admin: Memory, space: longmind.MemorySpace, database_url: str, clock: SettableClock
) -> None:
    # Enough for its facts to be read from a segment.
    memory.add_atoms(space.id, [fact(f"Box {number} holds nails and screws.") for number in range(300)])
    old = hidden(memory, space.id)
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as other:
        elsewhere = other.context(tenant_id="acme", app_id="support", user_id="ada").memory
        # It is kept there as it was: superseded.
        (kept,) = [hit.atom for hit in elsewhere.recall_timeline(space.id, query="Graz").hits if hit.atom.id == old.id]
        assert kept.superseded_by is not None
        assert old.text not in found(elsewhere, space.id, WHERE)
        clock.advance(60)
        restored = admin.restore_atom(old.id)
        assert elsewhere.recall_by_topic(space.id, WHERE).hits[0].atom == restored
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as later:
        anew = later.context(tenant_id="acme", app_id="support", user_id="ada").memory
        assert anew.recall_by_topic(space.id, WHERE).hits[0].atom == restored


@pytest.mark.conforms("T11")
def test_what_many_restore_at_once_is_restored_once(
    engine: longmind.Engine, memory: Memory, admin: Memory, space: longmind.MemorySpace
) -> None:
    for _ in range(3):
        old = hidden(memory, space.id)
        cursor = engine.last_cursor()
        restored = at_once(4, partial(lambda atom_id, _: admin.restore_atom(atom_id), old.id))
        assert [atom.superseded_by for atom in restored] == [None] * 4
        assert kinds_since(engine, cursor) == ["atom.restored"]


@pytest.mark.conforms("T11")
def test_a_restored_version_counts_as_known_all_along(
    memory: Memory, admin: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    def known(at: str) -> list[longmind.Atom]:
        return [hit.atom for hit in memory.recall_by_topic(space.id, WHERE, known_at=at).hits]

    old = memory.add_atom(space.id, fact("Ada lives in Graz."))
    clock.advance(60)
    at_first = to_iso(clock.now)
    clock.advance(60)
    new = memory.supersede_atom(old.id, fact("Ada lives in Wien."))
    clock.advance(60)
    memory.delete_atom(new.id)
    between = to_iso(clock.now)
    clock.advance(60)
    assert known(at_first) == [old]
    assert known(between) == []
    admin.restore_atom(old.id)
    # That it was hidden for a while is not kept, just as it is not kept what the deleted version said.
    assert known(at_first) == known(between) == [old]


@pytest.mark.conforms("T11")
def test_all_versions_that_a_deleted_one_had_ended_stay_ended_by_the_next(
    engine: longmind.Engine, memory: Memory, admin: Memory, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    twins = memory.add_atoms(space.id, [fact("User lives in Graz."), fact("User lives in Graz.")])
    say(engine, ctx, "I moved to Wien.")
    say(engine, ctx, "I moved to Linz.")
    linz, wien, *_ = memory.list_atoms(space.id)
    assert [looked_up(memory, each).superseded_by for each in twins] == [wien.id] * 2
    memory.delete_atom(wien.id)
    assert looked_up(memory, linz).supersedes == wien.supersedes
    for each in twins:
        with pytest.raises(longmind.Conflict) as refused:
            admin.restore_atom(each.id)
        assert linz.id in (refused.value.hint or "")
    memory.delete_atom(linz.id)
    for each in twins:
        assert admin.restore_atom(each.id).superseded_by is None


@pytest.mark.conforms("T11")
def test_what_was_deleted_is_not_learned_again_after_restoring(
    engine: longmind.Engine, memory: Memory, admin: Memory, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    old = memory.add_atom(space.id, fact("User lives in Graz."))
    say(engine, ctx, "I moved to Wien.")
    (wien,) = [atom for atom in memory.list_atoms(space.id) if atom.superseded_by is None]
    memory.delete_atom(wien.id)
    restored = admin.restore_atom(old.id)
    say(engine, ctx, "I moved to Wien.")
    assert memory.list_atoms(space.id) == [restored]
    # The restored fact changes like any other.
    say(engine, ctx, "I moved to Linz.")
    assert [atom.supersedes for atom in memory.list_atoms(space.id)] == [old.id, None]


def say(engine: longmind.Engine, ctx: longmind.Context, text: str) -> None:
    """Let the user say something, and memory be made of it."""
    talk(ctx, text)
    engine.work()
