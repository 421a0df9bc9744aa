"""The three recalls: their shape, order, defaults and limits, what they refuse, and how they explain themselves."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.clock import to_iso
from longmind.memory import Memory
from longmind.models.recall import Recall
from longmind.recall.ranking.relevance import BY_SHARED_WORDS
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of

DAY = 86_400


def to_odds(probability: float) -> float:
    return probability / (1 - probability)


def curve_of(share: float) -> float:
    """The probability that comes of a share of common words."""
    return 1 / (1 + math.exp(-(BY_SHARED_WORDS.slope * share + BY_SHARED_WORDS.level)))


@pytest.mark.conforms("A6.5", "A6.6")
def test_all_three_answer_in_one_shape(memory: Memory, space_id: str) -> None:
    ben = memory.create_entity(space_id, "PERSON", "Ben")
    memory.add_atoms(space_id, [fact(f"Ben likes tea number {number}", entity_ids=[ben.id]) for number in range(4)])
    answers: dict[str, Recall] = {
        "BY_TOPIC": memory.recall_by_topic(space_id, "Ben tea", limit=2),
        "BY_ENTITY": memory.recall_by_entity(space_id, "Ben", limit=2),
        "TIMELINE": memory.recall_timeline(space_id, limit=2),
    }
    for mode, found in answers.items():
        assert found.mode == mode
        assert (len(found.hits), found.total_candidates) == (2, 4)
        assert found.latency_ms > 0
        for hit in found.hits:
            assert 0 <= hit.score <= 1
            assert 0.25 <= hit.decay_weight <= 1
            assert 1 <= hit.entity_match_bonus <= 2
            assert hit.atom.entity_ids == [ben.id]
        shape = found.model_dump(by_alias=True)
        assert shape.keys() == {"mode", "totalCandidates", "latencyMs", "found", "hits", "passages", "notice"}
        assert shape["hits"][0].keys() == {"atom", "score", "weak", "decayWeight", "entityMatchBonus", "explanation"}


@pytest.mark.conforms("A6.1", "R-B", "R-C")
def test_a_topic_is_ranked_by_likeness_then_age_and_importance(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    memory.add_atoms(
        space_id,
        [
            fact("Ada collects stamps", valid_from=to_iso(clock.now - 730 * DAY * 1_000_000)),
            fact("Ada collects stamps", importance=1),
            fact("Ada collects stamps", importance=5),
            fact("Ada collects stamps"),
            fact("The weather was fine yesterday in town"),
        ],
    )
    found = memory.recall_by_topic(space_id, "who collects stamps")
    assert [hit.atom.importance for hit in found.hits[:4]] == [5, 3, 1, 3]
    assert found.hits[-1].atom.text == "The weather was fine yesterday in town"
    assert [round(hit.decay_weight, 4) for hit in found.hits] == [1.0, 1.0, 1.0, 0.25, 1.0]
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert math.isclose(to_odds(scores[2]) / to_odds(scores[0]), 0.76 / 1.0, rel_tol=1e-6)


@pytest.mark.conforms("R-B", "A3.7")
@pytest.mark.parametrize(
    ("kind", "days"), [("FACT", 365), ("RULE", 365), ("INTENTION", 60), ("EPISODE", 14), ("PREFERENCE", 365)]
)
def test_each_kind_fades_by_half_in_its_own_time_and_never_below_a_quarter(
    memory: Memory, space_id: str, clock: SettableClock, kind: str, days: int
) -> None:
    memory.add_atom(space_id, fact("Ada collects stamps", kind=kind))
    for passed, weight in ((0, 1.0), (0.5, 2**-0.5), (1, 0.5), (2, 0.25), (10, 0.25)):
        at = SettableClock(to_iso(clock.now + round(passed * days * DAY * 1_000_000)))
        clock_now, clock.now = clock.now, at.now
        [hit] = memory.recall_by_topic(space_id, "stamps").hits
        clock.now = clock_now
        assert hit.decay_weight == pytest.approx(weight)


@pytest.mark.conforms("R-C")
def test_of_equals_the_one_that_is_valid_from_later_on_comes_first_and_then_the_lower_id(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    now, tomorrow = to_iso(clock.now), to_iso(clock.now + DAY * 1_000_000)
    late = memory.add_atoms(space_id, [fact("same words", valid_from=tomorrow)])[0]
    early = memory.add_atoms(space_id, [fact("same words") for _ in range(20)])
    # Brought in later, and recorded earlier.
    early.append(memory.add_atoms(space_id, [fact("same words", valid_from=now, created_at="2020-01-01T00:00:00Z")])[0])
    memory.add_atoms(space_id, [fact("other things") for _ in range(700)])
    expected = [late.id, *sorted(atom.id for atom in early)]
    assert expected[1] == early[-1].id
    # Also where the limit falls among equals it is the lower ids that are found.
    for limit in range(1, 23):
        hits = memory.recall_by_topic(space_id, "same words", limit=limit).hits
        assert [hit.atom.id for hit in hits] == expected[:limit]
        assert len({hit.score for hit in hits}) == 1
    assert [memory.why_not(each, "same words").rank for each in expected] == list(range(1, 23))
    timeline = memory.recall_timeline(space_id, query="same words", limit=5).hits
    assert {hit.atom.id for hit in timeline} == set(expected[:5])


@pytest.mark.conforms("A6.2", "R-D")
def test_without_an_embedder_words_in_common_are_counted(database_url: str, clock: SettableClock) -> None:
    with longmind.open(database_url, embedder=None, clock=clock) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(
            space_id,
            [fact("The cat chased a red ball", importance=5), fact("Cats and dogs", importance=5), fact("A house")],
        )
        found = memory.recall_by_topic(space_id, "the red cat")
        assert texts_of(found) == ["The cat chased a red ball", "Cats and dogs"]
        # Of the telling words, two of four and one of two are in the query of two.
        shares = [2 / math.sqrt(2 * 4), 1 / math.sqrt(2 * 2)]
        assert [hit.score for hit in found.hits] == pytest.approx([curve_of(share) for share in shares])
        assert found.total_candidates == 2
        assert found.model_dump().keys() == memory.recall_timeline(space_id).model_dump().keys()


@pytest.mark.conforms("R-C")
def test_an_entity_that_the_query_names_lifts_what_mentions_it(memory: Memory, space_id: str) -> None:
    ben = memory.create_entity(space_id, "PERSON", "Ben Okri", aliases=["Benny"])
    rome = memory.create_entity(space_id, "PLACE", "Rome")
    linked = memory.add_atoms(space_id, [fact("Had pasta there", entity_ids=[ben.id, rome.id])])[0]
    memory.add_atoms(space_id, [fact("Had pasta there", entity_ids=[rome.id])])
    memory.add_atoms(space_id, [fact("Had pasta there")])

    def bonuses(query: str) -> list[float]:
        return [hit.entity_match_bonus for hit in memory.recall_by_topic(space_id, query).hits]

    assert bonuses("what pasta did Ben Okri have in Rome?") == [2.0, 1.5, 1.0]
    assert bonuses("what about benny's pasta") == [1.5, 1.0, 1.0]
    assert bonuses("what about Ben") == [1.0, 1.0, 1.0]
    assert memory.recall_by_topic(space_id, "Benny").hits[0].atom.id == linked.id


@pytest.mark.conforms("A6.3", "A6.7")
def test_by_entity_gives_everything_that_mentions_it_newest_first(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    ben = memory.create_entity(space_id, "PERSON", "Ben", aliases=["Benny"])
    old = memory.add_atom(space_id, fact("old", entity_ids=[ben.id], valid_from="2020-01-01T00:00:00Z", name="home"))
    new = memory.add_atom(space_id, fact("new", entity_ids=[ben.id]))
    gone = memory.add_atom(space_id, fact("gone", entity_ids=[ben.id]))
    changed = memory.add_atom(space_id, fact("changed", entity_ids=[ben.id]))
    memory.add_atom(space_id, fact("Ben is named here, but not linked"))
    memory.archive_atom(gone.id)
    clock.advance(1)
    newest = memory.supersede_atom(changed.id, fact("newest", entity_ids=[ben.id]))
    for name in (ben.id, "Ben", "BEN", " benny "):
        found = memory.recall_by_entity(space_id, name)
        assert [hit.atom.id for hit in found.hits] == [newest.id, new.id, old.id]
    assert texts_of(memory.recall_by_entity(space_id, "Ben", limit=1)) == ["newest"]
    assert texts_of(memory.recall_by_entity(space_id, "Ben", category_names=["home"])) == ["old"]


@pytest.mark.conforms("A6.10")
def test_an_unknown_entity_is_no_error_and_a_merged_one_leads_on(memory: Memory, space_id: str) -> None:
    ben, benjamin = (memory.create_entity(space_id, "PERSON", name) for name in ("Ben", "Benjamin"))
    memory.add_atom(space_id, fact("Ben sings", entity_ids=[benjamin.id]))
    memory.merge_entities(ben.id, benjamin.id)
    for name in (ben.id, benjamin.id, "Ben", "Benjamin"):
        assert texts_of(memory.recall_by_entity(space_id, name)) == ["Ben sings"]
        assert texts_of(memory.recall_timeline(space_id, entity_id_or_name=name)) == ["Ben sings"]
        assert texts_of(memory.recall_by_topic(space_id, "sings", entity=name)) == ["Ben sings"]
    for nobody in ("Nobody", "ent_0", "%", "'; --"):
        found = memory.recall_by_entity(space_id, nobody)
        assert (found.mode, found.hits, found.total_candidates) == ("BY_ENTITY", [], 0)
        assert memory.recall_by_topic(space_id, "sings", entity=nobody).hits == []


@pytest.mark.parametrize("nobody", [5, " "])
def test_what_cannot_be_an_entity_is_refused_by_the_name_of_its_parameter(
    memory: Memory, space_id: str, nobody: Any
) -> None:
    with pytest.raises(longmind.InvalidInput, match=r"^entity (must be|is)"):
        memory.recall_by_topic(space_id, "x", entity=nobody)
    with pytest.raises(longmind.InvalidInput, match=r"^entity_id_or_name (must be|is)"):
        memory.recall_by_entity(space_id, nobody)


@pytest.mark.conforms("A6.4", "A6.9")
def test_a_timeline_is_oldest_first_and_shows_superseded_versions(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    first = memory.add_atom(space_id, fact("lives in Rome", valid_from="2026-01-01T00:00:00Z"))
    memory.supersede_atom(first.id, fact("lives in Oslo", valid_from="2026-02-01T00:00:00Z"))
    memory.add_atom(space_id, fact("likes tea", valid_from="2025-12-01T00:00:00Z"))
    memory.archive_atom(memory.add_atom(space_id, fact("archived", valid_from="2025-11-01T00:00:00Z")).id)
    assert texts_of(memory.recall_timeline(space_id)) == ["likes tea", "lives in Rome", "lives in Oslo"]
    assert texts_of(memory.recall_timeline(space_id, include_superseded=False)) == ["likes tea", "lives in Oslo"]
    assert texts_of(memory.recall_timeline(space_id, query="lives in", limit=2)) == ["lives in Rome", "lives in Oslo"]
    with pytest.raises(longmind.InvalidInput, match="not both"):
        memory.recall_timeline(space_id, query="x", entity_id_or_name="y")


@pytest.mark.conforms("A6.4", "A6.9")
def test_a_window_takes_what_is_valid_at_any_moment_of_it(memory: Memory, space_id: str) -> None:
    memory.add_atom(space_id, fact("spring", valid_from="2025-03-01T00:00:00Z", valid_to="2025-06-01T00:00:00Z"))
    memory.add_atom(space_id, fact("summer", valid_from="2025-06-01T00:00:00Z", valid_to="2025-09-01T00:00:00Z"))
    memory.add_atom(space_id, fact("since autumn", valid_from="2025-09-01T00:00:00Z"))

    def between(from_: str | None, to: str | None) -> list[str]:
        return texts_of(memory.recall_timeline(space_id, from_=from_, to=to))

    assert between("2025-06-01T00:00:00Z", "2025-08-31T00:00:00Z") == ["summer"]
    assert between("2025-05-31T23:59:59.999999Z", "2025-09-01T00:00:00Z") == ["spring", "summer", "since autumn"]
    assert between(None, "2025-03-01T00:00:00Z") == ["spring"]
    assert between(None, "2025-02-28T00:00:00Z") == []
    assert between("2030-01-01T00:00:00Z", None) == ["since autumn"]
    with pytest.raises(longmind.InvalidInput, match="is after to"):
        between("2025-08-01T00:00:00Z", "2025-07-01T00:00:00Z")


@pytest.mark.conforms("A6.4", "A6.9")
def test_a_long_timeline_goes_on_from_its_last_hit_and_what_is_open_comes_again(memory: Memory, space_id: str) -> None:
    days = [f"2025-{month:02}-{day:02}" for month in range(1, 10) for day in range(1, 29)]
    ended = [fact(f"ended {day}", valid_from=day, valid_to=after) for day, after in pairwise(days)]
    memory.add_atoms(space_id, ended)
    first = memory.recall_timeline(space_id, limit=200)
    rest = memory.recall_timeline(space_id, limit=200, from_=first.hits[-1].atom.valid_from)
    assert first.total_candidates == len(ended)
    assert texts_of(first) + texts_of(rest)[1:] == [each["text"] for each in ended]
    memory.add_atoms(space_id, [fact(f"open {day}", valid_from=day) for day in days])
    later = memory.recall_timeline(space_id, limit=200, from_=days[-1])
    assert texts_of(later) == [f"open {day}" for day in days[:200]]
    assert later.total_candidates == len(days)


@pytest.mark.conforms("A6.9")
def test_limits_have_defaults_and_a_most(memory: Memory, space_id: str) -> None:
    ben = memory.create_entity(space_id, "PERSON", "Ben")
    memory.add_atoms(space_id, [fact(f"tea {number}", entity_ids=[ben.id]) for number in range(210)])
    assert len(memory.recall_by_topic(space_id, "tea").hits) == 10
    assert len(memory.recall_by_entity(space_id, "Ben").hits) == 20
    assert len(memory.recall_timeline(space_id).hits) == 50
    for limit in (0, -1, 201, 2.0, True, None, 2**63, 10**5000, -(10**5000)):
        given: dict[str, Any] = {"limit": limit}
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match="limit"):
            memory.recall_by_topic(space_id, "tea", **given)
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match="limit"):
            memory.recall_by_entity(space_id, "Ben", **given)
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match="limit"):
            memory.recall_timeline(space_id, **given)
    found = memory.recall_by_topic(space_id, "tea", limit=200)
    assert (len(found.hits), found.total_candidates) == (200, 210)


@pytest.mark.conforms("T13")
def test_filters_come_before_the_limit(memory: Memory, space_id: str) -> None:
    memory.add_atoms(space_id, [fact(f"the best tea is number {number}", importance=5) for number in range(300)])
    memory.add_atom(space_id, fact("tea", tags=["rare", "x"], name="kitchen", kind="RULE", importance=1, trust="tool"))
    for only in (
        {"tags": ["rare"]},
        {"tags": ["x", "rare"]},
        {"category_names": ["kitchen"]},
        {"kinds": ["RULE"]},
        {"trust": ["tool"]},
    ):
        found = memory.recall_by_topic(space_id, "the best tea is number", limit=1, **only)  # type: ignore[arg-type]
        assert texts_of(found) == ["tea"]
        assert found.total_candidates == 1
    assert memory.recall_by_topic(space_id, "tea", tags=["rare", "absent"]).hits == []
    nothing: dict[str, Any]
    for nothing in ({"tags": ["absent"]}, {"category_names": []}, {"kinds": []}, {"trust": []}):
        assert memory.recall_by_topic(space_id, "tea", **nothing).hits == []


@pytest.mark.conforms("T13")
@pytest.mark.parametrize(
    "query",
    [
        *('"', "'", '"unclosed', "a AND", "NOT (", "tea*", "text:tea", "NEAR(tea ball)", "^tea", "a - b", "%", "\\"),
        *("C++", "user-id", "'; DROP TABLE atoms; --", "{}", ":scope_id", "$1", "?", "😀", "\u202eabc", "\u0301"),
        *("", "   ", "\n\t", "the of and", "...!?", "x" * 10_000, "tea " * 2_500),
    ],
)  # fmt: skip
def test_any_query_is_safe(memory: Memory, space_id: str, query: str) -> None:
    memory.add_atoms(space_id, [fact("C++ is a language"), fact("the user-id is 7"), fact("tea"), fact("😀")])
    found = memory.recall_by_topic(space_id, query)
    assert found.total_candidates == 4 if query.strip() else len(found.hits) == found.total_candidates
    assert all(0 <= hit.score <= 1 for hit in found.hits)
    assert memory.recall_timeline(space_id, query=query).mode == "TIMELINE"


def test_words_with_signs_find_what_has_them(memory: Memory, space_id: str) -> None:
    memory.add_atoms(space_id, [fact("She writes C++ at work"), fact("the user-id is 7"), fact("tea with milk")])
    assert memory.recall_by_topic(space_id, "C++").hits[0].atom.text == "She writes C++ at work"
    assert memory.recall_by_topic(space_id, "user-id").hits[0].atom.text == "the user-id is 7"


@pytest.mark.conforms("T13")
@pytest.mark.parametrize("query", ["a\x00b", "\ud800", "x" * 10_001, None, 7, b"tea"])
def test_what_is_no_query_is_refused(memory: Memory, space_id: str, query: object) -> None:
    with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
        memory.recall_by_topic(space_id, query)  # type: ignore[arg-type]
    with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
        memory.recall_timeline(space_id, query=query if query is not None else 7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kinds": ["NOTE"]},
        {"kinds": "FACT"},
        {"trust": ["nobody"]},
        {"tags": "a"},
        {"tags": [7]},
        {"category_names": [""]},
        {"min_importance": 0},
        {"min_importance": 6},
        {"min_importance": 2.5},
        {"status": "archived"},
        {"valid_at": "soon"},
        {"known_at": 5},
        {"entity": ""},
    ],
)
def test_a_filter_that_cannot_be_one_is_refused(memory: Memory, space_id: str, wrong: dict[str, object]) -> None:
    atom = memory.add_atom(space_id, fact("tea"))
    for ask in (
        lambda: memory.recall_by_topic(space_id, "tea", **wrong),  # type: ignore[arg-type]
        lambda: memory.why_not(atom.id, "tea", **wrong),  # type: ignore[arg-type]
    ):
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)) as refused:
            ask()
        assert refused.value.status in (400, 422)


@pytest.mark.conforms("A2.5", "A6.7")
def test_other_spaces_and_other_users_are_never_found(engine: longmind.Engine, memory: Memory) -> None:
    mine, second = memory.create_memory_space("one").id, memory.create_memory_space("two").id
    stranger = memory_of(engine, "eve")
    theirs = stranger.create_memory_space("one").id
    for owner, space, text in ((memory, mine, "tea one"), (memory, second, "tea two"), (stranger, theirs, "tea eve")):
        owner.add_atom(space, fact(text))
    assert texts_of(memory.recall_by_topic(mine, "tea")) == ["tea one"]
    for foreign in (theirs, "ms_missing"):
        for recall in (memory.recall_by_topic, memory.recall_by_entity):
            with pytest.raises(longmind.NotFound) as refused:
                recall(foreign, "tea")
            assert foreign in str(refused.value)
        with pytest.raises(longmind.NotFound):
            memory.recall_timeline(foreign)


@pytest.mark.conforms("A6.6", "R-C")
def test_the_factors_of_an_explanation_multiply_the_odds_up_to_those_of_the_score(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    ben = memory.create_entity(space_id, "PERSON", "Ben")
    memory.add_atoms(
        space_id,
        [
            fact("Ben drinks tea", entity_ids=[ben.id], importance=5),
            fact("Tea grows in Assam", kind="EPISODE", valid_from=to_iso(clock.now - 20 * DAY * 1_000_000)),
            fact("Nothing of the kind"),
        ],
    )
    hits = memory.recall_by_topic(space_id, "Ben drinks tea", explain=True).hits
    assert len(hits) == 3
    for hit in hits:
        why = hit.explanation
        assert why is not None
        product = why.decay_weight * why.importance_weight * why.entity_match_bonus
        assert to_odds(hit.score) == pytest.approx(to_odds(why.similarity) * product)
        assert (why.decay_weight, why.entity_match_bonus) == (hit.decay_weight, hit.entity_match_bonus)
    explained = {hit.atom.text: hit.explanation for hit in hits}
    best, worst = explained["Ben drinks tea"], explained["Nothing of the kind"]
    assert best is not None
    assert worst is not None
    assert best is hits[0].explanation
    assert (best.lexical_rank, best.dense_rank, best.entity_match_bonus) == (1, 1, 1.5)
    assert (worst.lexical_rank, worst.lexical) == (None, 0.0)
    assert memory.recall_by_topic(space_id, "tea").hits[0].explanation is None


def test_why_not_names_every_filter_that_leaves_an_atom_out(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    memory.create_entity(space_id, "PERSON", "Ben")
    atom = memory.add_atom(space_id, fact("tea", name="home", importance=2, tags=["a"], trust="user"))
    before = to_iso(clock.now - 1)
    begins = to_iso(clock.now)
    wanted: list[tuple[dict[str, Any], str]] = [
        ({"category_names": ["work"]}, "the filter category_names leaves it out"),
        ({"kinds": ["RULE"]}, "the filter kinds leaves it out"),
        ({"tags": ["a", "b"]}, "the filter tags leaves it out: it does not have the tag 'b'"),
        ({"min_importance": 3}, "the filter min_importance leaves it out"),
        ({"trust": ["tool"]}, "the filter trust leaves it out"),
        ({"entity": "Ben"}, "the filter entity leaves it out"),
        ({"valid_at": before}, f"the filter valid_at leaves it out: it begins only at {begins}"),
        ({"known_at": before}, f"the filter known_at leaves it out: it was recorded only at {begins}"),
    ]
    for given, reason in wanted:
        answer = memory.why_not(atom.id, "tea", **given)
        assert (answer.atom_id, answer.found, answer.rank) == (atom.id, False, None)
        assert answer.reasons == [reason]
    both = memory.why_not(atom.id, "tea", kinds=["RULE"], min_importance=5)
    assert len(both.reasons) == 2
    found = memory.why_not(atom.id, "tea")
    assert (found.found, found.rank, found.reasons) == (True, 1, [])


def test_why_not_tells_what_became_of_an_atom(memory: Memory, space_id: str, clock: SettableClock) -> None:
    began = to_iso(clock.now)
    archived, old, brief = (memory.add_atoms(space_id, [fact("tea")])[0] for _ in range(3))
    clock.advance(1)
    now = to_iso(clock.now)
    ending = memory.add_atoms(space_id, [fact("tea", valid_from=began, valid_to=now)])[0]
    memory.archive_atom(archived.id)
    newer = memory.supersede_atom(old.id, fact("green tea"))
    at_once = memory.supersede_atom(brief.id, fact("white tea", valid_from=began))
    reasons = {
        archived.id: f"the filter status leaves it out: it was archived at {now}",
        old.id: f"it was superseded by {newer.id}, and ended at {now}",
        brief.id: f"it was superseded by {at_once.id}, and was true at no time",
        ending.id: f"it ended at {now}",
    }
    for atom_id, reason in reasons.items():
        assert memory.why_not(atom_id, "tea").reasons == [reason]
    assert memory.why_not(ending.id, "tea", valid_at=now).reasons == [
        f"the filter valid_at leaves it out: it ended at {now}"
    ]
    assert memory.why_not(old.id, "tea", valid_at=now).reasons == [
        f"the filter valid_at leaves it out: it was superseded by {newer.id}, and ended at {now}"
    ]
    assert memory.why_not(old.id, "tea", known_at=began).found
    clock.advance(1)
    memory.supersede_atom(newer.id, fact("black tea", valid_from=began))
    assert memory.why_not(old.id, "tea", valid_at=now, known_at=now).reasons == [
        f"the filter valid_at leaves it out: it was superseded by {newer.id}, and ended at {now}"
    ]
    assert memory.why_not(old.id, "tea").reasons == [f"it was superseded by {newer.id}, and was true at no time"]


def test_why_not_tells_that_an_atom_was_deleted_meanwhile(database_url: str) -> None:
    class Deleting(WordsEmbedder):
        def embed_query(self, query: str) -> Any:
            if query.startswith("atom_"):
                memory.delete_atom(query)
            return super().embed_query(query)

    with longmind.open(database_url, embedder=Deleting()) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        atom = memory.add_atom(space_id, fact("tea"))
        assert memory.why_not(atom.id, atom.id).reasons == ["it was deleted"]


def test_why_not_tells_the_place_beyond_the_limit(memory: Memory, space_id: str) -> None:
    low = memory.add_atom(space_id, fact("tea", importance=1))
    memory.add_atoms(space_id, [fact("tea", importance=5) for _ in range(12)])
    answer = memory.why_not(low.id, "tea")
    assert (answer.found, answer.rank, answer.reasons) == (False, 13, ["its rank is 13, and the limit is 10"])
    assert answer.explanation is not None
    within = memory.why_not(low.id, "tea", limit=13)
    assert (within.found, within.rank, within.reasons) == (True, 13, [])
    assert memory.recall_by_topic(space_id, "tea", limit=13).hits[-1].atom.id == low.id


def test_why_not_tells_when_there_is_nothing_in_common(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        memory = memory_of(engine)
        atom = memory.add_atom(memory.create_memory_space().id, fact("tea"))
        answer = memory.why_not(atom.id, "football")
        assert (answer.found, answer.rank) == (False, None)
        assert "no word of the query" in answer.reasons[0]


def test_why_not_of_a_missing_and_of_a_foreign_atom_are_the_same(
    engine: longmind.Engine, memory: Memory, space_id: str
) -> None:
    stranger = memory_of(engine, "eve")
    theirs = stranger.add_atom(stranger.create_memory_space().id, fact("secret")).id
    deleted = memory.add_atom(space_id, fact("tea")).id
    memory.delete_atom(deleted)
    for missing in ("atom_missing", theirs, deleted):
        with pytest.raises(longmind.NotFound) as refused:
            memory.why_not(missing, "secret")
        assert str(refused.value).replace(missing, "…") == (
            "There is no atom '…' in this scope. "
            "Hint: Check the id, and that the context is of the tenant, app and user that own it."
        )


def test_an_atom_without_a_single_word_can_be_found_and_does_no_harm(database_url: str) -> None:
    for embedder in (None, "none"):
        with longmind.open(database_url, embedder=embedder) as engine:
            memory = memory_of(engine)
            space_id = memory.create_memory_space().id
            memory.add_atom(space_id, fact("😀🎉"))
            assert memory.recall_by_topic(space_id, "hello").hits == []
            memory.add_atom(space_id, fact("hello"))
            assert texts_of(memory.recall_by_topic(space_id, "hello")) == ["hello"]
            assert texts_of(memory.recall_timeline(space_id)) == ["😀🎉", "hello"]


def test_a_text_of_a_million_characters_is_found_by_its_words(memory: Memory, space_id: str) -> None:
    long = "needle " + "hay " * 250_000
    memory.add_atoms(space_id, [fact(long), fact("tea with milk")])
    found = memory.recall_by_topic(space_id, "needle", limit=1)
    assert found.hits[0].atom.text == long
    assert texts_of(memory.recall_by_topic(space_id, "milk", limit=1)) == ["tea with milk"]


def test_one_text_that_is_unlike_all_others_does_no_harm(memory: Memory, space_id: str) -> None:
    """Where all are the same but one, that one is many standard deviations away."""
    outlier = memory.add_atom(space_id, fact("zebra"))
    memory.add_atoms(space_id, [fact("tea")] * 2_000)
    found = memory.recall_by_topic(space_id, "zebra", limit=2)
    assert texts_of(found) == ["zebra", "tea"]
    assert 0 < found.hits[1].score < found.hits[0].score <= 1
    memory.delete_atom(outlier.id)
    found = memory.recall_by_topic(space_id, "zebra", limit=2)
    assert texts_of(found) == ["tea", "tea"]
    assert found.total_candidates == 2_000
    assert found.hits[0].score > 0


def test_what_stands_around_a_fact_helps_to_find_it_and_is_shown_to_nobody(memory: Memory, space_id: str) -> None:
    memory.add_atoms(
        space_id,
        [
            fact("She said yes", search_context=["Did Carla take the job in Lisbon?", "We talked about work"]),
            fact("She said no"),
        ],
    )
    found = memory.recall_by_topic(space_id, "Lisbon job", explain=True)
    assert found.hits[0].atom.text == "She said yes"
    assert "Lisbon" not in found.model_dump_json()
    best = found.hits[0].explanation
    assert best is not None
    assert best.lexical > 0


def test_right_to_left_and_unspaced_texts_are_found(memory: Memory, space_id: str) -> None:
    texts = ["أحب القهوة كل صباح", "彼女は東京に住んでいます", "ฉันชอบกินข้าว", "मुझे चाय पसंद है", "שלום עולם"]
    memory.add_atoms(space_id, [fact(text) for text in texts])
    for query, text in zip(("القهوة", "東京", "ข้าว", "चाय", "עולם"), texts, strict=True):
        found = memory.recall_by_topic(space_id, query, limit=1, explain=True)
        assert texts_of(found) == [text]
        assert found.hits[0].explanation is not None
        assert found.hits[0].explanation.lexical > 0


def test_a_query_that_names_a_day_may_be_asked_for_the_ends_of_the_calendar(memory: Memory, space_id: str) -> None:
    memory.add_atom(space_id, fact("tea", valid_from="0001-01-01T00:00:00Z"))
    for instant in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"):
        for when in ("yesterday", "3 May", "two weeks ago", "in June"):
            assert texts_of(memory.recall_by_topic(space_id, f"tea {when}", valid_at=instant)) == ["tea"]


@pytest.mark.conforms("A6.7")
def test_what_was_archived_is_found_by_who_asks_for_it(memory: Memory, space_id: str) -> None:
    active, archived = memory.add_atoms(space_id, [fact("red tea"), fact("green tea")])
    memory.archive_atom(archived.id)
    assert texts_of(memory.recall_by_topic(space_id, "tea", status="ARCHIVED")) == ["green tea"]
    assert texts_of(memory.recall_by_topic(space_id, "green tea", status=None)) == ["green tea", "red tea"]
    assert memory.recall_by_topic(space_id, "tea", status="DELETED").hits == []
    assert memory.why_not(archived.id, "tea", status="ARCHIVED").found
    assert memory.why_not(active.id, "tea", status="ARCHIVED").reasons == ["the filter status leaves it out"]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Dr. Who", "where does dr. who live?"),
        ("Dr. Who", "where does Dr Who live?"),
        ("McDonald's", "who lives near McDonald's?"),
        ("McDonald\u2019s", "who lives near McDonald's?"),
        ("Yahoo!", "who lives near Yahoo?"),
    ],
)
def test_an_entity_whose_name_has_signs_is_known_in_a_query(
    memory: Memory, space_id: str, name: str, query: str
) -> None:
    entity = memory.create_entity(space_id, "ORGANIZATION", name)
    memory.create_entity(space_id, "ORGANIZATION", "?!")
    atom = memory.add_atoms(space_id, [fact("They live in the town", entity_ids=[entity.id])])[0]
    memory.add_atoms(space_id, [fact("They live in the town")])
    found = memory.recall_by_topic(space_id, query)
    assert {hit.atom.id: hit.entity_match_bonus for hit in found.hits}[atom.id] == 1.5
    assert sorted(hit.entity_match_bonus for hit in found.hits) == [1.0, 1.5]


@pytest.mark.conforms("A6.2", "R-D")
@pytest.mark.parametrize("embedder", [None, "auto"])
def test_by_words_alone_every_word_of_a_question_counts(
    database_url: str, embedder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGMIND_MODELS_FOLDER", str(tmp_path))
    with longmind.open(database_url, embedder=embedder) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("Rex is 5 years old"), fact("Ada gets 30 days a year")])
        for query, text in {
            "How old is he?": "Rex is 5 years old",
            "how many days?": "Ada gets 30 days a year",
        }.items():
            assert texts_of(memory.recall_by_topic(space_id, query)) == [text]
        [hit] = memory.recall_by_topic(space_id, "How old is he?", explain=True).hits
        if embedder is None:
            # One word of the two that say something, and three of the text.
            assert hit.explanation is not None
            assert hit.explanation.similarity == pytest.approx(curve_of(1 / math.sqrt(1 * 4)))


def test_how_much_is_asked_of_what_stands_beside_it_unless_nothing_does(memory: Memory, space_id: str) -> None:
    memory.add_atoms(space_id, [fact("Rex is 5 years old"), fact("the cat sleeps on the mat")])
    assert texts_of(memory.recall_by_topic(space_id, "How old is he?", limit=1)) == ["Rex is 5 years old"]


@pytest.mark.conforms("R-B")
def test_what_began_before_1970_is_as_old_as_it_is(database_url: str, clock: SettableClock) -> None:
    for _ in range(2):
        # The second time it is read from what was written down.
        with longmind.open(database_url, embedder=None, clock=clock) as engine:
            memory = memory_of(engine)
            space_id = memory.create_memory_space("main").id
            if not memory.list_atoms(space_id):
                inputs = [fact(f"filler {number}") for number in range(300)]
                memory.add_atoms(space_id, [fact("Grandpa lived in Oslo", valid_from="1950-01-01T00:00:00Z"), *inputs])
            for instant, weight in (("1951-01-01T00:00:00Z", 0.5), ("1971-01-01T00:00:00Z", 0.25)):
                [hit] = memory.recall_by_topic(space_id, "oslo", valid_at=instant).hits
                assert hit.decay_weight == pytest.approx(weight)


@pytest.mark.conforms("A6.4")
def test_a_timeline_without_superseded_versions_has_what_has_just_ended(memory: Memory, space_id: str) -> None:
    trip = fact("Ada is in Rome", valid_from="2020-01-01T00:00:00Z", valid_to="2020-02-01T00:00:00Z")
    memory.add_atom(space_id, trip)
    home = memory.add_atom(space_id, fact("Ada lives in Graz", valid_from="2019-01-01T00:00:00Z"))
    memory.supersede_atom(home.id, fact("Ada lives in Wien", valid_from="2020-01-15T00:00:00Z"))
    window: dict[str, Any] = {"from_": "2020-01-10T00:00:00Z", "to": "2020-01-20T00:00:00Z"}
    every = ["Ada lives in Graz", "Ada is in Rome", "Ada lives in Wien"]
    assert texts_of(memory.recall_timeline(space_id, **window)) == every
    assert texts_of(memory.recall_timeline(space_id, **window, include_superseded=False)) == every[1:]


@pytest.mark.conforms("A6.2")
def test_what_stands_around_a_fact_helps_to_find_it_also_by_words_alone(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        near = memory.add_atom(space_id, fact("Yes, gladly.", search_context=["Shall we meet in Ljubljana?"]))
        own = memory.add_atom(space_id, fact("Ljubljana it is"))
        assert [hit.atom.id for hit in memory.recall_by_topic(space_id, "Ljubljana").hits] == [own.id, near.id]
        assert memory.why_not(near.id, "Ljubljana").found


@pytest.mark.conforms("R-B")
def test_what_was_confirmed_later_on_is_not_newer_before(database_url: str, clock: SettableClock) -> None:
    with longmind.open(database_url, embedder=None, clock=clock) as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        space_id = context.memory.create_memory_space("main").id
        context.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space_id])
        began = clock.now
        for _ in range(2):
            talk = context.conversations.create_conversation("chat")
            context.conversations.append_user_message(talk.id, "I am allergic to peanuts.")
            context.conversations.close_conversation(talk.id)
            engine.work()
            clock.advance(730 * DAY)
        year = to_iso(began + 365 * DAY * 1_000_000)
        instants: list[dict[str, Any]] = [{"valid_at": year}, {"known_at": year}]
        for asked in (*instants, {"valid_at": year, "known_at": to_iso(clock.now)}):
            [hit] = context.memory.recall_by_topic(space_id, "peanuts", **asked).hits
            assert hit.decay_weight == pytest.approx(0.5, abs=0.01)
        [hit] = context.memory.recall_by_topic(space_id, "peanuts").hits
        assert hit.decay_weight == pytest.approx(0.25)
        [hit] = context.memory.recall_by_topic(space_id, "peanuts", valid_at=to_iso(began + 731 * DAY * 1_000_000)).hits
        assert hit.decay_weight > 0.99
