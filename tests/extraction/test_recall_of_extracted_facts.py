"""Recall of extracted facts: by names, after many atoms at once, and with history."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

import longmind
from longmind.extraction.candidate import Candidate, Mention, SourceMessage
from tests.extraction.conftest import talk, texts
from tests.extraction.scripted_extractor import SentenceExtractor


class NicknameExtractor(SentenceExtractor):
    """Gives every person the alias Lou."""

    def candidate(self, message: SourceMessage, sentence: str, version: str) -> Candidate:
        found = super().candidate(message, sentence, version)
        return replace(found, mentions=tuple(Mention(each.name, each.type, ("Lou",)) for each in found.mentions))


@pytest.fixture(autouse=True)
def _bound(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])


def find_person(ctx: longmind.Context, space: longmind.MemorySpace, name: str) -> longmind.Entity | None:
    return ctx.memory.find_entity_by_name(space.id, "PERSON", name)


def test_names_that_extraction_learns_are_known_to_an_index_that_was_loaded_before(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    talk(ctx, "I met Clara at noon.")
    engine.work()
    assert ctx.memory.recall_by_topic(space.id, "Clara").hits
    talk(ctx, "Rain fell while Bruno slept.")
    engine.work()
    bruno = find_person(ctx, space, "Bruno")
    assert bruno is not None
    hits = ctx.memory.recall_by_topic(space.id, "What about Bruno?", explain=True).hits
    assert [hit.atom.entity_ids for hit in hits] == [[bruno.id]]


@pytest.mark.parametrize("extractor", [NicknameExtractor()])
def test_a_second_name_that_is_another_persons_fails_no_job(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    lou = ctx.memory.create_entity(space.id, "PERSON", "Lou")
    clara = ctx.memory.create_entity(space.id, "PERSON", "Clara")
    talk(ctx, "I met Clara at noon.", "I met Bruno at night.")
    assert engine.work().failed == 0
    assert [find_person(ctx, space, name) for name in ("Lou", "Clara")] == [
        ctx.memory.get_entity(each.id) for each in (lou, clara)
    ]
    assert len(texts(ctx, space.id)) == 2


def test_hundreds_of_facts_of_one_conversation_are_found_by_an_engine_that_has_seen_none_of_them(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, database_url: str
) -> None:
    words = ["".join(each) for each in product(("ba", "ko", "mi", "tu", "re", "zo", "fla"), repeat=3)]
    talk(ctx, "My home is Oslo. My home is Bergen. " + " ".join(f"The {word} was {word[::-1]}." for word in words))
    assert engine.work().succeeded == 1
    ctx.memory.add_atom(space.id, {"text": "One more.", "category": {"name": "said", "kind": "FACT"}})
    with longmind.open(database_url, extractor="none", embedder="none") as other:
        again = other.context(tenant_id="acme", app_id="support", user_id="ada")
        found = {
            word: again.memory.recall_by_topic(space.id, f"the {word}", limit=1).hits[0].atom.text for word in words
        }
        homes = [hit.atom.text for hit in again.memory.recall_by_topic(space.id, "my home").hits]
    assert len(words) == 343
    assert found == {word: f"The {word} was {word[::-1]}." for word in words}
    assert homes == ["My home is Bergen."]
