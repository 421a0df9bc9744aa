"""Looks at the files beside the tables: the mirror of events in JSON lines, and the bytes of the database itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import longmind
from prove.kills.checker.copies import Copy
from prove.kills.checker.era import Era
from prove.kills.checker.observation import Observation
from prove.kills.journal import History
from prove.kills.processes import mirror_of

_WRITTEN = re.compile(rb"(u\d+)n(\d+) [a-z]")
"""The beginning of a text of the workload, wherever it stands among other bytes."""


def wrong_mirror(
    engine: longmind.Engine,
    folder: Path,
    seen: Mapping[str, Observation],
    possible: Mapping[str, Sequence[Era]],
    copied: Sequence[Copy],
) -> Iterator[str]:
    """What was answered is in the files too, once, and nothing beside the ledger; a rebuild makes both alike."""
    # What a killed rebuild had begun lies hidden beside them: nobody reads it, and the rebuild below has to remove it.
    in_files = _count_mirrored(mirror_of(folder), "[!.]*/**/*.jsonl")
    shown = [*seen.values(), *(copy.seen for copy in copied)]
    in_ledger = {(each.user, id) for each in shown for id in _with_timeline(each)}
    if twice := [id for id, times in in_files.items() if times > 1]:
        yield f"events are twice in the files: {twice[:3]}"
    # Who was killed in an erasure may not have come to the files yet; it is not answered before that.
    unanswered = {user for user, eras in possible.items() if len(eras) > 1}
    unanswered |= {copy.seen.user for copy in copied if len(copy.possible) > 1}
    if left := sorted(each for each in in_files.keys() - in_ledger if each[0] not in unanswered):
        yield f"the files tell of events that are not in the ledger: {left[:3]}"
    for copy in copied:
        missing = [id for id in _with_timeline(copy.seen) if (copy.seen.user, id) not in in_files]
        if missing and copy.seen.user not in unanswered:
            yield f"what was brought in is not in the files: {missing[:3]}"
    for user, eras in possible.items():
        for entry in eras[0].select("event", "events", "chat", "state", "tool_result", "message", "turn"):
            # Who was killed after a commit has not mirrored it; that the row was there is all that a second try finds.
            sure = entry.answer is not None and entry.tries == 1 and user not in unanswered
            answered = entry.answer["ids"] if entry.answer and sure else []
            if missing := [id for id in answered if (user, id) not in in_files]:
                yield f"{user}: what {entry.operation} {entry.number} wrote is not in the files: {missing}"
    engine.rebuild_jsonl()
    if _count_mirrored(mirror_of(folder), "**/*.jsonl") != Counter(in_ledger):
        yield "the files and the ledger differ after a rebuild"


def _count_mirrored(folder: Path, which: str) -> Counter[tuple[str, str]]:
    """How often each event of each user is in the files."""
    lines = (json.loads(line) for file in folder.glob(which) for line in file.read_bytes().splitlines())
    return Counter((line["user_id"], line["event_id"]) for line in lines)


def _with_timeline(seen: Observation) -> Iterator[str]:
    yield from (event["id"] for event in seen.export["events"] if event["timelineId"] is not None)
    yield from (row.id for rows in seen.messages.values() for row in rows)


def wrong_bytes(url: str, histories: Mapping[str, History]) -> Iterator[str]:
    """When an erasure has said that nothing is left on the disk, no file of SQLite's has a word of it."""
    if not url.startswith("sqlite:///"):
        return
    path = url.removeprefix("sqlite:///")
    files = [Path(path + ending) for ending in ("", "-wal", "-journal")]
    found = {each for file in files if file.exists() for each in _WRITTEN.findall(file.read_bytes())}
    numbers: dict[str, set[int]] = {}
    for user, number in found:
        numbers.setdefault(user.decode(), set()).add(int(number))
    for user, history in histories.items():
        if left := sorted(numbers.get(user, set()) & _find_erased(history)):
            yield f"{user}: bytes of {left[:5]} are in the file of the database, and were said to be gone"


def _find_erased(history: History) -> set[int]:
    """The operations before the last erasure that has said so."""
    ends = [
        entry.number for entry in history.entries if entry.operation == "erase" and (entry.answer or {}).get("gone")
    ]
    return {entry.number for entry in history.entries if ends and entry.number < ends[-1]}
