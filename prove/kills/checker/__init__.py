"""Check of a database against the journals of its clients.

The checker is independent of how Longmind stores data: it replays the answers in a small model of its own, and compares
the model with the public API of a fresh engine and with the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import longmind
from prove.kills import journal
from prove.kills.checker import access, blocks, conversations, events, memory, sleep_time
from prove.kills.checker.copies import Copy, was_copied, wrong_copies
from prove.kills.checker.database import count_restarted_jobs, wrong_tables
from prove.kills.checker.era import Era, eras
from prove.kills.checker.files import wrong_bytes, wrong_mirror
from prove.kills.checker.observation import Observation
from prove.kills.journal import History
from prove.kills.steps.copies import copy_of

__all__ = ["count_restarted_jobs", "problems"]

_OF_AN_ERA = (
    conversations.wrong_conversations,
    conversations.wrong_messages,
    conversations.wrong_summaries,
    conversations.wrong_extraction,
    memory.wrong_atoms,
    memory.wrong_recall,
    memory.wrong_entities,
    blocks.wrong_blocks,
    blocks.wrong_quotas,
    events.wrong_events,
    events.wrong_jobs,
    events.wrong_distillation,
    sleep_time.wrong_sleep_time,
    sleep_time.wrong_sleep,
    access.wrong_grants,
    access.wrong_keys,
)


def problems(engine: longmind.Engine, folder: Path, users: Sequence[str]) -> Iterator[str]:
    """Yield everything that is wrong. The engine must be a fresh one whose jobs are done."""
    url = engine.settings.url
    histories = {user: journal.read(folder, user) for user in users}
    possible = {user: eras(each, late_commits=not url.startswith("sqlite")) for user, each in histories.items()}
    with longmind.open(url, embedder="none") as words_alone:
        seen = {user: Observation(engine, words_alone, user) for user in users}
        for user in users:
            for problem in _find_user_problems(histories[user], possible[user], seen[user]):
                yield f"{user}: {problem}"
        copied = [
            Copy(history, Observation(engine, words_alone, copy_of(history.user)), folder)
            for history in histories.values()
            if was_copied(history)
        ]
        for copy in copied:
            for problem in wrong_copies(copy):
                yield f"{copy.seen.user}: {problem}"
    yield from _wrong_changes(engine, [*seen.values(), *(copy.seen for copy in copied)])
    yield from wrong_mirror(engine, folder, seen, possible, copied)
    there = {copy.seen.user for copy in copied if copy.possible != {None}}
    yield from wrong_tables(url, possible, {copy_of(user) for user in users} - there)
    yield from wrong_bytes(url, histories)


def _find_user_problems(history: History, possible: Sequence[Era], seen: Observation) -> Iterator[str]:
    """Yield the problems of the era that fits best: an erasure without an answer may have happened or not."""
    found = ([*chain.from_iterable(wrong(era, seen) for wrong in _OF_AN_ERA)] for era in possible)
    yield from min(found, key=len)
    yield from events.wrong_receipts(history, seen)
    yield from events.wrong_archives(history)
    yield from access.wrong_erased_keys(history, seen)


def _wrong_changes(engine: longmind.Engine, seen: Sequence[Observation]) -> Iterator[str]:
    """Check that a follower sees each message once, and nothing that does not exist."""
    reported: list[str] = []
    cursors = []
    for change in engine.follow():
        cursors.append(change.cursor)
        if change.kind == "message.appended":
            reported.append(change.event_id)
    there = [row.id for each in seen for rows in each.messages.values() for row in rows]
    if sorted(reported) != sorted(there):
        yield f"{len(reported)} messages were reported and {len(there)} exist"
    if cursors != sorted(set(cursors)):
        yield "changes are told twice, or not in their order"
