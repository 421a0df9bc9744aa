"""Why a passage was found, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from longmind.models.recall import Explanation, Passage
from tests.passages.person import FamiliarEmbedder, Person, meet

ASKED = "Which automobile crashed?"


@pytest.fixture(params=[True, False], ids=["with vectors", "words alone"])
def embeds(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def engine(database_url: str, embeds: bool) -> Iterator[longmind.Engine]:
    embedder = FamiliarEmbedder() if embeds else None
    with longmind.open(database_url, embedder=embedder) as engine:
        yield engine


@pytest.fixture
def ada(engine: longmind.Engine) -> Person:
    ada = meet(engine)
    ada.bind()
    return ada


def explained(ada: Person, query: str = ASKED) -> dict[str, Explanation]:
    found = ada.ctx.memory.recall_by_topic(ada.space_id, query, limit=200, explain=True)
    return {passage.text: explain(passage) for passage in found.passages}


def explain(passage: Passage) -> Explanation:
    found = passage.explanation
    assert found is not None
    assert found.similarity == passage.score
    assert (found.decay_weight, found.importance_weight, found.entity_match_bonus) == (1, 1, 1)
    return found


def test_passages_are_explained_only_if_the_caller_asks(ada: Person) -> None:
    ada.say("My automobile crashed")
    (passage,) = ada.ctx.memory.recall_by_topic(ada.space_id, ASKED).passages
    assert passage.explanation is None


def test_an_explanation_has_the_ranks_by_words_and_by_meaning(
    ada: Person, engine: longmind.Engine, embeds: bool
) -> None:
    for text in ("My automobile crashed", "An automobile is parked", "The weather is fine"):
        ada.say(text)
    engine.work()
    best, second = (explained(ada)[text] for text in ("My automobile crashed", "An automobile is parked"))
    assert (best.lexical_rank, second.lexical_rank) == (1, 2)
    assert best.lexical > second.lexical > 0
    assert "number 1 by shared words" in best.reasons
    assert best.reasons[0].endswith(f"to be about the question ({best.similarity:.0%})")
    if embeds:
        assert best.dense_rank == 1
        assert f"number 1 by meaning (likeness {best.dense:.2f})" in best.reasons
    else:
        assert best.dense is best.dense_rank is None


def test_an_explanation_tells_words_of_a_message_from_those_beside_it(ada: Person) -> None:
    conversation_id = ada.talk()
    ada.say("My automobile crashed", conversation_id)
    ada.say("It was not his fault", conversation_id)
    beside = "the shared words are in the messages around it"
    reasons = {text: each.reasons for text, each in explained(ada).items()}
    assert beside in reasons["It was not his fault"]
    assert beside not in reasons["My automobile crashed"]


def test_an_explanation_names_speaker_date_and_opposite(ada: Person) -> None:
    conversation_id = ada.talk()
    ada.say("Anna: My automobile crashed", conversation_id)
    ada.say("Ben: I hate an automobile that crashed", conversation_id)
    reasons = {text: each.reasons for text, each in explained(ada, "Which automobile does Anna like today?").items()}
    anna, ben = reasons["Anna: My automobile crashed"], reasons["Ben: I hate an automobile that crashed"]
    speaker, opposite = "said by whom the question asks about", "says the opposite of what is asked for"
    assert ((speaker in anna), (opposite in anna)) == (True, False)
    assert ((speaker in ben), (opposite in ben)) == (False, True)
    assert "said at the time that the question asks about" in anna


def test_the_best_piece_of_a_long_message_is_explained(ada: Person) -> None:
    long = " ".join(f"Sentence {number} is about nothing at all, and goes on and on." for number in range(40))
    ada.say(f"{long} At last the automobile crashed. {long}")
    (each,) = explained(ada).values()
    assert each.lexical_rank == 1
    assert "number 1 by shared words" in each.reasons


def test_a_fact_that_stands_for_a_quote_says_where_its_score_is_from(ada: Person, engine: longmind.Engine) -> None:
    said = ada.say("My automobile crashed")
    fact = {"name": "notes", "kind": "EPISODE"}
    ada.ctx.memory.add_atom(
        ada.space_id,
        {
            "text": "Long ago, somewhere near Graz, a red automobile of the user crashed into a wall.",
            "category": fact,
            "valid_from": "2001-01-01",
            "source_message_ids": [said.id],
        },
    )
    engine.work()
    found = ada.ctx.memory.recall_by_topic(ada.space_id, ASKED, explain=True)
    assert found.passages == []
    hit = found.hits[0]
    assert hit.explanation is not None
    assert (
        hit.explanation.reasons[-1]
        == f"stands for a quote that it cites, with the quote's higher score ({hit.score:.0%})"
    )
