"""Events, jobs and archives, as the journal promises them."""

from __future__ import annotations

import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from prove.kills.checker.era import Era, times_wrong
from prove.kills.checker.observation import EVERYTHING, Observation
from prove.kills.journal import History
from prove.kills.processes import LEFT
from prove.kills.steps.events import DISTILL, MOOD, REMARK
from prove.kills.workload import session_of

_RECORDED = {"event": 1, "events": 3, "chat": 1, "state": 1, "tool_result": 1}
"""How many rows each operation leaves, all of them or none."""


def wrong_events(era: Era, seen: Observation) -> Iterator[str]:
    tagged = Counter(tag for event in seen.export["events"] for tag in event["tags"] or ())
    ids = {event["id"] for event in seen.export["events"]}
    for entry in era.select(*_RECORDED, "distill"):
        token = f"{era.user}n{entry.number}"
        # Where there is nothing to distill, nothing is recorded.
        whole = len(entry.answer["ids"]) if entry.answer else _RECORDED.get(entry.operation, 1)
        yield from times_wrong(entry, "the events", tagged[token], whole)
        for event_id in entry.answer["ids"] if entry.answer else ():
            if event_id not in ids or seen.context.events.get_event(event_id) is None:
                yield f"event {event_id} of {entry.operation} {entry.number} is not there"
    yield from _wrong_states(era, seen)


def _wrong_states(era: Era, seen: Observation) -> Iterator[str]:
    """Check that the latest state of each session is the last recorded one, or a later one without an answer."""
    possible: dict[str, set[str | None]] = {}
    for entry in era.select("state"):
        session, value = session_of(entry.number), f"{era.user}n{entry.number}"
        before = possible.get(session, {None})
        possible[session] = {value} if entry.state == "done" else before | {value}
    for session, values in possible.items():
        latest = seen.open_session(session).events.latest_state(MOOD)
        if latest not in values and latest not in {f"{era.user}n{number}" for number in era.late}:
            yield f"the latest state of {session} is {latest}, and it was {values}"


def wrong_jobs(era: Era, seen: Observation) -> Iterator[str]:
    """Check that each job was queued once, is done once with one effect, and that none is left."""
    jobs = seen.context.jobs.list_jobs(limit=EVERYTHING)
    for job in jobs:
        if job.status != "succeeded":
            yield f"job {job.id} ({job.kind}) is {job.status} after {job.attempts} attempts: {job.error}"
    queued = Counter(job.payload["token"] for job in jobs if job.kind == REMARK)
    done = Counter(event["data"]["token"] for event in seen.export["events"] if event["kind"] == LEFT)
    for entry in era.select("job"):
        token = f"{era.user}n{entry.number}"
        yield from times_wrong(entry, "the job", queued[token])
        if done[token] != queued[token]:
            yield f"the job of {entry.number} was queued {queued[token]} times and done {done[token]} times"
    keys = Counter((job.kind, job.unique_key) for job in jobs if job.unique_key is not None)
    if twice := [key for key, times in keys.items() if times > 1]:
        yield f"jobs were queued twice: {twice}"


def wrong_distillation(era: Era, seen: Observation) -> Iterator[str]:
    """Check that each distillation job left a complete summary, and more than one only after a retry."""
    tagged: dict[str, list[str]] = defaultdict(list)
    for event in seen.export["events"]:
        for tag in event["tags"] or ():
            tagged[tag].append(event["id"])
    jobs = [job for job in seen.context.jobs.list_jobs(limit=EVERYTHING) if job.kind == DISTILL]
    queued = Counter(job.payload["token"] for job in jobs)
    for entry in era.select("distill_job"):
        yield from times_wrong(entry, "the job", queued[f"{era.user}n{entry.number}"])
    for job in jobs:
        made, summary = tagged[job.payload["token"]], (job.result or {}).get("summary")
        if (summary not in made) if summary else made:
            yield f"job {job.id} has made the summary {summary}, and there are {made}"
        if len(made) > job.attempts:
            yield f"job {job.id} was tried {job.attempts} times and has made {len(made)} summaries"
    yield from _wrong_summaries(seen)


def _wrong_summaries(seen: Observation) -> Iterator[str]:
    there = {event["id"] for event in seen.export["events"]}
    there |= {row.id for rows in seen.messages.values() for row in rows}
    for event in seen.export["events"]:
        if event["stage"] == "summary":
            sources = event["data"]["source_event_ids"]
            if len(set(sources)) != event["data"]["num_events"] or not there.issuperset(sources):
                yield f"summary {event['id']} was made of events that are not all there"


def wrong_receipts(history: History, seen: Observation) -> Iterator[str]:
    """Check that the log holds every answered erasure."""
    for entry in history.entries:
        if (
            entry.operation == "erase"
            and entry.answer
            and not seen.context.admin.verify_receipt(entry.answer["receipt"])
        ):
            yield f"the receipt of erase {entry.number} does not stand in the log"


def wrong_archives(history: History) -> Iterator[str]:
    """Check that an answered archive exists, and that every archive is complete."""
    for entry in history.entries:
        if entry.operation == "archive_file":
            file = Path(entry.given["file"])
            if entry.state == "done" and not file.exists():
                yield f"archive {entry.number} was answered and is not there"
            if file.exists() and not _is_whole(file):
                yield f"archive {entry.number} is there and not whole"


def _is_whole(file: Path) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return archive.testzip() is None and "manifest.json" in archive.namelist()
    except zipfile.BadZipFile:
        return False
