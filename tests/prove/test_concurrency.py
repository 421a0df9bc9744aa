"""A short version of the proof: clients in real processes on each engine, and followers that would be caught."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from longmind.errors import StoreUnavailable
from prove.concurrency import ConcurrencyTally, checks_of
from prove.concurrency.followers import Change, FollowerReport, compare_followers
from prove.concurrency.history import RecordingClient, read_history
from prove.concurrency.objects import KINDS
from prove.concurrency.rounds import KindOutcome, RoundAttack, RoundResult, judge, play_round
from tests.prove.histories import done

CHANGES: list[Change] = [
    (1, "conversation.created", "conv", "c"),
    (2, "message.appended", "conv", "m1"),
    (3, "message.appended", "conv", "m2"),
]


def test_what_sixteen_clients_are_told_can_have_come_from_one_after_another(database_url: str, tmp_path: Path) -> None:
    # By these dice the kill comes early, so that it meets a process that still plays on a slow machine too.
    played = play_round(database_url, tmp_path / "round", RoundAttack(2.0, kills=1), random.Random(7))

    assert {kind: outcome.wrong for kind, outcome in played.judged.items()} == {kind: [] for kind in KINDS}
    assert played.seen.wrong == ""
    assert sum(outcome.operations for outcome in played.judged.values()) > 50
    assert played.seen.changes > 5
    assert played.kills == 1

    # The same history with one answer changed is not explained any more: the first, since what comes before is looked
    # through in every order, and a quick machine has done thousands of things by the last.
    history = [each for each in read_history(tmp_path / "round") if each.key == "block first"]
    read = [place for place, each in enumerate(history) if each.name == "get" and each.known]
    first = min(read, key=lambda place: history[place].called)
    history[first] = replace(history[first], answer=("never said", 1, 1))
    [wrong] = judge("blocks", history).wrong
    assert wrong.startswith("No order explains")


def test_what_a_client_began_is_kept_whether_or_not_it_was_told_the_end(tmp_path: Path) -> None:
    def cut_off() -> None:
        raise StoreUnavailable("The connection is gone.")

    client = RecordingClient("a", tmp_path)
    assert client.do("it", "say", ["k"], lambda: [1, ["x"]]) == [1, ["x"]]
    assert client.do("it", "say", ["l"], cut_off) is None
    client.close()
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b'[9, 12, "it", "sa')

    first, second = read_history(tmp_path)

    assert (first.given, first.answer, first.known) == (("k",), (1, ("x",)), True)
    assert (second.given, second.known) == (("l",), False)
    assert first.called <= (first.returned or 0) <= second.called


def test_followers_that_see_another_order_are_caught() -> None:
    said = [
        done("a", "say", (None, "x"), ("ok", (1, "m1 t", False)), 0, 10),
        done("b", "say", (None, "y"), ("ok", (2, "m2 t", False)), 20, 30),
    ]
    swapped = [CHANGES[0], (2, *CHANGES[2][1:]), (3, *CHANGES[1][1:])]

    assert compare_followers({"a": CHANGES, "killed": CHANGES[:2]}, said).wrong == ""
    assert "saw" in compare_followers({"a": CHANGES, "b": swapped}, said).wrong
    assert "see the second of these first" in compare_followers({"a": swapped, "b": swapped}, said).wrong
    assert "No follower has seen" in compare_followers({"a": CHANGES[:2]}, said).wrong
    assert "out of the order" in compare_followers({"a": [*CHANGES, CHANGES[1]]}, said).wrong


def test_a_round_in_which_nothing_happened_shows_nothing() -> None:
    """Nobody met anybody, nothing was answered, nobody was killed: none of that may count as held."""
    tally = ConcurrencyTally()
    tally.add(RoundResult({kind: KindOutcome(operations=9, unknown=9) for kind in KINDS}, FollowerReport(0)), calm=True)
    assert not any(check.passed for check in checks_of("sqlite", tally))


def test_answers_that_are_missing_in_peace_are_told() -> None:
    tally, quiet = ConcurrencyTally(), {kind: KindOutcome(operations=9, most_at_once=9) for kind in KINDS}
    tally.add(RoundResult(quiet, FollowerReport(1)), calm=True)
    [answered] = [check for check in checks_of("sqlite", tally) if "every operation is answered" in check.claim]
    assert answered.passed
    tally.add(RoundResult({**quiet, "blocks": KindOutcome(operations=9, unknown=1)}, FollowerReport(1)), calm=True)
    [answered] = [check for check in checks_of("sqlite", tally) if "every operation is answered" in check.claim]
    assert (answered.passed, answered.detail) == (False, "1 were not")


@pytest.mark.parametrize(("undecided", "holds"), [(1, True), (2, False)])
def test_few_histories_may_be_too_tangled_to_decide_and_they_are_told(undecided: int, holds: bool) -> None:
    tangled = ["No answer after 9 steps on 9 operations."] * undecided
    tally, outcome = ConcurrencyTally(), KindOutcome(operations=99, objects=20, most_at_once=9, undecided=tangled)
    tally.add(RoundResult({"blocks": outcome}, FollowerReport(1)), calm=True)
    [check] = [check for check in checks_of("sqlite", tally) if "compare-and-set" in check.claim]
    assert (check.passed, check.figures["histories too tangled to decide"]) == (holds, undecided)
