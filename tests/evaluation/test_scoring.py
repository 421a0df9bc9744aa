"""The scorer against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from benchmarks.evaluation.dataset import Question
from benchmarks.evaluation.scoring import ALL, Memory, compute_share, score_question, summarise

SESSION_OF = {"a": "s1", "b": "s1", "c": "s2", "d": "s3", "e": "s4", "f": "s5", "g": "s6"}


def question(category: str = "single-hop", *, gold: str, sessions: str = "s1") -> Question:
    return Question("q", "u", "2024-01-01", category, "?", "", frozenset(gold), frozenset(sessions.split()))


def ranked(*memories: tuple[str, int]) -> list[Memory]:
    return [Memory(tuple(turns), tokens) for turns, tokens in memories]


def test_a_gold_turn_in_the_second_place_counts_as_found_and_half_as_gained() -> None:
    row = score_question(question(gold="b"), ranked(("c", 10), ("b", 20), ("d", 30)), SESSION_OF)
    assert (row["R@5"], row["any@5"], row["all@5"]) == (1.0, 1.0, 1.0)
    assert row["NDCG@10"] == pytest.approx(1 / math.log2(3))
    assert row["tokens to cover"] == 30


def test_recall_is_the_share_of_gold_turns_and_all_needs_every_one() -> None:
    row = score_question(question(gold="ag", sessions="s1 s6"), ranked(("a", 1), *[("c", 1)] * 4, ("g", 1)), SESSION_OF)
    assert (row["R@5"], row["any@5"], row["all@5"]) == (0.5, 1.0, 0.0)
    assert (row["R@10"], row["all@10"]) == (1.0, 1.0)
    # Gains at the places 1 and 6, against an ideal list with both in front.
    assert row["NDCG@10"] == pytest.approx((1 + 1 / math.log2(7)) / (1 + 1 / math.log2(3)))


def test_a_memory_that_cites_two_turns_covers_both_and_takes_one_place() -> None:
    row = score_question(question(gold="ab"), ranked(("ab", 5)), SESSION_OF)
    assert (row["R@5"], row["all@5"], row["tokens to cover"]) == (1.0, 1.0, 5)
    assert row["NDCG@10"] == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_sessions_are_ranked_by_their_first_turn() -> None:
    memories = ranked(("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("f", 1), ("g", 1))
    # s1 holds the first two places of the turns and one of the sessions, so s5 is the fifth session and s6 the sixth.
    assert score_question(question(gold="f", sessions="s5"), memories, SESSION_OF)["session R@5"] == 1.0
    assert score_question(question(gold="g", sessions="s6"), memories, SESSION_OF)["session R@5"] == 0.0


def test_what_does_not_fit_into_a_thousand_tokens_is_not_covered() -> None:
    row = score_question(question(gold="ad"), ranked(("a", 600), ("c", 400), ("d", 1)), SESSION_OF)
    assert row["covered in 1000 tokens"] == 0.5
    assert row["tokens to cover"] == 1001


def test_what_is_not_in_the_list_is_never_covered() -> None:
    row = score_question(question(gold="g", sessions="s6"), ranked(("a", 1)), SESSION_OF)
    assert (row["R@50"], row["NDCG@10"], row["session R@5"]) == (0.0, 0.0, 0.0)
    assert row["tokens to cover"] == math.inf


def test_the_whole_leaves_questions_without_an_answer_out() -> None:
    asked = [question(gold="a"), question(gold="g"), question("adversarial", gold="g")]
    rows = [score_question(each, ranked(("a", 7)), SESSION_OF) for each in asked]
    summary = summarise(asked, rows)
    assert list(summary) == [ALL, "adversarial", "single-hop"]
    assert summary[ALL]["questions"] == 2
    assert summary[ALL]["R@5"]["mean"] == 0.5
    # Two questions, one found: half of the samples drawn from them are mixed, a quarter is all or nothing.
    assert summary[ALL]["R@5"]["interval"] == [0.0, 1.0]
    assert summary["adversarial"]["R@5"] == {"mean": 0.0, "interval": [0.0, 0.0]}
    # For nine in ten questions no number of tokens is enough.
    assert summary[ALL]["tokens to cover"] == {"median": 7, "p90": None, "never covered": 0.5}


def test_intervals_are_the_same_in_every_run_and_hold_the_mean() -> None:
    asked = [question(gold="a" if number % 3 else "g") for number in range(60)]
    rows = [score_question(each, ranked(("a", 1)), SESSION_OF) for each in asked]
    low, high = summarise(asked, rows)[ALL]["R@5"]["interval"]
    assert summarise(asked, rows)[ALL]["R@5"]["interval"] == [low, high]
    # The deviation of a share of 2/3 over 60 questions is 0.061; the interval is about twice that to each side.
    assert low == pytest.approx(2 / 3 - 0.12, abs=0.03)
    assert high == pytest.approx(2 / 3 + 0.12, abs=0.03)


def test_tokens_that_are_enough_for_nine_in_ten_questions_are_those_of_the_ninth() -> None:
    asked = [question(gold="a") for _ in range(9)]
    rows = [score_question(each, ranked(("a", tokens)), SESSION_OF) for tokens, each in enumerate(asked, 1)]
    # Of nine, eight would be too few.
    assert summarise(asked, rows)[ALL]["tokens to cover"] == {"median": 5, "p90": 9, "never covered": 0.0}
    tenth = question(gold="g")
    asked, rows = [*asked, tenth], [*rows, score_question(tenth, ranked(("a", 1)), SESSION_OF)]
    assert summarise(asked, rows)[ALL]["tokens to cover"] == {"median": 5, "p90": 9, "never covered": 0.1}


def test_a_share_of_few_that_are_all_right_is_not_certain() -> None:
    # After Wilson: 34 / (34 + 1.96 ** 2), and for one half the same to both sides.
    assert compute_share([True] * 34) == {"mean": 1.0, "interval": [0.8985, 1.0]}
    assert compute_share([True, False] * 5) == {"mean": 0.5, "interval": [0.2366, 0.7634]}
    assert compute_share([False] * 34) == {"mean": 0.0, "interval": [0.0, 0.1015]}
