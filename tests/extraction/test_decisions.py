"""Every decision of extraction says why, and undoing it restores what was before, in recall too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.admin.user_export import hash_document
from longmind.clock import to_iso
from longmind.extraction.candidate import Extracted
from longmind.store.tables import spaces
from longmind.store.tables.atom_changes import AtomEnding, AtomMerge, AtomReinforcement, LearningStep, apply_steps
from longmind.store.tables.atoms import find_outdated_messages
from tests.clock import SettableClock
from tests.extraction.conftest import talk, texts
from tests.extraction.scripted_extractor import SentenceExtractor
from tests.memory.facts import at_once, kinds_since, rows_of

State = dict[str, Any]


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, extractor: SentenceExtractor, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(
        database_url, extractor=extractor, embedder="none", clock=clock, job_retry_seconds=0.001
    ) as engine:
        yield engine


@pytest.fixture
def space(ctx: longmind.Context) -> longmind.MemorySpace:
    space = ctx.memory.create_memory_space("daily")
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    return space


class Person:
    """Somebody who talks, and whose memory is made of it at once."""

    def __init__(self, engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock) -> None:
        self.engine, self.ctx, self.clock = engine, ctx, clock

    def say(self, *said: str) -> longmind.Conversation:
        self.clock.advance(60)
        conversation = talk(self.ctx, *said)
        self.engine.work()
        self.clock.advance(60)
        return conversation


@pytest.fixture
def ada(engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock) -> Person:
    return Person(engine, ctx, clock)


def state_of(ctx: longmind.Context, space_id: str) -> State:
    """All that a user sees of a space, but for when it was last changed."""
    memory = ctx.memory
    atoms = memory.list_atoms(space_id, status=None, limit=1000)
    entities = memory.search_entities(space_id, "", limit=1000)
    recalls = {query: memory.recall_by_topic(space_id, query, limit=50) for query in ("home Oslo", "team", "Tom")}
    return {
        "atoms": [atom.model_dump(exclude={"updated_at"}) for atom in atoms],
        "linked": {each.canonical_name: each.atom_count for each in entities if each.atom_count},
        "recalled": {
            # Scores fade with time, which goes on.
            query: [hit.atom.id for hit in recall.hits]
            for query, recall in recalls.items()
        },
        "timeline": [hit.atom.id for hit in memory.recall_timeline(space_id).hits],
    }


def without(state: State, *atom_ids: str) -> State:
    """The state without atoms that were taken back, which only stay to be listed."""
    return {**state, "atoms": [atom for atom in state["atoms"] if atom["id"] not in atom_ids], "linked": {}}


def newest(ctx: longmind.Context, space_id: str) -> longmind.AtomDecision:
    return ctx.memory.list_decisions(space_id, limit=1)[0]


def take(
    engine: longmind.Engine, ctx: longmind.Context, space_id: str, clock: SettableClock, *steps: LearningStep
) -> None:
    """Carry out steps that no extractor here decides on."""

    def write(run: Any) -> None:
        change = spaces.begin_change(run, space_id, clock.now)
        apply_steps(run, ctx.scope, space_id, change, steps, clock.now)

    engine._database.write(ctx.scope, write)


def test_each_decision_that_has_changed_something_says_why(ada: Person, space: longmind.MemorySpace) -> None:
    first = ada.say("My home is Oslo.")
    ada.say("My home is Oslo.")
    second = ada.say("My home is Graz.")
    memory = ada.ctx.memory
    graz, oslo = memory.list_atoms(space.id)
    changed, confirmed, added = memory.list_decisions(space.id)
    assert [each.action for each in (added, confirmed, changed)] == ["add", "reinforce", "supersede"]
    assert [each.atom_id for each in (added, confirmed, changed)] == [oslo.id, oslo.id, graz.id]
    assert (changed.changed_atom_ids, added.changed_atom_ids) == ([oslo.id], [])
    assert changed.because == graz.because
    assert added.because == oslo.because
    assert confirmed.because
    assert confirmed.source_message_ids == oslo.source_message_ids[1:]
    assert (added.source_conversation_id, changed.source_conversation_id) == (first.id, second.id)
    assert {each.extraction_version for each in (added, confirmed, changed)} == {"v1"}
    assert changed.undone_at is changed.undone_by is changed.undoes is None
    assert "Oslo" not in repr([each.because for each in (changed, confirmed)])
    assert memory.list_decisions(space.id, atom_id=graz.id) == [changed]
    assert memory.list_decisions(space.id, atom_id=oslo.id) == [changed, confirmed, added]
    page = memory.list_decisions(space.id, limit=2)
    assert list(page) == [changed, confirmed]
    rest = memory.list_decisions(space.id, limit=2, cursor=page.next_cursor)
    assert (list(rest), rest.next_cursor) == ([added], None)
    for cursor in ("1", "x-1", "1-1-1"):
        with pytest.raises(longmind.InvalidInput, match="cursor"):
            memory.list_decisions(space.id, cursor=cursor)


def test_what_was_added_is_taken_back_and_no_replay_brings_it_back(ada: Person, space: longmind.MemorySpace) -> None:
    ada.say("My team is Tigers.")
    before = state_of(ada.ctx, space.id)
    conversation = ada.say("Tom has a dog. My hobby is chess.")
    chess, dog = ada.ctx.memory.list_decisions(space.id, limit=2)
    cursor = ada.engine.last_cursor()
    done = [ada.ctx.memory.undo_decision(each.id) for each in (chess, dog)]
    assert [(each.action, each.undoes, each.atom_id) for each in done] == [
        ("undo", chess.id, chess.atom_id),
        ("undo", dog.id, dog.atom_id),
    ]
    assert kinds_since(ada.engine, cursor) == ["atom.archived", "decision.undone"] * 2
    after = state_of(ada.ctx, space.id)
    assert without(after, chess.atom_id, dog.atom_id) == without(before)
    assert {each.status for each in ada.ctx.memory.list_atoms(space.id, status="ARCHIVED")} == {"ARCHIVED"}
    noted = ada.ctx.memory.list_decisions(space.id, atom_id=chess.atom_id)
    assert [each.id for each in noted] == [done[0].id, chess.id]
    assert (noted[1].undone_by, noted[1].undone_at) == (done[0].id, to_iso(ada.clock.now))
    for version in ("v1", "v2", "v3"):
        ada.ctx.memory.run_extraction_for_conversation(conversation.id, extraction_version=version)
        ada.engine.work()
        assert texts(ada.ctx, space.id) == ["My team is Tigers."]
    # Said again, it is learned again: an undo says that this decision was wrong, not that the fact is.
    ada.say("My hobby is chess.")
    assert texts(ada.ctx, space.id) == ["My team is Tigers.", "My hobby is chess."]


def test_a_confirmed_fact_has_its_former_figures_and_sources(ada: Person, space: longmind.MemorySpace) -> None:
    ada.say("Anna knows Tom.")
    before = state_of(ada.ctx, space.id)
    conversation = ada.say("Anna knows Tom.")
    decision = newest(ada.ctx, space.id)
    assert decision.action == "reinforce"
    confirmed = state_of(ada.ctx, space.id)
    assert confirmed != before
    ada.ctx.memory.undo_decision(decision.id)
    assert state_of(ada.ctx, space.id) == before
    ada.ctx.memory.run_extraction_for_conversation(conversation.id)
    ada.engine.work()
    assert state_of(ada.ctx, space.id) == before
    ada.say("Anna knows Tom.")
    assert newest(ada.ctx, space.id).action == "reinforce"


@pytest.mark.parametrize("take_back", [False, True])
def test_a_superseded_fact_holds_again(ada: Person, space: longmind.MemorySpace, take_back: bool) -> None:
    memory = ada.ctx.memory
    ada.say("My home is Oslo.")
    before = state_of(ada.ctx, space.id)
    conversation = ada.say("My home is Graz.")
    decision = newest(ada.ctx, space.id)
    (oslo_id,) = decision.changed_atom_ids
    memory.undo_decision(decision.id, take_back=take_back)
    graz = memory.get_atom(decision.atom_id)
    assert graz is not None
    assert (graz.supersedes, graz.status) == (None, "ARCHIVED" if take_back else "ACTIVE")
    after = state_of(ada.ctx, space.id)
    assert without(after, graz.id)["atoms"] == without(before)["atoms"]
    if take_back:
        assert without(after, graz.id) == without(before)
    found = [hit.atom.id for hit in memory.recall_by_topic(space.id, "home").hits]
    assert set(found) == ({oslo_id} if take_back else {oslo_id, graz.id})
    for version in ("v1", "v2"):
        memory.run_extraction_for_conversation(conversation.id, extraction_version=version)
        ada.engine.work()
        oslo = memory.get_atom(oslo_id)
        assert oslo is not None
        assert oslo.superseded_by is None


def test_the_new_fact_may_be_taken_back_later(ada: Person, space: longmind.MemorySpace) -> None:
    memory = ada.ctx.memory
    ada.say("My home is Oslo.")
    before = state_of(ada.ctx, space.id)
    ada.say("My home is Graz.")
    decision = newest(ada.ctx, space.id)
    first = memory.undo_decision(decision.id)
    assert memory.undo_decision(decision.id) == first
    second = memory.undo_decision(decision.id, take_back=True)
    assert second.id != first.id
    assert memory.undo_decision(decision.id, take_back=True) == memory.undo_decision(decision.id) == second
    assert without(state_of(ada.ctx, space.id), decision.atom_id) == without(before)


def test_an_earlier_version_that_was_cut_ends_where_it_did(ada: Person, space: longmind.MemorySpace) -> None:
    memory = ada.ctx.memory
    ada.say("My home is Oslo.")
    ada.say("My home is Graz.")
    before = state_of(ada.ctx, space.id)
    graz, _ = memory.list_atoms(space.id)
    early = to_iso(ada.clock.now - 10_000_000_000)
    new = {"text": "My home is Rom.", "category": {"name": "said", "kind": "FACT"}, "valid_from": early}
    later = memory.supersede_atom(graz.id, new)
    # Not a decision of extraction, so that nothing is listed, and what it rests on is not undone.
    decision = newest(ada.ctx, space.id)
    assert decision.atom_id == graz.id
    with pytest.raises(longmind.Conflict) as refused:
        memory.undo_decision(decision.id)
    assert later.id in (refused.value.hint or "")
    assert before != state_of(ada.ctx, space.id)


def test_what_has_ended_is_open_again(
    engine: longmind.Engine, ada: Person, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    memory = ada.ctx.memory
    ada.say("My team is Tigers.")
    (atom,) = memory.list_atoms(space.id)
    before = state_of(ada.ctx, space.id)
    known = to_iso(clock.now)
    clock.advance(60)
    take(engine, ada.ctx, space.id, clock, AtomEnding(atom.id, clock.now - 1, "The user sold it."))
    clock.advance(60)
    decision = newest(ada.ctx, space.id)
    assert (decision.action, decision.because) == ("end", "The user sold it.")
    assert memory.recall_by_topic(space.id, "team").hits == []
    assert [hit.atom.id for hit in memory.recall_by_topic(space.id, "team", known_at=known).hits] == [atom.id]
    memory.undo_decision(decision.id)
    assert state_of(ada.ctx, space.id) == before


def test_merged_facts_both_hold_again(
    engine: longmind.Engine, ada: Person, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    memory = ada.ctx.memory
    ada.say("Tom likes chess.")
    ada.say("Chess pleases Tom.")
    second, first = memory.list_atoms(space.id)
    before = state_of(ada.ctx, space.id)
    take(engine, ada.ctx, space.id, clock, AtomMerge(second.id, first.id))
    decision = newest(ada.ctx, space.id)
    assert (decision.action, decision.atom_id, decision.changed_atom_ids) == ("merge", second.id, [first.id])
    assert [hit.atom.id for hit in memory.recall_by_topic(space.id, "Tom chess").hits] == [first.id]
    memory.undo_decision(decision.id)
    assert state_of(ada.ctx, space.id) == before


def test_a_message_can_be_quoted_after_its_fact_was_merged_but_not_after_it_ended(
    engine: longmind.Engine, ada: Person, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    ada.say("Tom likes chess.")
    ada.say("Chess pleases Tom.")
    second, first = ada.ctx.memory.list_atoms(space.id)
    sources = (*first.source_message_ids, *second.source_message_ids)
    # As consolidation merges: the one that stays cites the messages of both.
    stays = AtomReinforcement(first.id, sources, (), 1.0, 3, "user", clock.now)
    take(engine, ada.ctx, space.id, clock, stays, AtomMerge(second.id, first.id))

    def find_outdated() -> frozenset[str]:
        asked = [each.source_conversation_id for each in (first, second) if each.source_conversation_id]
        return engine._database.read(ada.ctx.scope, find_outdated_messages, space.id, asked, clock.now)

    assert find_outdated() == frozenset()
    take(engine, ada.ctx, space.id, clock, AtomEnding(first.id, clock.now, "It is over."))
    assert find_outdated() == set(sources)


def test_what_a_replay_has_retired_is_there_again_and_is_not_retired_again(
    ada: Person, space: longmind.MemorySpace, extractor: SentenceExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = ada.ctx.memory
    conversation = ada.say("Tom plays chess.")
    before = state_of(ada.ctx, space.id)
    monkeypatch.setattr(type(extractor), "extract", lambda *_: Extracted([]))
    for _ in range(2):
        memory.run_extraction_for_conversation(conversation.id, extraction_version="v2")
        ada.engine.work()
        decision = newest(ada.ctx, space.id)
        if decision.undoes is None:
            assert decision.action == "retire"
            assert texts(ada.ctx, space.id) == []
            memory.undo_decision(decision.id)
        assert state_of(ada.ctx, space.id) == before


def test_an_undo_is_refused_once_something_rests_on_the_decision(ada: Person, space: longmind.MemorySpace) -> None:
    memory = ada.ctx.memory
    ada.say("My home is Oslo.")
    ada.say("My home is Oslo.")
    ada.say("My home is Graz.")
    ada.say("My home is Rom.")
    rom, graz, confirmed, added = memory.list_decisions(space.id)
    for decision, first in ((added, graz), (confirmed, graz), (graz, rom)):
        with pytest.raises(longmind.Conflict) as refused:
            memory.undo_decision(decision.id)
        assert refused.value.hint == f"Undo the decision {first.id!r} first."
    before = state_of(ada.ctx, space.id)
    undone = memory.undo_decision(rom.id, take_back=True)
    with pytest.raises(longmind.Conflict, match="is an undo"):
        memory.undo_decision(undone.id)
    memory.archive_atom(graz.atom_id)
    with pytest.raises(longmind.Conflict) as refused:
        memory.undo_decision(graz.id, take_back=True)
    assert "archived" in (refused.value.hint or "")
    # Without the new fact, which is not wanted anyway.
    memory.undo_decision(graz.id)
    memory.undo_decision(confirmed.id)
    memory.undo_decision(added.id)
    assert texts(ada.ctx, space.id) == []
    assert before != state_of(ada.ctx, space.id)


def test_nothing_of_a_decision_outlives_its_atom(ada: Person, space: longmind.MemorySpace, database_url: str) -> None:
    memory = ada.ctx.memory
    ada.say("My home is Oslo.")
    ada.say("My home is Graz.")
    changed, added = memory.list_decisions(space.id)
    memory.delete_atom(added.atom_id)
    assert [each.id for each in memory.list_decisions(space.id)] == [changed.id]
    assert newest(ada.ctx, space.id).changed_atom_ids == []
    with pytest.raises(longmind.Conflict, match="deleted since"):
        memory.undo_decision(changed.id)
    memory.delete_atom(changed.atom_id)
    assert memory.list_decisions(space.id) == []
    with pytest.raises(longmind.NotFound):
        memory.undo_decision(changed.id)
    rows = rows_of(database_url)
    assert (rows["decisions"], rows["decision_atoms"]) == ([], [])


def test_no_stranger_sees_or_undoes_a_decision(
    engine: longmind.Engine, ada: Person, space: longmind.MemorySpace
) -> None:
    ada.say("My home is Oslo.")
    decision = newest(ada.ctx, space.id)
    before = state_of(ada.ctx, space.id)
    for stranger in ({"tenant_id": "other"}, {"app_id": "other"}, {"user_id": "bob"}):
        known = {"tenant_id": "acme", "app_id": "support", "user_id": "ada", **stranger}
        other = engine.context(**known, capabilities={"admin"}).memory
        with pytest.raises(longmind.NotFound) as foreign:
            other.undo_decision(decision.id)
        with pytest.raises(longmind.NotFound) as missing:
            other.undo_decision("dec_none")
        assert str(foreign.value).replace(decision.id, "dec_none") == str(missing.value)
        with pytest.raises(longmind.NotFound):
            other.list_decisions(space.id)
    assert state_of(ada.ctx, space.id) == before
    ada.ctx.memory.delete_memory_space(space.id)
    with pytest.raises(longmind.NotFound):
        ada.ctx.memory.undo_decision(decision.id)


def test_who_may_read_a_space_sees_its_decisions_and_undoes_none(engine: longmind.Engine, ada: Person) -> None:
    shared = ada.ctx.memory.create_memory_space("handbook", kind="shared")
    ada.ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [shared.id])
    ada.say("My home is Oslo.")
    ada.ctx.memory.grant_space(shared.id, "bob")
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob").memory
    (decision,) = ada.ctx.memory.list_decisions(shared.id)
    assert bob.list_decisions(shared.id) == [decision]
    with pytest.raises(longmind.NotFound):
        bob.undo_decision(decision.id)


def test_of_two_undos_at_once_one_is_done(ada: Person, space: longmind.MemorySpace) -> None:
    for value in ("Oslo", "Graz", "Rom"):
        ada.say(f"My home is {value}.")
        decision = newest(ada.ctx, space.id)
        cursor = ada.engine.last_cursor()
        undone = at_once(4, partial(undo_again, ada.ctx, decision.id))
        assert len({each.id for each in undone}) == 1
        assert kinds_since(ada.engine, cursor).count("decision.undone") == 1
        assert texts(ada.ctx, space.id) == []


def undo_again(ctx: longmind.Context, decision_id: str, _: int) -> longmind.AtomDecision:
    return ctx.memory.undo_decision(decision_id, take_back=True)


def test_a_pattern_loses_what_was_taken_back(ada: Person, space: longmind.MemorySpace) -> None:
    memory = ada.ctx.memory
    episode = {"text": "The user cancelled the Tuesday meeting.", "category": {"name": "event", "kind": "EPISODE"}}
    for day in (6, 13, 20):
        memory.add_atom(space.id, {**episode, "valid_from": f"2025-01-{day:02}"})
    (pattern,) = memory.mine_patterns(space.id)
    decision = newest(ada.ctx, space.id)
    assert (decision.action, decision.atom_id, decision.because) == ("add", pattern.id, pattern.because)
    memory.undo_decision(decision.id)
    assert memory.mine_patterns(space.id) == []
    assert [atom.category.kind for atom in memory.list_atoms(space.id)] == ["EPISODE"] * 3


@pytest.mark.patient
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    said=st.lists(
        st.lists(
            st.sampled_from(
                ["My home is Oslo.", "My home is Graz.", "My team is Tigers.", "My team is Lions.", "Anna knows Tom."]
            ),
            min_size=1,
            max_size=2,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_undoing_from_the_newest_back_restores_every_former_state(
    said: list[list[str]], engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    space = ctx.memory.create_memory_space()
    binding = ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    try:
        restore_from_the_newest_back(Person(engine, ctx, clock), space.id, said)
    finally:
        ctx.memory.delete_binding(binding.id)


def restore_from_the_newest_back(person: Person, space_id: str, said: list[list[str]]) -> None:
    """Let memory be made of what is said, and undo it decision by decision, comparing the state at each step."""
    ctx = person.ctx
    states = [state_of(ctx, space_id)]
    counts = [0]
    for sentences in said:
        person.say(*sentences)
        states.append(state_of(ctx, space_id))
        counts.append(len(ctx.memory.list_decisions(space_id)))
    decisions = list(ctx.memory.list_decisions(space_id))
    taken_back: list[str] = []
    while decisions:
        states.pop()
        number = counts.pop() - counts[-1]
        for _ in range(number):
            decision = decisions.pop(0)
            ctx.memory.undo_decision(decision.id, take_back=True)
            if decision.action in ("add", "supersede"):
                taken_back.append(decision.atom_id)
        assert without(state_of(ctx, space_id), *taken_back) == without(states[-1])


def test_an_imported_decision_is_undone_like_one_that_was_made_there(
    ada: Person, space: longmind.MemorySpace, tmp_path: Path, clock: SettableClock
) -> None:
    ada.say("My home is Oslo.")
    before = state_of(ada.ctx, space.id)
    ada.say("My home is Graz.")
    exported = ada.ctx.admin.export_user_data()
    assert [each["action"] for each in exported["decisions"]] == ["add", "supersede"]
    with longmind.open(f"sqlite:///{tmp_path}/elsewhere.db", extractor="none", embedder="none", clock=clock) as engine:
        admin = engine.context(tenant_id="acme", app_id="support", user_id="ada", capabilities={"admin"})
        forged = {**exported, "records": {**exported["records"], "decision_atoms": forge(exported)}}
        forged["sha256"] = hash_document(forged)
        with pytest.raises(longmind.InvalidInput, match="invalid changes"):
            admin.admin.import_user_data(forged)
        admin.admin.import_user_data(exported)
        decision = newest(admin, space.id)
        assert decision == newest(ada.ctx, space.id)
        admin.memory.undo_decision(decision.id, take_back=True)
        assert without(state_of(admin, space.id), decision.atom_id) == without(before)


def forge(exported: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of changes with one that no decision makes."""
    records = exported["records"]["decision_atoms"]
    place = records["columns"].index("changes")
    rows = [[*row[:place], '{"importance": [9, 3]}', *row[place + 1 :]] for row in records["rows"]]
    return {**records, "rows": rows}
