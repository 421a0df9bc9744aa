"""Turns that some process is running now, each of which may still get rows of its answer.

A row is alive as long as rows of the answer keep coming. A summary leaves out what is still running.
"""

from __future__ import annotations

from longmind.clock import Micros
from longmind.store.database import Transaction

_GIVEN_UP_AFTER: Micros = 3600 * 1_000_000
"""Time without a row after which a turn is no longer waited for: its process is gone, or its tool never ends."""


def list_running(run: Transaction, conversation_id: str, now: Micros) -> set[str]:
    """Return the turns of a conversation that are being run."""
    # The process of an older run is gone, and cannot end it any more.
    rows = run.all("running_since", conversation_id=conversation_id, since=now - _GIVEN_UP_AFTER)
    return {turn_id for (turn_id,) in rows}


def keep_alive(run: Transaction, conversation_id: str, run_id: str, turn_id: str, now: Micros) -> None:
    """Note that a run of a turn begins, or that it has just got a row."""
    run.send("keep_turn_alive", conversation_id=conversation_id, id=run_id, turn_id=turn_id, now=now)


def end(run: Transaction, conversation_id: str, run_id: str) -> None:
    """End a run of a turn, whether it was answered or not: no more rows come from it."""
    run.send("end_running_turn", conversation_id=conversation_id, id=run_id)


def end_old(run: Transaction, conversation_id: str, now: Micros) -> None:
    """End the runs whose processes are gone."""
    run.send("end_old_running_turns", conversation_id=conversation_id, since=now - _GIVEN_UP_AFTER)
