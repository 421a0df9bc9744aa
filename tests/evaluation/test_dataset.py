"""Files that cannot be measured are refused before anything is, with the file and what is wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import longmind
from benchmarks.evaluation.dataset import read_datasets, read_updates
from tests.evaluation.datasets import a_query, a_set, an_update, write

Set = dict[str, Any]


def sessions_in_a_list(data: Set) -> None:
    data["sessions"] = list(data["sessions"].values())


def a_history_without_turns(data: Set) -> None:
    data["corpora"]["d"] = []


def a_history_with_an_empty_session_alone(data: Set) -> None:
    data["sessions"]["s2"] = {"date": "2024-01-06", "turns": []}
    data["corpora"]["d"] = ["s2"]


def a_session_that_is_not_there(data: Set) -> None:
    data["corpora"]["c"] = ["s1", "s9"]


def no_gold(data: Set) -> None:
    data["queries"][0]["gold"] = []


def no_gold_sessions(data: Set) -> None:
    data["queries"][0]["gold_sessions"] = []


def gold_that_is_no_list(data: Set) -> None:
    data["queries"][0]["gold"] = "t1"


def a_history_that_is_not_there(data: Set) -> None:
    data["queries"].append(a_query() | {"id": "q2", "corpus": "elsewhere"})


def a_category_that_is_a_number(data: Set) -> None:
    data["queries"][0]["category"] = 4


def a_turn_that_is_a_text(data: Set) -> None:
    data["sessions"]["s1"]["turns"][1] = "My sister lives in Graz."


def a_session_of_no_known_date(data: Set) -> None:
    data["sessions"]["s1"]["date"] = "5 January 2024"


def a_turn_of_no_known_date(data: Set) -> None:
    data["sessions"]["s1"]["turns"][1]["date"] = "later"


def a_turn_of_the_future(data: Set) -> None:
    data["sessions"]["s1"]["turns"][1]["date"] = "9031-01-05T10:00:00Z"


def a_session_without_a_date(data: Set) -> None:
    del data["sessions"]["s1"]["date"]


def a_question_of_no_known_date(data: Set) -> None:
    data["queries"][0]["date"] = "yesterday"


def a_session_of_another_history_to_ask_before(data: Set) -> None:
    data["queries"][0]["before"] = "s9"


def an_unanswerable_question_of_no_history(data: Set) -> None:
    data["unanswerable"] = [a_query() | {"id": "u1", "corpus": "elsewhere"}]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (sessions_in_a_list, "'sessions' of the set must be an object, not a list."),
        (a_history_without_turns, "corpus 'd' holds no turns."),
        (a_history_with_an_empty_session_alone, "corpus 'd' holds no turns."),
        (a_session_that_is_not_there, "corpus 'c' names session 's9', which is not in the file."),
        (no_gold, "'gold' of query 'q1' is empty."),
        (no_gold_sessions, "'gold_sessions' of query 'q1' is empty."),
        (gold_that_is_no_list, "'gold' of query 'q1' must be a list, not a text."),
        (a_history_that_is_not_there, "query 'q2' asks corpus 'elsewhere', which is not in the file."),
        (a_category_that_is_a_number, "'category' of query 'q1' must be a text, not a number."),
        (a_turn_that_is_a_text, "a turn of session 's1' must be an object, not a text."),
        (
            a_session_of_no_known_date,
            "'date' of turn 't1' of session 's1': '5 January 2024' is not an ISO 8601 instant.",
        ),
        (a_turn_of_no_known_date, "'date' of turn 't2' of session 's1': 'later' is not an ISO 8601 instant."),
        (
            a_turn_of_the_future,
            "turn 't2' of session 's1': created_at must be from 1970 to a day after now",
        ),
        (a_session_without_a_date, "turn 't1' of session 's1' has no 'date'."),
        (a_question_of_no_known_date, "'date' of query 'q1': 'yesterday' is not an ISO 8601 instant."),
        (
            a_session_of_another_history_to_ask_before,
            "query 'q1' is asked before session 's9', which is not in corpus 'c'.",
        ),
        (an_unanswerable_question_of_no_history, "query 'u1' asks corpus 'elsewhere', which is not in the file."),
    ],
)
def test_a_set_that_cannot_be_measured_is_refused_by_its_file_and_what_is_wrong(
    tmp_path: Path, spoil: Callable[[Set], None], told: str
) -> None:
    data = a_set()
    spoil(data)
    with pytest.raises(longmind.InvalidInput) as refused:
        read_datasets(write(tmp_path, "small.json", data))
    assert refused.value.message.startswith(f"{tmp_path / 'small.json'}: {told}")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ([an_update() | {"old": []}], "'old' of update 'Where does my sister live?' is empty."),
        ([an_update() | {"new": []}], "'new' of update 'Where does my sister live?' is empty."),
        ([{"question": "Where?"}], "update 'Where?' has no 'old'."),
        (
            [an_update() | {"old": [{"at": "once", "role": "user", "text": "Graz."}]}],
            "'at' of a statement of update 'Where does my sister live?': 'once' is not an ISO 8601 instant.",
        ),
        (an_update(), "the file must be a list, not an object."),
    ],
)
def test_an_update_that_cannot_be_measured_is_refused_by_its_file_and_what_is_wrong(
    tmp_path: Path, wrong: object, told: str
) -> None:
    with pytest.raises(longmind.InvalidInput) as refused:
        read_updates(write(tmp_path, "updates-small.json", wrong))
    assert refused.value.message == f"{tmp_path / 'updates-small.json'}: {told}"


def test_two_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "one.json", a_set("Small talk"))
    write(tmp_path, "other.json", a_set("Small talk"))
    with pytest.raises(longmind.InvalidInput, match=r"one\.json and .*other\.json are both named 'Small talk'"):
        read_datasets(tmp_path)


def test_a_turn_needs_no_date_of_its_own_and_a_session_none_whose_turns_have_theirs(tmp_path: Path) -> None:
    data = a_set()
    data["sessions"]["s2"] = {
        "turns": [{"id": "t3", "speaker": "Ada", "text": "Bello is ill.", "date": "2024-02-05T10:00:00Z"}]
    }
    data["corpora"]["c"].append("s2")
    (dataset,) = read_datasets(write(tmp_path, "small.json", data))
    said = [turn.at for session in dataset.corpora["c"] for turn in session.turns]
    assert said == ["2024-01-05T10:00:00Z", "2024-01-05T10:00:00Z", "2024-02-05T10:00:00Z"]


def test_questions_without_an_answer_need_no_evidence_and_keep_to_their_histories(tmp_path: Path) -> None:
    data = a_set()
    data["corpora"] = {"other": ["s1"], **data["corpora"]}
    data["queries"][0]["before"] = "s1"
    unanswerable = {key: value for key, value in a_query("abstention").items() if not key.startswith("gold")}
    data["unanswerable"] = [unanswerable | {"id": "u1"}, unanswerable | {"id": "u2", "corpus": "other"}]
    (dataset,) = read_datasets(write(tmp_path, "small.json", data))
    assert dataset.questions[0].before == "s1"
    assert [(each.id, each.before, each.gold) for each in dataset.unanswerable] == [
        ("u1", None, frozenset()),
        ("u2", None, frozenset()),
    ]
    assert [each.id for each in dataset.limit(1).unanswerable] == ["u2"]
    assert dataset.limit(1).questions == ()
