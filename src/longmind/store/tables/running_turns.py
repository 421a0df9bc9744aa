"""Units of work on a turn that is run: the user's message first, then each row of the answer as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from longmind.clock import Micros
from longmind.errors import ConversationClosed
from longmind.models.message import Message
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables.conversations import (
    NewMessage,
    insert,
    let_settle,
    message_of_key,
    take_place,
    take_place_for_answer,
)
from longmind.store.triggers.extraction import on_answer
from longmind.store.triggers.rolling_summary import on_appended

_GIVEN_UP_AFTER: Micros = 3600 * 1_000_000
"""A turn that has got no row for so long is no longer waited for: its process is gone, or its tool never ends."""


def running(run: Transaction, conversation_id: str, now: Micros) -> set[str]:
    """The turns that somebody is running, each of which may still get the rest of its answer."""
    rows = run.all("running_since", conversation_id=conversation_id, since=now - _GIVEN_UP_AFTER)
    return {turn_id for (turn_id,) in rows}


def end_turn(run: Transaction, conversation_id: str, run_id: str) -> None:
    """Nothing more comes from this run of a turn, whether it was answered or not."""
    run.send("end_running_turn", conversation_id=conversation_id, id=run_id)


def begin_turn(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    run_id: str,
    user: NewMessage,
    beside: Sequence[NewMessage],
    now: Micros,
    job_attempts: int,
    summary_turns: int,
) -> list[Message]:
    """Append the user's message, or find the one that came with the same key; a closed conversation takes neither.

    What stands beside the message is appended with it, and not again when the message was there.
    """
    rows = _asked(run, scope, conversation_id, user, beside, now, job_attempts, summary_turns)
    run.send("end_old_running_turns", conversation_id=conversation_id, since=now - _GIVEN_UP_AFTER)
    run.send("keep_turn_alive", conversation_id=conversation_id, id=run_id, turn_id=rows[0].turn_id, now=now)
    return rows


def _asked(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    user: NewMessage,
    beside: Sequence[NewMessage],
    now: Micros,
    job_attempts: int,
    summary_turns: int,
) -> list[Message]:
    asked = message_of_key(run, conversation_id, user)
    if asked is None:
        place = take_place(run, conversation_id, 1 + len(beside), now, "user")
        rows = [
            insert(run, scope, replace(place, sequence=place.sequence + number), new)
            for number, new in enumerate((user, *beside))
        ]
        if summary_turns:
            on_appended(run, scope, rows[0], place.unsummarised, summary_turns, now, job_attempts)
        let_settle(run, scope, place, now, job_attempts)
        return rows
    status = run.one("conversation_status", conversation_id=conversation_id)
    if status is None or status[0] != "open":
        raise ConversationClosed(conversation_id)
    return [asked]


def append_to_turn(
    run: Transaction,
    scope: Scope,
    run_id: str,
    asked: Message,
    attempt: int | None,
    new: NewMessage,
    now: Micros,
    job_attempts: int,
    summary_turns: int,
    *,
    ends: bool,
) -> Message:
    """Append a row to the answer of a user's message, whatever else has come into the conversation since.

    The first row of an answer has no attempt yet and is given the next: of two that answer the same message at the same
    time, each has its own. The turn counts as answered with its last row, so that no extraction reads half of it.
    """
    if attempt is None:
        run.one("lock_conversation", conversation_id=asked.conversation_id)
    place = take_place_for_answer(run, asked, now, role=new.role, attempt=attempt)
    message = insert(run, scope, place, new)
    if ends:
        end_turn(run, asked.conversation_id, run_id)
    else:
        run.send("keep_turn_alive", conversation_id=asked.conversation_id, id=run_id, turn_id=asked.turn_id, now=now)
    if ends and place.counted:
        on_answer(run, scope, asked.conversation_id, place.namespace, message.sequence, now, job_attempts)
    if ends and summary_turns:
        on_appended(run, scope, message, place.unsummarised, summary_turns, now, job_attempts)
    let_settle(run, scope, place, now, job_attempts)
    return message
