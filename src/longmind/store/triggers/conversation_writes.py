"""Appends to conversations and their closing, each with the jobs that it causes, in one transaction.

The tables write the rows; the triggers next to this module decide which jobs follow. `attempts` is how often such a job
is tried, and `summary_turns` after how many turns a refresh of the rolling summary is queued, 0 for never.
`passages_kind` is the kind of the job that makes vectors of messages, None without an embedder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from longmind.clock import Micros
from longmind.errors import ConversationClosed, NotFound
from longmind.models.conversation import Conversation
from longmind.models.job import Job
from longmind.models.message import AppendedMessages, Message, Turn
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import bindings, conversations, messages, running_turns
from longmind.store.tables.conversations import NewConversation
from longmind.store.tables.messages import MessagePlace, NewMessage
from longmind.store.triggers import extraction_requests, passage_requests, rolling_summary, sleep_time
from longmind.store.triggers.job_policy import JobPolicy

_USUAL = JobPolicy()


class Closing(NamedTuple):
    """A conversation that is closed."""

    conversation: Conversation
    is_unbound: bool = False
    """True if it was closed just now with messages that no binding covers."""


def close(run: Transaction, scope: Scope, conversation_id: str, now: Micros, policy: JobPolicy = _USUAL) -> Closing:
    """Close a conversation and queue the jobs that this causes; one that is closed stays as it is."""
    closing = close_if_stale(run, scope, conversation_id, None, now, policy)
    if closing is not None:
        return closing
    conversation = conversations.get(run, conversation_id)
    if conversation is None:
        raise NotFound("conversation", conversation_id)
    return Closing(conversation)


def close_if_stale(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    stale_before: Micros | None,
    now: Micros,
    policy: JobPolicy = _USUAL,
) -> Closing | None:
    """Close an open conversation, given an instant only if nothing was appended since; None if it was left as it is."""
    closed = conversations.close(run, scope, conversation_id, stale_before, now, policy.sleep_idle)
    # Another process has closed it, or a message came since it was found stale.
    if closed is None:
        return None
    if closed.bound:
        extraction_requests.on_closed(run, scope, closed.conversation, now, policy.attempts)
    if closed.settles_at is not None:
        sleep_time.queue_reading(
            run, scope, conversation_id, closed.conversation.message_count, now, now, policy.attempts
        )
    conversation = closed.conversation
    # Where a binding wants an extraction at the close, one covers it; else that has to be looked up.
    covered = closed.bound or not conversation.message_count or bindings.is_covered(run, scope, conversation.namespace)
    return Closing(conversation, is_unbound=not covered)


def append(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    new: NewMessage,
    now: Micros,
    policy: JobPolicy = _USUAL,
) -> Message:
    """Append one message; with a key that was used before, return the message of that time instead."""
    known = messages.find_by_key(run, conversation_id, new)
    if known:
        if messages.find_next_attempt(run, known) > 1:
            messages.mark_asked_again(run, known)
        return known
    place = messages.take_place(run, conversation_id, 1, now, new.role, policy)
    message = messages.insert(run, scope, place, new)
    _queue_jobs(run, scope, place, message, now, policy, answers=new.role == "assistant")
    return message


def append_all(
    run: Transaction,
    scope: Scope,
    target: str | NewConversation,
    new: Sequence[NewMessage],
    now: Micros,
    policy: JobPolicy,
    *,
    fact_metadata: str | None,
) -> AppendedMessages:
    """Append messages to an open conversation, or to a new one, all of them or none.

    fact_metadata: queue the extraction of the conversation up to the last of them, for each binding that covers it, and
    give the facts this metadata; None queues nothing.
    """
    conversation_id = target if isinstance(target, str) else conversations.create(run, scope, target, now).id
    rows = [append(run, scope, conversation_id, each, now, policy) for each in new]
    conversation = conversations.get(run, conversation_id)
    if conversation is None:
        raise NotFound("conversation", conversation_id)
    jobs: list[Job] = []
    if fact_metadata is not None:
        jobs = extraction_requests.on_asked(run, scope, conversation, fact_metadata, now, policy.attempts)
    return AppendedMessages(conversation=conversation, messages=rows, jobs=jobs)


def append_turn(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    user: NewMessage,
    assistant: NewMessage,
    now: Micros,
    policy: JobPolicy = _USUAL,
) -> Turn:
    """Append a user's message and its answer side by side; on a retry of the user's message only a new answer."""
    question = messages.find_by_key(run, conversation_id, user)
    if question is None:
        # Both rows take their places in one statement.
        place = messages.take_place(run, conversation_id, 2, now, "user", policy)
        question = messages.insert(run, scope, place, user)
        place = replace(place, sequence=place.sequence + 1)
    else:
        place = messages.take_place_for_answer(run, question, now, policy)
    answer = messages.insert(run, scope, place, assistant)
    _queue_jobs(run, scope, place, answer, now, policy, answers=True)
    return Turn(turn_id=question.turn_id, user_message=question, assistant_message=answer)


def begin_turn(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    run_id: str,
    user: NewMessage,
    companions: Sequence[NewMessage],
    now: Micros,
    policy: JobPolicy,
) -> list[Message]:
    """Append a user's message and its companions, or find the one that came with the same key, and begin to run it.

    Companions are appended after the message, and not again when the message was there. A closed conversation takes
    neither a new message nor a retry.
    """
    rows = _append_question(run, scope, conversation_id, user, companions, now, policy)
    running_turns.end_old(run, conversation_id, now)
    running_turns.keep_alive(run, conversation_id, run_id, rows[0].turn_id, now)
    return rows


def append_to_turn(
    run: Transaction,
    scope: Scope,
    run_id: str,
    question: Message,
    attempt: int | None,
    new: NewMessage,
    now: Micros,
    policy: JobPolicy,
    *,
    ends: bool,
) -> Message:
    """Append a row to the answer of a user's message, whatever else has come into the conversation since.

    The first row of an answer has no attempt yet and is given the next: of two that answer the same message at the same
    time, each has its own. The turn counts as answered with its last row, so that no extraction reads half of it.
    """
    # Held before the next attempt is counted, so that two answers at once get different ones.
    if attempt is None:
        conversations.hold(run, question.conversation_id)
    place = messages.take_place_for_answer(run, question, now, policy, role=new.role, attempt=attempt)
    message = messages.insert(run, scope, place, new)
    if ends:
        running_turns.end(run, question.conversation_id, run_id)
    else:
        running_turns.keep_alive(run, question.conversation_id, run_id, question.turn_id, now)
    policy = policy if ends else replace(policy, summary_turns=0)
    _queue_jobs(run, scope, place, message, now, policy, answers=ends)
    return message


def _append_question(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    user: NewMessage,
    companions: Sequence[NewMessage],
    now: Micros,
    policy: JobPolicy,
) -> list[Message]:
    question = messages.find_by_key(run, conversation_id, user)
    if question is None:
        place = messages.take_place(run, conversation_id, 1 + len(companions), now, "user", policy)
        rows = [
            messages.insert(run, scope, replace(place, sequence=place.sequence + number), new)
            for number, new in enumerate((user, *companions))
        ]
        _queue_jobs(run, scope, place, rows[0], now, policy, answers=False)
        return rows
    if conversations.read_status(run, conversation_id) != "open":
        raise ConversationClosed(conversation_id)
    return [question]


def _queue_jobs(
    run: Transaction,
    scope: Scope,
    place: MessagePlace,
    message: Message,
    now: Micros,
    policy: JobPolicy,
    *,
    answers: bool,
) -> None:
    """Queue the jobs that a message causes at its place; `answers` says whether it completes an answer."""
    # The row of the conversation, which was written anyway, has said which triggers can apply at all.
    if answers and place.window:
        extraction_requests.on_answer(
            run, scope, place.conversation_id, place.namespace, message.sequence, now, policy.attempts
        )
    if policy.summary_turns:
        rolling_summary.on_appended(run, scope, message, place.unsummarised, policy.summary_turns, now, policy.attempts)
    if policy.passages_kind is not None and place.window is not None and not place.vectors_awaited:
        passage_requests.request(run, scope, policy.passages_kind, now, policy.attempts)
    if place.settles_at is not None:
        sleep_time.queue_reading(
            run, scope, place.conversation_id, place.sequence, place.settles_at, now, policy.attempts
        )
