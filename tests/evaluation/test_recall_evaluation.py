"""Measuring recall from beginning to end, on a few made-up conversations."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longmind
from benchmarks.evaluation.baseline_retrievers import Baselines
from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.corpus_loader import LoadedHistory, prepare_turns
from benchmarks.evaluation.dataset import Session, Turn, read_datasets
from benchmarks.evaluation.recall_evaluation import EvaluationSetup, Selection, measure_recall
from benchmarks.evaluation.recalled_memories import TextTokens, list_memories
from benchmarks.evaluation.scripted_clock import ScriptedClock
from benchmarks.evaluation.set_measurement import choose_foreign_questions
from benchmarks.evaluation.token_counter import WORDS
from longmind.language.words import words_of
from longmind.providers.embedder import CheckedEmbedder
from longmind.settings import load_settings
from tests.evaluation.datasets import a_query, a_set, write

TINY = Path(__file__).parent / "tiny"


class WordVectors:
    """A text is the sum of a fixed vector for each of its words."""

    model = "test:words"
    dimension = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_texts(self, texts: Sequence[str]) -> list[Any]:
        self.embedded += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> Any:
        vectors = [np.random.default_rng(zlib.crc32(word.encode())).standard_normal(64) for word in words_of(query)]
        return np.sum(vectors, axis=0)


def quiet(_: str) -> None: ...


def test_recall_and_its_baselines_are_measured_on_all_questions() -> None:
    results = measure_recall(TINY, EvaluationSetup.from_embedder(CheckedEmbedder(WordVectors()), WORDS, quiet))
    garden = results["datasets"]["Garden talk"]
    assert (garden["corpora"], garden["questions"]) == (2, 4)
    retrievers = garden["retrievers"]
    assert list(retrievers) == ["longmind", "BM25", "BM25 with neighbours", "dense", "rank fusion"]
    for name, groups in retrievers.items():
        # Each corpus has at most five turns, so whatever ranks them at all has every one among the first ten.
        assert groups["ALL"]["R@10"]["mean"] == 1.0, name
        assert groups["ALL"]["questions"] == 3
    assert retrievers["longmind"]["single-hop"]["NDCG@10"]["mean"] == 1.0
    assert results["over all sets"]["dense"]["R@10"] == {"mean": 1.0, "worst": 1.0, "worst set": "Garden talk"}
    assert results["tokenizer"] == "words x 1.3"


def test_every_baseline_has_the_turn_first_that_holds_the_words_of_the_question() -> None:
    said = ("We had soup.", "The roses need water every day.", "I saw a film.", "It rained.", "She called me.")
    turns = tuple(Turn(str(place), "user", text, "2026-05-01T10:00:00Z") for place, text in enumerate(said))
    fed = prepare_turns(Session("one", turns))
    baselines = Baselines(fed, CachingEmbedder(CheckedEmbedder(WordVectors())))
    ranked = baselines.rank("How often do roses need water?", 5)
    assert {name: places[0] for name, places in ranked.items()} == {
        "BM25": 1,
        "BM25 with neighbours": 1,
        "dense": 1,
        "rank fusion": 1,
    }


def test_a_baseline_knows_only_the_turns_up_to_the_question() -> None:
    said = ("The roses need water.", "It rained.", "The roses need water every day.")
    turns = tuple(Turn(str(place), "user", text, "2026-05-01T10:00:00Z") for place, text in enumerate(said))
    baselines = Baselines(prepare_turns(Session("one", turns)), CachingEmbedder(CheckedEmbedder(WordVectors())))
    for name, places in baselines.rank("How often do roses need water?", 5, turns=2).items():
        assert places[0] == 0, name
        assert 2 not in places, name


def test_what_has_none_of_the_words_of_a_question_is_not_found_by_words() -> None:
    said = ("We had soup.", "I saw a film.", "It rained.", "The roses need water every day.", "She called me.")
    # Each was said by itself, so that none has the words of another around it.
    sessions = [
        Session(text, (Turn(str(place), "user", text, "2026-05-01T10:00:00Z"),)) for place, text in enumerate(said)
    ]
    fed = [turn for session in sessions for turn in prepare_turns(session)]
    baselines = Baselines(fed, CachingEmbedder(CheckedEmbedder(WordVectors())))
    ranked = baselines.rank("How often do roses need water?", 5)
    assert ranked["BM25"] == ranked["BM25 with neighbours"] == [3]
    assert len(ranked["dense"]) == len(ranked["rank fusion"]) == 5
    # Where words find nothing, what is fused with them is as it was: the order of storage has no say.
    unknown = baselines.rank("Zithers", 5)
    assert unknown["BM25"] == []
    assert unknown["rank fusion"] == unknown["dense"]


def test_the_current_version_of_a_fact_is_found_and_a_timeline_has_all_of_them() -> None:
    results = measure_recall(TINY, EvaluationSetup.from_embedder(CheckedEmbedder(WordVectors()), WORDS, quiet))
    # Two that are right out of two say little.
    both = {"mean": 1.0, "interval": [0.3424, 1.0]}
    assert results["updates"] == {"facts": 2, "current above old": both, "timeline has both": both}
    assert results["goals"][-1]["goal"] == "updates current above old"
    assert results["goals"][-1]["must passed"]


def test_without_an_embedder_only_words_are_measured() -> None:
    results = measure_recall(TINY, EvaluationSetup.from_embedder(None, WORDS, quiet), Selection(corpora=1))
    garden = results["datasets"]["Garden talk"]
    assert results["embedder"] is None
    assert garden["questions"] == 3
    assert list(garden["retrievers"]) == ["longmind", "BM25", "BM25 with neighbours"]


def test_without_a_local_model_auto_is_measured_as_an_engine_is_opened_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGMIND_MODELS_FOLDER", str(tmp_path / "models"))
    data = a_set()
    # Of the words of the question most are in every turn, and the one that tells is in the longest.
    often = "We went out to the market in town"
    said = [f"{often} {which}." for which in ("again", "early", "late", "alone", "together")]
    said.append("Somebody there sold a zither, a harp, three drums, old bells, a flute and a broken violin.")
    data["sessions"]["s1"]["turns"] = [
        {"id": f"t{place}", "speaker": "user", "text": text} for place, text in enumerate(said)
    ]
    # Asked the next day, before facts are old: quotes do not age, and find what tells in either mode.
    data["queries"] = [a_query() | {"date": "2024-01-06T00:00:00Z", "text": "market in town: zither?", "gold": ["t5"]}]
    write(tmp_path, "small.json", data)

    def measured(chosen: str) -> tuple[dict[str, Any], float]:
        results = measure_recall(tmp_path, EvaluationSetup.from_settings(load_settings({"embedder": chosen}), quiet))
        return results, results["datasets"]["Small talk"]["retrievers"]["longmind"]["ALL"]["NDCG@10"]["mean"]

    weighed, by_weight = measured("auto")
    counted, by_overlap = measured("none")
    assert weighed["embedder"] is counted["embedder"] is None
    assert (weighed["embedder chosen"], counted["embedder chosen"]) == ("auto", "none")
    assert by_weight == 1.0 > by_overlap


def test_results_say_where_they_were_made_and_never_the_name_of_the_machine() -> None:
    made = measure_recall(TINY, EvaluationSetup.from_embedder(None, WORDS, quiet))["environment"]
    assert set(made["machine"]) == {"system", "architecture", "processor", "cores"}
    assert made["versions"]["longmind"] == version("longmind")
    assert made["versions"]["numpy"] == np.__version__
    assert socket.gethostname() not in str(made)


def test_sets_of_which_no_question_is_asked_have_no_figures_and_no_goals(tmp_path: Path) -> None:
    write(tmp_path, "none.json", a_set("LongMemEval of nothing") | {"queries": []})
    other = a_set("LoCoMo of the second history")
    other["corpora"] = {"first": ["s1"], **other["corpora"]}
    write(tmp_path, "second.json", other)
    results = measure_recall(tmp_path, EvaluationSetup.from_embedder(None, WORDS, quiet), Selection(corpora=1))
    assert {
        name: (each["questions"], each["retrievers"]["longmind"]) for name, each in results["datasets"].items()
    } == {
        "LongMemEval of nothing": (0, {}),
        "LoCoMo of the second history": (0, {}),
    }
    assert [each["goal"] for each in results["goals"]] == []


def test_a_text_is_embedded_once_however_many_histories_hold_it() -> None:
    embedder = WordVectors()
    measure_recall(TINY, EvaluationSetup.from_embedder(CheckedEmbedder(embedder), WORDS, quiet))
    assert len(embedder.embedded) == len(set(embedder.embedded))


def test_turns_become_messages_of_a_bound_namespace_and_are_found_by_their_passages(sqlite_url: str) -> None:
    (garden,) = read_datasets(TINY)
    clock = ScriptedClock()
    with longmind.open(sqlite_url, embedder=None, clock=clock) as engine:
        ctx = engine.context(tenant_id="t", app_id="a", user_id="u")
        history = LoadedHistory(engine, ctx, clock, garden.corpora["g"])
        for session in garden.corpora["g"]:
            history.append(session)
        history.finish_work()
        assert history.turns == 5
        # By title, since the second begins at the instant of the first.
        found = {conversation.title: conversation for conversation in ctx.conversations.list_conversations()}
        first, second = found["g/1"], found["g/2"]
        assert first.status == "closed"
        messages = ctx.conversations.get_messages(first.id)
        assert [message.role for message in messages] == ["user", "assistant", "user"]
        answer = ctx.memory.recall_by_topic(history.space_id, "yellow kitchen")
        best = list_memories(answer, history.turn_of, TextTokens(WORDS))[0]
        assert best.turns == ("g/2:2",)
        assert best.tokens > 0
        # Theo speaks first in the second session, so he is its user and Mira the other one.
        assert [message.role for message in ctx.conversations.get_messages(second.id)] == ["user", "assistant"]


def test_a_question_is_asked_before_the_session_that_it_names(tmp_path: Path) -> None:
    data = a_set("RealMem")
    data["sessions"]["s2"] = {
        "date": "2024-02-05T10:00:00Z",
        "turns": [{"id": "t3", "speaker": "Ada", "text": "The dog is called Bello, we call the dog Bello."}],
    }
    data["corpora"]["c"].append("s2")
    later = a_query() | {"id": "q2", "gold": ["t3"], "gold_sessions": ["s2"]}
    data["queries"] = [later, later | {"id": "q3", "before": "s2"}]
    write(tmp_path, "small.json", data)
    results = measure_recall(tmp_path, EvaluationSetup.from_embedder(CheckedEmbedder(WordVectors()), WORDS, quiet))
    for name, groups in results["datasets"]["RealMem"]["retrievers"].items():
        # What is said later cannot be found by the second question, and everything is by the first.
        assert groups["ALL"]["R@50"]["mean"] == 0.5, name


def test_questions_of_other_histories_have_no_evidence_in_this_one() -> None:
    (garden,) = read_datasets(TINY)
    chosen = choose_foreign_questions(garden)
    # The adversarial one is not among them.
    assert {corpus: [each.id for each in questions] for corpus, questions in chosen.items()} == {
        "g": ["q4"],
        "h": ["q1", "q2"],
    }
    assert sum(map(len, choose_foreign_questions(garden, most=2).values())) == 2


def test_confidence_is_measured_for_questions_with_and_without_an_answer(tmp_path: Path) -> None:
    data = a_set()
    data["queries"].append(a_query("adversarial") | {"id": "q2", "text": "What is the name of the parrot?"})
    data["unanswerable"] = [a_query("abstention") | {"id": "u1", "text": "Zithers?"}]
    write(tmp_path, "small.json", data)
    results = measure_recall(tmp_path, EvaluationSetup.from_embedder(CheckedEmbedder(WordVectors()), WORDS, quiet))
    small = results["datasets"]["Small talk"]
    assert set(small["calibration"]) == {"ALL", "adversarial", "single-hop"}
    assert 0 <= small["calibration"]["ALL"]["calibration error"] <= 1
    assert small["known"]["adversarial questions"]["questions"] == 1
    assert small["known"]["unanswerable questions"]["AUC"] == 1.0
    assert "questions of other histories" not in small["known"], "there is no other history"


def test_only_the_chosen_sets_are_measured() -> None:
    setup = EvaluationSetup.from_embedder(None, WORDS, quiet)
    assert list(measure_recall(TINY, setup, Selection(("garden",)))["datasets"]) == ["Garden talk"]
    assert measure_recall(TINY, setup, Selection(("updates",)))["datasets"] == {}
    with pytest.raises(longmind.InvalidInput, match="There is no set 'LoCoMo'") as refused:
        measure_recall(TINY, setup, Selection(("LoCoMo",)))
    assert refused.value.hint == "Choose from Garden talk, updates, notes."


def test_what_is_around_a_turn_keeps_its_place_when_there_is_nothing() -> None:
    (garden,) = read_datasets(TINY)
    first, second, third = prepare_turns(garden.corpora["g"][0])
    assert first.around == ("", second.turn.text, "", third.turn.text)
    assert second.around == (first.turn.text, third.turn.text, "", "")
    assert third.around == (second.turn.text, "", first.turn.text, "")


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(longmind.InvalidInput, match="no conversations with questions"):
        measure_recall(tmp_path, EvaluationSetup.from_embedder(None, WORDS, quiet))


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(longmind.InvalidInput, match=r"broken\.json"):
        measure_recall(tmp_path, EvaluationSetup.from_embedder(None, WORDS, quiet))
