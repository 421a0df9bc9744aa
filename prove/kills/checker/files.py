"""Check of the files: the mirror of events in JSON lines, and the bytes of the database itself."""

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
    """Check that the files hold every answered event once and nothing else, and equal the ledger after a rebuild."""
    # The hidden remains of a killed rebuild are not read, and the rebuild below has to remove them.
    in_files = _count_mirrored(mirror_of(folder), "[!.]*/**/*.jsonl")
    shown = [*seen.values(), *(copy.seen for copy in copied)]
    in_ledger = {(each.user, id) for each in shown for id in _with_timeline(each)}
    if twice := [id for id, times in in_files.items() if times > 1]:
        yield f"events are twice in the files: {twice[:3]}"
    # A process that was killed in an erasure may not have reached the files; it answers only after that.
    unanswered = {user for user, eras in possible.items() if len(eras) > 1}
    unanswered |= {copy.seen.user for copy in copied if len(copy.possible) > 1}
    if left := sorted(each for each in in_files.keys() - in_ledger if each[0] not in unanswered):
        yield f"the files hold events that are not in the ledger: {left[:3]}"
    for copy in copied:
        missing = [id for id in _with_timeline(copy.seen) if (copy.seen.user, id) not in in_files]
        if missing and copy.seen.user not in unanswered:
            yield f"what was brought in is not in the files: {missing[:3]}"
    for user, eras in possible.items():
        for entry in eras[0].select("event", "events", "chat", "state", "tool_result", "message", "turn"):
            # A process killed after a commit did not mirror it, and a second try only finds that the row exists.
            sure = entry.answer is not None and entry.tries == 1 and user not in unanswered
            answered = entry.answer["ids"] if entry.answer and sure else []
            if missing := [id for id in answered if (user, id) not in in_files]:
                yield f"{user}: what {entry.operation} {entry.number} wrote is not in the files: {missing}"
    engine.rebuild_jsonl()
    if _count_mirrored(mirror_of(folder), "**/*.jsonl") != Counter(in_ledger):
        yield "the files and the ledger differ after a rebuild"


def _count_mirrored(folder: Path, which: str) -> Counter[tuple[str, str]]:
    """Return how often each event of each user is in the files."""
    lines = (json.loads(line) for file in folder.glob(which) for line in file.read_bytes().splitlines())
    return Counter((line["user_id"], line["event_id"]) for line in lines)


def _with_timeline(seen: Observation) -> Iterator[str]:
    yield from (event["id"] for event in seen.export["events"] if event["timelineId"] is not None)
    yield from (row.id for rows in seen.messages.values() for row in rows)


def wrong_bytes(url: str, histories: Mapping[str, History]) -> Iterator[str]:
    """Check that the files of SQLite hold no word of data whose erasure reported that nothing is left."""
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
    """Return the operations before the last erasure that reported this."""
    ends = [
        entry.number for entry in history.entries if entry.operation == "erase" and (entry.answer or {}).get("gone")
    ]
    return {entry.number for entry in history.entries if ends and entry.number < ends[-1]}
