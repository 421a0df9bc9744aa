"""Recall shows a space as it was at one instant, also while others write to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import longmind
from harness.crew import ada
from longmind.clock import system_clock
from longmind.memory import Memory
from longmind.recall import snapshot
from longmind.store.tables import atoms as atom_table
from longmind.store.tables import entities as entity_table
from tests.embedder import WordsEmbedder

CHANGES = 60


@pytest.fixture(autouse=True, params=[snapshot._LOOKS, 0], ids=["looking", "at once"])
def looks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is done mostly, and as it is done where others write all the time."""
    monkeypatch.setattr(snapshot, "_LOOKS", request.param)


def _home(town: str) -> dict[str, object]:
    return {"text": f"Ada lives in {town}.", "category": {"name": "home", "kind": "FACT"}}


class _Interrupted(WordsEmbedder):
    """Lets something happen once while a question is embedded, or hits are read again."""

    meanwhile: Callable[[], object] | None = None

    def _happen(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()

    def embed_query(self, query: str) -> Any:
        self._happen()
        return super().embed_query(query)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self._happen()
        return [9.0 if "Rome" in text else -9.0 for text in texts]


def _texts(ctx: longmind.Context, space_id: str) -> list[str]:
    return [hit.atom.text for hit in ctx.memory.recall_by_topic(space_id, "Where does Ada live?", limit=100).hits]


def test_a_fact_that_is_replaced_just_after_recall_has_looked_at_the_clock_is_not_shown_beside_the_new_one(
    database_url: str,
) -> None:
    meanwhile: list[Callable[[], object]] = []

    def clock() -> int:
        now = system_clock()
        while meanwhile:
            meanwhile.pop()()
        return now

    with ada(database_url, embedder=None, clock=clock) as (_, ctx), ada(database_url, embedder=None) as (_, other):
        space = ctx.memory.create_memory_space("home")
        atom = ctx.memory.add_atom(space.id, _home("Oslo"))
        meanwhile.append(lambda: other.memory.supersede_atom(atom.id, _home("Rome")))

        assert _texts(ctx, space.id) == ["Ada lives in Rome."]


@pytest.mark.parametrize("while_it_is", ["embedded", "read again"])
def test_what_ends_while_a_question_takes_long_is_not_found_any_more(database_url: str, while_it_is: str) -> None:
    slow = _Interrupted()
    embedder, reranker = (slow, None) if while_it_is == "embedded" else (WordsEmbedder(), slow)
    with (
        ada(database_url, embedder=embedder, reranker=reranker) as (_, ctx),
        ada(database_url, embedder=WordsEmbedder()) as (_, other),
    ):
        space = ctx.memory.create_memory_space("home")
        atoms = ctx.memory.add_atoms(space.id, [_home("Oslo"), _home("Kiel")])

        def change() -> None:
            other.memory.supersede_atom(atoms[0].id, _home("Rome"))
            other.memory.archive_atom(atoms[1].id)

        slow.meanwhile = change
        assert _texts(ctx, space.id) == ["Ada lives in Rome."]
        assert slow.meanwhile is None

        slow.meanwhile = lambda: other.memory.delete_memory_space(space.id)
        with pytest.raises(longmind.NotFound):
            _texts(ctx, space.id)


@pytest.mark.patient
@pytest.mark.parametrize("times", [1, 2, 20])
@pytest.mark.parametrize(
    "recall",
    [
        lambda memory, space_id: memory.recall_by_topic(space_id, "Where does Ada live?"),
        lambda memory, space_id: memory.recall_by_topic(space_id, "Where does Ada live?", known_at="2999-01-01"),
        lambda memory, space_id: memory.recall_timeline(space_id, include_superseded=False),
    ],
    ids=["by topic", "by topic as known then", "timeline"],
)
def test_what_ends_between_the_choice_and_the_fetching_of_hits_is_not_shown(
    database_url: str,
    recall: Callable[[Memory, str], longmind.Recall],
    times: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # An engine of its own, which has kept no atom that need not be fetched.
    with ada(database_url) as (_, ctx), ada(database_url) as (_, other):
        space = other.memory.create_memory_space("home")
        other.memory.add_atoms(space.id, [_home(f"city {number}") for number in range(5)])
        newest = [other.memory.add_atom(space.id, _home("town 0"))]
        fetch = atom_table._read_rows

        def fetch_late(*args: Any, **kwargs: Any) -> Any:
            if len(newest) <= times:
                newest.append(other.memory.supersede_atom(newest[-1].id, _home(f"town {len(newest)}")))
            return fetch(*args, **kwargs)

        monkeypatch.setattr(atom_table, "_read_rows", fetch_late)
        found = [hit.atom for hit in recall(ctx.memory, space.id).hits]

    assert len(newest) > 1
    assert sorted(atom.text.split()[3] for atom in found) == ["city"] * 5 + ["town"]
    assert {(atom.superseded_by, atom.valid_to) for atom in found} == {(None, None)}


def test_an_entity_is_found_in_the_new_version_of_what_is_replaced_while_a_question_is_embedded(
    database_url: str,
) -> None:
    slow = _Interrupted()
    with ada(database_url, embedder=slow) as (_, ctx), ada(database_url, embedder=WordsEmbedder()) as (_, other):
        space = ctx.memory.create_memory_space("home")
        ben = ctx.memory.create_entity(space.id, "PERSON", "Ben")
        oslo = ctx.memory.add_atom(space.id, {**_home("Oslo"), "entity_ids": [ben.id]})
        slow.meanwhile = lambda: other.memory.supersede_atom(oslo.id, {**_home("Rome"), "entity_ids": [ben.id]})

        (hit,) = ctx.memory.recall_by_topic(space.id, "Where is Ben?", entity="Ben").hits

        assert (hit.atom.text, hit.entity_match_bonus) == ("Ada lives in Rome.", 1.5)


@pytest.mark.patient
@pytest.mark.parametrize(
    "recall",
    [
        lambda memory, space_id: memory.recall_by_entity(space_id, "Ben"),
        lambda memory, space_id: memory.recall_timeline(space_id, entity_id_or_name="Ben", include_superseded=False),
    ],
    ids=["by entity", "timeline"],
)
def test_an_entity_is_found_in_what_is_replaced_after_it_was_looked_up(
    database_url: str, recall: Callable[[Memory, str], longmind.Recall], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ada(database_url) as (_, ctx), ada(database_url) as (_, other):
        space = ctx.memory.create_memory_space("home")
        ben = ctx.memory.create_entity(space.id, "PERSON", "Ben")
        oslo = ctx.memory.add_atom(space.id, {**_home("Oslo"), "entity_ids": [ben.id]})
        replaced: list[longmind.Atom] = []
        look_up = entity_table.list_positions_by_name

        def look_up_early(*args: Any) -> tuple[int, ...]:
            found = look_up(*args)
            if not replaced:
                replaced.append(other.memory.supersede_atom(oslo.id, {**_home("Rome"), "entity_ids": [ben.id]}))
            return found

        monkeypatch.setattr(entity_table, "list_positions_by_name", look_up_early)
        assert [hit.atom.text for hit in recall(ctx.memory, space.id).hits] == ["Ada lives in Rome."]


@pytest.mark.parametrize("always_on", [[], ["home"]], ids=["recalled", "always on"])
def test_a_working_context_has_the_new_version_alone_of_what_is_replaced_meanwhile(
    database_url: str, always_on: list[str]
) -> None:
    slow = _Interrupted()
    with ada(database_url, embedder=slow) as (_, ctx), ada(database_url, embedder=WordsEmbedder()) as (_, other):
        space = ctx.memory.create_memory_space("home")
        oslo = ctx.memory.add_atom(space.id, _home("Oslo"))
        talk = ctx.conversations.create_conversation("chat")
        slow.meanwhile = lambda: other.memory.supersede_atom(oslo.id, _home("Rome"))

        built = ctx.working_context.build_working_context(
            talk.id,
            memory_space_id=space.id,
            recall_query="Where does Ada live?",
            always_on_category_names=always_on,
        )

        assert slow.meanwhile is None
        assert [atom.text for atom in built.atoms_used] == ["Ada lives in Rome."]


def test_a_reranker_reads_what_was_written_before_it_was_asked(database_url: str) -> None:
    with ada(database_url, embedder=WordsEmbedder(), reranker=_Interrupted()) as (_, ctx):
        space = ctx.memory.create_memory_space("home")
        assert _texts(ctx, space.id) == []
        for town in ("Oslo", "Rome"):
            ctx.memory.add_atom(space.id, _home(town))
            hits = ctx.memory.recall_by_topic(space.id, "Where does Ada live?", explain=True).hits
            thoughts = {hit.atom.text: hit.explanation and hit.explanation.rerank for hit in hits}
        assert thoughts == {"Ada lives in Rome.": 9.0, "Ada lives in Oslo.": -9.0}


def test_why_not_knows_of_what_was_written_before_it_was_asked(database_url: str) -> None:
    with ada(database_url, embedder=WordsEmbedder()) as (_, ctx):
        space = ctx.memory.create_memory_space("home")
        assert _texts(ctx, space.id) == []
        atom = ctx.memory.add_atom(space.id, _home("Oslo"))
        assert ctx.memory.why_not(atom.id, "Is it cold in Norway?").rank == 1


def test_why_not_does_not_take_one_atom_for_another_that_was_brought_in_in_its_place(
    database_url: str,
) -> None:
    slow = _Interrupted()
    with ada(database_url, embedder=slow) as (engine, ctx):
        root = engine.context(tenant_id="acme", app_id="support", user_id="root", capabilities={"admin"})
        space = ctx.memory.create_memory_space("home")
        ctx.memory.add_atom(space.id, _home("Oslo"))
        export = ctx.admin.export_user_data()
        atom = ctx.memory.add_atom(space.id, _home("Rome"))
        assert len(_texts(ctx, space.id)) == 2

        def bring_in() -> None:
            ctx.admin.delete_user_data(confirm=True)
            root.admin.import_user_data(export, "ada")
            ctx.memory.add_atom(space.id, _home("Kiel"))

        slow.meanwhile = bring_in
        with pytest.raises(longmind.NotFound):
            ctx.memory.why_not(atom.id, "Where does Ada live?")
        assert slow.meanwhile is None


def test_what_ends_while_a_question_is_embedded_anew_is_not_found_any_more(database_url: str) -> None:
    slow = _Interrupted()
    with ada(database_url, embedder=slow) as (_, ctx), ada(database_url, embedder=WordsEmbedder()) as (_, other):
        space = ctx.memory.create_memory_space("home")
        oslo = ctx.memory.add_atom(space.id, _home("Oslo"))
        query = "Where does Ben live?"
        assert len(ctx.memory.recall_by_topic(space.id, query).hits) == 1

        def speak() -> None:
            # Now the question names somebody who has spoken, and is embedded without the name.
            other.memory.add_atom(space.id, {**_home("Kiel"), "speaker": "Ben"})
            slow.meanwhile = lambda: other.memory.archive_atom(oslo.id)

        slow.meanwhile = speak
        found = [hit.atom.text for hit in ctx.memory.recall_by_topic(space.id, query).hits]

        assert ("Ada lives in Oslo." in found) == (slow.meanwhile is not None)
        assert "Ada lives in Kiel." in found


def test_a_fact_that_is_replaced_again_and_again_is_always_found_once(database_url: str) -> None:
    with ada(database_url, embedder=None) as (_, ctx), ada(database_url, embedder=None) as (_, other):
        space = ctx.memory.create_memory_space("home")
        first = ctx.memory.add_atom(space.id, _home("town 0"))
        ended = threading.Event()

        def replace() -> None:
            newest = first
            for number in range(1, CHANGES + 1):
                newest = other.memory.supersede_atom(newest.id, _home(f"town {number}"))
            ended.set()

        writer = threading.Thread(target=replace)
        writer.start()
        seen = []
        while not ended.is_set():
            seen.append(_texts(ctx, space.id))
        writer.join()

        assert [found for found in seen if len(found) != 1] == []
        assert _texts(ctx, space.id) == [f"Ada lives in town {CHANGES}."]
