"""Conversations and their messages, as the journal promises them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from longmind import Message
from prove.kills.checker.era import Era, times_wrong
from prove.kills.checker.observation import Observation, mark_of
from prove.kills.journal import Entry
from prove.kills.steps.conversations import BOUND

_SAYS = {"message": "said", "answer": "answered"}
"""The word after the token at the beginning of each operation's row."""
_RUN = {"run": ["assistant", "tool", "assistant"], "run_served": ["assistant"]}
"""The roles of the rows of an answer: of a run with a tool, and of a run by a server."""


def wrong_conversations(era: Era, seen: Observation) -> Iterator[str]:
    titles = Counter(each.title for each in seen.conversations)
    by_id = {each.id: each for each in seen.conversations}
    for entry in era.select("create"):
        yield from times_wrong(entry, "the conversation", titles[f"{era.user}n{entry.number}"])
        if entry.answer and entry.answer["id"] not in by_id:
            yield f"conversation {entry.answer['id']} of create {entry.number} is not there"
    yield from _wrong_closes(era, seen)
    for conversation in seen.conversations:
        rows = seen.messages[conversation.id]
        if [row.sequence for row in rows] != list(range(1, conversation.message_count + 1)):
            yield f"conversation {conversation.id} has gaps: {[row.sequence for row in rows]}"


def _wrong_closes(era: Era, seen: Observation) -> Iterator[str]:
    closes: dict[str, set[str]] = defaultdict(set)
    for entry in era.select("close"):
        closes[entry.given["conversation_id"]].add(entry.state)
    for conversation in seen.conversations:
        states = closes[conversation.id]
        if conversation.status == "open" and "done" in states:
            yield f"conversation {conversation.id} was closed and is open"
        if conversation.status == "closed" and not states & {"done", "lost"}:
            yield f"conversation {conversation.id} is closed and nobody has closed it"


def wrong_messages(era: Era, seen: Observation) -> Iterator[str]:
    rows: dict[int, list[Message]] = defaultdict(list)
    for conversation in seen.messages.values():
        for row in conversation:
            number = _number(era, row)
            if number is None:
                yield f"message {row.id} is of nobody: {row.text!r}"
            else:
                rows[number].append(row)
    for entry in era.select(*_WRONG):
        found = rows[entry.number]
        yield from _WRONG[entry.operation](entry, found)
        if any(row.conversation_id != entry.given["conversation_id"] for row in found):
            yield f"rows of {entry.operation} {entry.number} are in another conversation"


def _number(era: Era, row: Message) -> int | None:
    # A call of a tool and its result have no words, and are known by the id of the call.
    calls = [row.tool_use_id or "", *(getattr(block, "id", "") for block in row.content)]
    marks = [mark for text in (row.text, *(call.replace("-", " ") for call in calls)) if (mark := mark_of(text))]
    mark = marks[0] if marks else None
    return mark.number if mark is not None and era.may_be_there(mark.number) else None


def _wrong_message(entry: Entry, rows: list[Message]) -> Iterator[str]:
    yield from times_wrong(entry, "the row", len(rows))
    if [mark.part for row in rows if (mark := mark_of(row.text))] != [_SAYS[entry.operation]] * len(rows):
        yield f"what {entry.operation} {entry.number} wrote says something else"
    if entry.answer and entry.answer["ids"] != [row.id for row in rows]:
        yield f"the row of {entry.operation} {entry.number} has another id than was answered"


def _wrong_turn(entry: Entry, rows: list[Message]) -> Iterator[str]:
    """Check that the question exists once, its answer after it, and that each retry adds a replacing answer."""
    asked = [row for row in rows if row.role == "user"]
    answers = [row for row in rows if row.role == "assistant"]
    yield from times_wrong(entry, "the question", len(asked))
    if len(asked) + len(answers) != len(rows) or bool(asked) != bool(answers):
        yield f"turn {entry.number} is torn apart: {[row.role for row in rows]}"
    elif asked and (answers[0].sequence, answers[0].turn_id) != (asked[0].sequence + 1, asked[0].turn_id):
        yield f"the answer of turn {entry.number} is not beside its question"
    if [row.attempt for row in answers] != list(range(1, len(answers) + 1)) or len(answers) > entry.tries:
        yield f"turn {entry.number} has the answers {[row.attempt for row in answers]}, of {entry.tries} tries"
    if entry.answer and answers and entry.answer["ids"] != [asked[0].id, answers[-1].id]:
        yield f"the rows of turn {entry.number} have other ids than were answered"


def _wrong_run(entry: Entry, rows: list[Message]) -> Iterator[str]:
    """Check a turn that was run row by row: each try is the beginning of an answer, and an answered one is complete."""
    asked = [row for row in rows if row.role == "user"]
    yield from times_wrong(entry, "the question", len(asked))
    attempts: dict[int, list[Message]] = defaultdict(list)
    for row in rows:
        if row.role != "user":
            attempts[row.attempt].append(row)
    answers = [[row.role for row in sorted(each, key=lambda row: row.sequence)] for each in attempts.values()]
    whole = _RUN[entry.operation]
    if any(answer != whole[: len(answer)] for answer in answers):
        yield f"an answer to run {entry.number} is not the beginning of one: {answers}"
    if len(answers) > entry.tries:
        yield f"run {entry.number} was tried {entry.tries} times and answered {len(answers)} times"
    if entry.answer and entry.answer["status"] != "completed":
        yield f"run {entry.number} has ended as {entry.answer['status']}"
    if entry.answer and whole not in answers:
        yield f"the answer to run {entry.number} is not whole: {answers}"
    there = {row.id for row in rows}
    if entry.answer and not set(entry.answer["ids"]) <= there:
        yield f"rows of run {entry.number} that were answered do not exist"


_WRONG = {
    "message": _wrong_message,
    "answer": _wrong_message,
    "turn": _wrong_turn,
    "run": _wrong_run,
    "run_served": _wrong_run,
}


def wrong_summaries(era: Era, seen: Observation) -> Iterator[str]:
    made: dict[str, list[int]] = defaultdict(list)
    for summary in seen.export["summaries"]:
        made[summary["conversationId"]].append(summary["untilSeq"])
    answered: dict[str, int] = defaultdict(int)
    for entry in era.select("summary"):
        if entry.answer:
            answered[entry.given["conversation_id"]] = max(
                answered[entry.given["conversation_id"]], entry.answer["until"]
            )
    for conversation in seen.conversations:
        until = conversation.rolling_summary_until_seq
        if until != max(made.pop(conversation.id, [0])):
            yield f"conversation {conversation.id} is summarised until {until}, and its versions say otherwise"
        if not answered[conversation.id] <= until <= conversation.message_count:
            yield f"conversation {conversation.id} is summarised until {until}, not from {answered[conversation.id]} on"
    if made:
        yield f"there are summaries of conversations that are not there: {sorted(made)}"


def wrong_extraction(era: Era, seen: Observation) -> Iterator[str]:
    """Check that each remark of the user in a bound conversation is learned once, by its end at the latest."""
    learned: dict[str, list[str]] = defaultdict(list)
    for atom in seen.atoms.get(seen.daily or "", []):
        if atom.extraction_version is not None:
            learned[atom.text].append(",".join(atom.source_message_ids))
    for conversation in seen.conversations:
        if conversation.namespace != BOUND:
            continue
        for row in seen.messages[conversation.id]:
            if row.role != "user":
                continue
            sources = learned.pop(row.text, [])
            if sources not in ([row.id], [] if conversation.status == "open" else [row.id]):
                yield f"message {row.sequence} of {conversation.status} {conversation.id} was learned as {sources}"
    if learned:
        yield f"learned from what nobody has said: {sorted(learned)}"
