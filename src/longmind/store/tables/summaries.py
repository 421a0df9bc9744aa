"""Rolling summaries: the part of a conversation that is not summarised yet, and the versions that were made.

A summary covers whole turns that are finished. It is replaced only by a version that was made from it, so that of two
refreshes at once one is given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from longmind.clock import Micros
from longmind.errors import NotFound
from longmind.models.content import decode_content, waits_for_tool
from longmind.models.message import Message
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables import messages, running_turns
from longmind.store.tables.ledger import record_change


@dataclass(frozen=True)
class StandingSummary:
    """The newest rolling summary: its text, and the sequence number of the last message that it covers."""

    text: str | None
    until: int


@dataclass(frozen=True)
class Unsummarised:
    """The input of a refresh, as of one read of the database."""

    standing: StandingSummary
    until: int
    """The end of the last finished turn; the end of the standing summary if there is no later one."""
    from_start: bool
    """True if the conversation is summarised from its start: a covered turn was answered again since."""
    messages: Sequence[Message]
    """The messages to summarise: those not covered yet, or all. Hidden ones and earlier answers are left out."""


@dataclass(frozen=True)
class NewSummary:
    """A version of a conversation's rolling summary that is to be stored."""

    text: str
    until: int
    made_by: str


@dataclass(frozen=True)
class _MessageHead:
    """The columns of a message that say whether its turn is finished."""

    sequence: int
    turn_id: str
    stage: str
    attempt: int
    content: str | None


def find_latest(run: Transaction, conversation_id: str, known_at: Micros | None = None) -> StandingSummary:
    """Return the newest rolling summary, given an instant the newest one by then."""
    row = run.one("latest_rolling_summary", conversation_id=conversation_id, known_at=known_at)
    return StandingSummary(row[0], row[1]) if row else StandingSummary(None, 0)


def read_unsummarised(run: Transaction, conversation_id: str, now: Micros) -> Unsummarised:
    """Return the input of a refresh; raise NotFound if there is no such conversation."""
    state = run.one("summary_state", conversation_id=conversation_id)
    if state is None:
        raise NotFound("conversation", conversation_id)
    text, covered, open_turn, next_sequence = state
    # Heads of rows are small, and say how far the messages themselves have to be read.
    rows = run.all(
        "rows_after", conversation_id=conversation_id, after=covered, before=next_sequence, turn_id=open_turn
    )
    lines = [_MessageHead(*row) for row in rows]
    until = _find_end_of_turns(lines, covered, open_turn, running_turns.list_running(run, conversation_id, now))
    from_start = covered > 0 and _has_new_answer([line for line in lines if line.sequence <= until])
    after = 0 if from_start else covered
    found: list[Message] = []
    if until > after:
        found = messages.read_last(
            run,
            conversation_id,
            limit=until - after,
            before=until + 1,
            internal=True,
            hidden=False,
            latest_attempts=True,
        )
    return Unsummarised(
        StandingSummary(text, covered), until, from_start, [message for message in found if message.sequence > after]
    )


def read_every_version(run: Transaction) -> Iterator[Row]:
    """Yield conversation, end, text, maker and instant of each rolling summary. Only inside of `read_snapshot`."""
    return run.each("every_summary")


def replace(
    run: Transaction, scope: Scope, conversation_id: str, standing: StandingSummary, new: NewSummary, now: Micros
) -> bool:
    """Replace a version by the one that was made from it; return False when it is no longer the newest."""
    moved = run.one(
        "move_rolling_summary",
        conversation_id=conversation_id,
        from_sequence=standing.until,
        until_sequence=new.until,
        text=new.text,
    )
    if moved is None:
        return False
    run.send(
        "insert_rolling_summary",
        conversation_id=conversation_id,
        until_sequence=new.until,
        text=new.text,
        made_by=new.made_by,
        now=now,
    )
    record_change(
        run,
        scope,
        "conversation.summarised",
        now,
        conversation_id=conversation_id,
        until_seq=new.until,
        made_by=new.made_by,
    )
    return True


def _find_end_of_turns(
    lines: Sequence[_MessageHead], covered: int, open_turn: str | None, running: AbstractSet[str]
) -> int:
    """Return the sequence number up to which every turn is finished and none is cut in half."""
    unfinished = set(running)
    if not _has_answer([line for line in lines if line.turn_id == open_turn], covered):
        unfinished.add(open_turn or "")
    # A turn that began before the summary's end, and goes on after it, leaves no place to move to.
    first: dict[str, int] = {}
    for line in lines:
        began_before = covered > 0 and line.stage != "user"
        first.setdefault(line.turn_id, covered + 1 if began_before else line.sequence)
    until = lines[-1].sequence if lines else covered
    while True:
        # A turn that is left out in part is left out as a whole, and that may cut another.
        left = [first[line.turn_id] - 1 for line in lines if line.sequence > until or line.turn_id in unfinished]
        if min(left, default=until) >= until:
            return until
        until = min(left)


def _has_answer(own: Sequence[_MessageHead], covered: int) -> bool:
    """Return whether the newest turn has its answer. Earlier ones are finished, unless some process still runs them."""
    answers = [line for line in own if line.stage == "assistant"]
    if not answers:
        # A turn that began before the summary's end was finished then.
        return covered > 0 and not any(line.stage == "user" for line in own)
    newest = max(answers, key=lambda line: (line.attempt, line.sequence))
    return not waits_for_tool(decode_content(newest.content or "[]"))


def _has_new_answer(lines: Sequence[_MessageHead]) -> bool:
    with_question = {line.turn_id for line in lines if line.stage == "user"}
    return any(line.attempt > 1 and line.turn_id not in with_question for line in lines)
