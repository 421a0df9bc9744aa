"""The benchmark of the reader: what it makes of labels and atoms, on two made-up users and without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reader.__main__ import main
from benchmarks.reader.label_model import LabelledExtractor
from benchmarks.reader.labelled_sets import (
    UNLABELLED,
    LabelledSet,
    find_setting,
    label_real_sessions,
    label_user,
    read_sets,
)
from benchmarks.reader.labelled_users import remember
from benchmarks.reader.reader_report import show
from benchmarks.reader.reader_scores import FIGURES, PER_LABELLED, divide, draw_intervals, load_scorer, score_set
from benchmarks.reader.reading_cost import make_long_text, to_source_messages
from longmind.errors import InvalidInput
from training.reader.conversations import parse_user

# As small as a scorer can be: an atom is right if it is the text of a fact of a message that it cites.
SCORER = """
FIGURES = {figures}

def words(text):
    return text.lower().rstrip(".").split()

def stem(word):
    return word

def score(gold, system):
    counts = dict.fromkeys([each for pair in FIGURES.values() for each in pair], 0)
    for user in gold:
        facts, messages = {{}}, 0
        for place, conversation in enumerate(user["conversations"]):
            for number, message in enumerate(conversation["messages"]):
                messages += 1
                facts.update({{(f"{{place}}#{{number}}", fact["text"]): fact for fact in message["facts"]}})
        atoms = system[user["user"]]["atoms"]
        right = [facts[key] for atom in atoms for key in facts if key == (atom["sources"][0], atom["text"])]
        counts["messages"] += messages
        counts["atoms"] += len(atoms)
        counts["right"] += len(right)
        counts["facts"] += len(facts)
        counts["found"] += len(right)
        counts["ended"] += sum(atom["ended"] for atom in atoms)
        counts["changes"] += sum(bool(fact.get("changes")) for fact in facts.values())
    share = lambda part, whole: round(counts[part] / counts[whole], 3) if counts[whole] else None
    return {{"counts": counts, **{{name: share(*pair) for name, pair in FIGURES.items()}}}}
"""


def a_fact(text: str, **more: Any) -> dict[str, Any]:
    return {
        "text": text,
        "subject": "user",
        "kind": "FACT",
        "category": "home",
        "importance": 4,
        "certainty": 1,
        **more,
    }


def a_message(text: str, *facts: dict[str, Any], nothing: str | None = None, role: str = "user") -> dict[str, Any]:
    return {"role": role, "text": text, "facts": list(facts), "nothing": nothing}


VIENNA = a_fact("User lives in Vienna.", attribute="home", value="Vienna")
GRAZ = a_fact("User lives in Graz.", attribute="home", value="Graz", changes="replaces", of="User lives in Vienna.")
ANNA: dict[str, Any] = {
    "user": "anna",
    "setting": "coding (agent of a terminal)",
    "conversations": [
        {
            "at": "2026-01-05T09:00:00Z",
            "messages": [
                a_message("I live in Vienna.", VIENNA),
                a_message("Noted!", nothing="assistant", role="assistant"),
                a_message("Thanks!", nothing="small_talk"),
            ],
        },
        {"at": "2026-03-05T09:00:00Z", "messages": [a_message("We have moved to Graz.", GRAZ)]},
    ],
    "questions": [{"question": "Where does the user live?", "must": ["Graz"], "must_not": ["Vienna"]}],
}
BEN: dict[str, Any] = {
    "user": "ben",
    "setting": "travel",
    "conversations": [
        {
            "at": "2026-02-01T09:00:00Z",
            "messages": [
                a_message("I once lived in Rome.", nothing=UNLABELLED),
                a_message("What time is it?", nothing="question"),
            ],
        }
    ],
}


def an_atom(text: str, *sources: str) -> dict[str, Any]:
    return {"text": text, "kind": "FACT", "importance": 4, "sources": list(sources), "ended": False}


@pytest.fixture
def scorer(tmp_path: Path) -> Any:
    (tmp_path / "score_reader.py").write_text(SCORER.format(figures=FIGURES), "utf-8")
    return load_scorer(tmp_path)


def test_labels_meet_the_messages_that_they_are_of() -> None:
    written = parse_user("#user w9-01\n#setting pets\n#at 2026-01-01T10:00\nU: My dog is Rex.\nA: Nice!\nU: Bye\n")
    labels = {"w9-01/0#0": {"facts": [a_fact("User has a dog, Rex.")], "file": "written-9"}}
    [conversation] = label_user(written, labels)["conversations"]
    assert [len(message["facts"]) for message in conversation["messages"]] == [1, 0, 0]
    assert [message["nothing"] for message in conversation["messages"]] == [None, "assistant", UNLABELLED]


def test_a_real_session_of_the_test_split_is_a_user_with_one_conversation() -> None:
    turns = [{"speaker": "user", "text": "Hi"}, {"speaker": "assistant", "text": "Hello!"}]
    sessions = {
        "s1": {"date": "2023/02/11 (Sat) 19:11", "turns": turns},
        "s2": {"date": "", "turns": [{"speaker": "user", "text": "Bye"}]},
    }
    labels = {
        "s1#0": {"facts": [], "nothing": "small_talk", "file": "real-5"},
        "s2#0": {"facts": [], "nothing": "question", "file": "real-0"},
    }
    [user] = label_real_sessions(sessions, labels)
    assert user["conversations"][0]["at"] == "2023-02-11T19:11:00+00:00"
    assert [message["nothing"] for message in user["conversations"][0]["messages"]] == ["small_talk", UNLABELLED]


def test_a_session_that_training_has_seen_under_another_name_is_left_out() -> None:
    session = {"date": "2023/02/11 (Sat) 19:11", "turns": [{"speaker": "user", "text": "I live in Vienna."}]}
    labels = {name: {"facts": [VIENNA], "file": file} for name, file in (("s1#0", "real-5"), ("s2#0", "real-0"))}
    assert label_real_sessions({"s1": session, "s2": session}, labels) == []


@pytest.mark.parametrize(
    ("setting", "short"),
    [("game development (coding)", "coding"), ("HR, an employee asking", "HR"), ("support (shops)", "support")],
)
def test_like_settings_are_one(setting: str, short: str) -> None:
    assert find_setting({"setting": setting}) == short


def test_atoms_of_unlabelled_messages_do_not_count(scorer: Any) -> None:
    system = {
        "anna": {"atoms": [an_atom("User lives in Vienna.", "0#0"), an_atom("User says thanks.", "0#2")]},
        "ben": {"atoms": [an_atom("User lived in Rome.", "0#0"), an_atom("User asks the time.", "0#0", "0#1")]},
    }
    scored = score_set(LabelledSet("tiny", [ANNA, BEN]), system, scorer)
    assert scored["counts"]["atoms"] == 3
    assert scored["figures"]["precision"] == pytest.approx(1 / 3, abs=0.001)
    assert scored[PER_LABELLED] == 0.6
    assert scored["nothing"]["question"] == {"messages": 1, "with an atom": 1, "share": 1.0}
    assert scored["nothing"]["assistant"]["with an atom"] == 0
    assert list(scored["settings"]) == ["coding", "travel"]
    assert scored["settings"]["coding"]["precision"] == 0.5
    low, high = scored["intervals"]["precision"]
    assert (low, high) == (0.0, 0.5)
    assert {goal["figure"]: goal["met"] for goal in scored["goals"]}["precision"] == "missed"


def test_atoms_are_not_compared_with_messages_that_are_only_context(scorer: Any) -> None:
    system: dict[str, Any] = {"ben": {"atoms": []}}
    scored = score_set(LabelledSet("tiny", [BEN], by_message=True), system, scorer)
    assert scored["settings"] == {}
    assert {goal["figure"]: goal["met"] for goal in scored["goals"]}["atoms per message"] is None


def test_intervals_are_the_same_in_every_run_and_leave_out_what_cannot_be_divided() -> None:
    users = [{each: number for pair in FIGURES.values() for each in pair} | {"ended": 0} for number in (1, 2)]
    assert draw_intervals(users) == draw_intervals(users)
    assert draw_intervals(users)["endings that are wrong"] is None
    assert divide(users[0], "precision") == 1.0


def test_a_scorer_with_other_figures_is_refused(tmp_path: Path) -> None:
    (tmp_path / "score_reader.py").write_text(SCORER.format(figures={**FIGURES, "new": ("right", "facts")}), "utf-8")
    with pytest.raises(InvalidInput, match="computes new in another way"):
        score_set(LabelledSet("tiny", [ANNA]), {"anna": {"atoms": []}}, load_scorer(tmp_path))


def test_a_model_that_answers_with_the_labels_teaches_all_facts(scorer: Any) -> None:
    extractor = LabelledExtractor([ANNA], scorer)
    system = remember("longmind", [ANNA], extractor=extractor, embedder=None)
    ended = {atom["text"]: atom["ended"] for atom in system["anna"]["atoms"]}
    assert ended == {"User lives in Vienna.": True, "User lives in Graz.": False}
    [context] = system["anna"]["contexts"]
    assert "Graz" in context
    scored = score_set(LabelledSet("tiny", [ANNA]), system, scorer)
    assert scored["figures"]["precision"] == 1.0


def test_every_result_can_be_shown(scorer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    system = {"anna": {"atoms": [an_atom("User lives in Vienna.", "0#0")]}}
    scored = score_set(LabelledSet("tiny", [ANNA]), system, scorer)
    growth = {"sizes": [{"characters": 10, "milliseconds per kB": 1.5}], "ratio": 1.0}
    cost = {"speed": {"messages per second": 7}, "passes": {"pieces": 3}, "growth": growth}
    show({"sets": {"tiny": {"reader": scored, "other": scored}}, "dates": {"right day": 1.0}, "cost": cost})
    printed = capsys.readouterr().out
    for part in (*FIGURES, PER_LABELLED, "coding", "small_talk", "right day", "longest to shortest: 1.0"):
        assert part in printed


def test_long_texts_have_distinct_names_and_dates() -> None:
    text = make_long_text(10_000)
    assert len(text) == 10_000
    dates = [sentence for sentence in text.split(". ") if " is on " in sentence]
    assert len(dates) == len(set(dates)) > 20


def test_labelled_conversations_are_read_as_messages() -> None:
    messages = to_source_messages(ANNA["conversations"][0])
    assert [message.role for message in messages] == ["user", "assistant", "user"]


def test_a_folder_without_the_shared_data_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "There is no score_reader.py" in told
    assert "--data" in told
    with pytest.raises(InvalidInput, match=r"There is no reader-conversations-dev\.json"):
        read_sets(tmp_path)


def test_shared_sets_are_read_from_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, users in (("conversations", [ANNA]), ("longmemeval", [BEN])):
        (tmp_path / f"reader-{name}-dev.json").write_text(json.dumps(users), "utf-8")
    (tmp_path / "longmemeval-text.json").write_text(json.dumps({"sessions": {}}), "utf-8")
    monkeypatch.setattr("benchmarks.reader.labelled_sets.read_labels", dict)
    own, conversations, messages, real = read_sets(tmp_path)
    assert len(own.users) == 16
    assert (conversations.users, conversations.by_message) == ([ANNA], False)
    assert (messages.users, messages.by_message) == ([BEN], True)
    assert real.users == []
