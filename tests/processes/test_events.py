"""Many processes that record events on one timeline, with the JSONL mirror on, and are killed while they do."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import longmind
from harness.crew import PATIENCE, Line, collect_results, start_process, start_processes
from longmind.events import read_jsonl
from tests.processes.server_activity import wait_until_quiet

PROCESSES = 4
BEFORE = 300
RECORDED = 150
REBUILDS = 3

Acknowledged = dict[str, str | None]
"""The texts of events by id."""


@contextmanager
def session(url: str, files: Path) -> Iterator[tuple[longmind.Engine, longmind.Context]]:
    with longmind.open(url, embedder="none", events_jsonl_dir=str(files)) as engine:
        yield engine, engine.context(tenant_id="acme", app_id="support", user_id="ada", session_id="s1")


def all_events(ctx: longmind.Context) -> list[longmind.Event]:
    """The whole timeline, newest last."""
    pages: list[list[longmind.Event]] = []
    while not pages or pages[-1]:
        pages.append(ctx.events.recent_persisted(limit=5_000, offset=sum(map(len, pages))))
    return [event for page in reversed(pages) for event in page]


def lines_of(ctx: longmind.Context) -> list[dict[str, Any]]:
    """All lines of the timeline's files as they stand there, doubles and torn ones included."""
    return [json.loads(line) for file in ctx.events.jsonl_files() for line in file.read_bytes().splitlines()]


def assert_agree(ctx: longmind.Context) -> None:
    """The files hold each event of the ledger exactly once, and tell the same of it in the same order."""
    ledger = [event.as_row() for event in all_events(ctx)]
    lines = lines_of(ctx)
    assert Counter(line["event_id"] for line in lines) == Counter(event["event_id"] for event in ledger)
    in_order = read_jsonl(ctx.events.jsonl_files())
    assert [{name: line[name] for name in line if name != "position"} for line in in_order] == ledger


def record_many_times(line: Line, url: str, files: Path, name: str, events: int) -> tuple[list[str], list[str]]:
    """Record so many events; the answer is their ids, and those of the whole timeline as this process reads it."""
    with session(url, files) as (_, ctx):
        line.wait_for_others()
        mine = []
        for number in range(events):
            mine.append(ctx.events.record("step", {"by": name, "number": number}).event_id)
            if number % 100 == 0:
                line.say(number)
        line.say("recorded")
        line.hear()
        return mine, [event.event_id for event in all_events(ctx)]


@pytest.mark.conforms("D0.2")
@pytest.mark.parametrize("events", [500, pytest.param(5_000, marks=pytest.mark.slow)])
def test_what_four_processes_record_on_one_timeline_is_all_there_in_one_order(
    database_url: str, tmp_path: Path, events: int
) -> None:
    files = tmp_path / "files"

    with start_processes(
        record_many_times, [(database_url, files, f"process {number}", events) for number in range(PROCESSES)]
    ) as children:
        for child in children:
            while child.hear() != "recorded":
                pass
        for child in children:
            child.say("read")
        answers = collect_results(children)

    with session(database_url, files) as (_, ctx):
        order = [event.event_id for event in all_events(ctx)]
        assert_agree(ctx)
    assert len(order) == len(set(order)) == PROCESSES * events
    for mine, seen in answers:
        assert seen == order
        of_this_process = set(mine)
        assert [each for each in order if each in of_this_process] == mine


def record_for_ever(line: Line, url: str, files: Path, name: str, seed: int) -> None:
    """Record in all manners in a random order, and acknowledge what was recorded when its call has returned."""
    chance = random.Random(seed)
    with session(url, files) as (_, ctx):
        conversation = ctx.conversations.create_conversation("chat", session_id="s1")
        number = 0
        while True:
            number += 1
            text = f"{name}.{number}"
            match chance.choice(["one", "one", "many", "turn"]):
                case "one":
                    event = ctx.events.record("step", text, tags=["kill"])
                    line.say({event.event_id: event.text})
                case "many":
                    events = ctx.events.record_many(
                        [{"kind": "step", "data": f"{text}.{part}"} for part in range(chance.randrange(1, 20))]
                    )
                    line.say({event.event_id: event.text for event in events})
                case _:
                    turn = ctx.conversations.append_turn(
                        conversation.id, user_content=text, assistant={"content": f"to {text}"}
                    )
                    line.say({each.id: each.text for each in (turn.user_message, turn.assistant_message)})


def rebuild_for_ever(line: Line, url: str, files: Path) -> None:
    with session(url, files) as (engine, _):
        while True:
            engine.rebuild_jsonl()
            line.say("rebuilt")


@pytest.mark.conforms("D0.2")
@pytest.mark.parametrize("kills", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_ledger_and_files_agree_after_recorders_and_rebuilders_were_killed_at_random_moments(
    database_url: str, tmp_path: Path, kills: int
) -> None:
    files = tmp_path / "files"
    seed = random.randrange(1_000_000)
    # pytest shows it when the test fails.
    print(f"seed {seed}")
    chance = random.Random(seed)
    told: Acknowledged = {}
    for number in range(kills):
        name, own_seed = f"recorder {number}", chance.randrange(1_000_000)
        with start_process(record_for_ever, database_url, files, name, own_seed) as recorder:
            for _ in range(chance.randrange(1, 30)):
                told |= recorder.hear()
            if number % 2:
                with start_process(rebuild_for_ever, database_url, files) as rebuilder:
                    rebuilder.hear()
                    time.sleep(chance.uniform(0, 0.02))
                    rebuilder.kill()
            time.sleep(chance.uniform(0, 0.005))
            recorder.kill()
            for heard in recorder.hear_to_the_end():
                told |= heard
        with session(database_url, files) as (_, ctx):
            survivor = ctx.events.record("step", f"survivor {number}")
        told[survivor.event_id] = survivor.text

    wait_until_quiet(database_url)
    with session(database_url, files) as (engine, ctx):
        engine.rebuild_jsonl()
        assert_agree(ctx)
        there = {event.event_id: event.text for event in all_events(ctx)}
        assert told.items() <= there.items()
        assert [text for text, times in Counter(there.values()).items() if times > 1] == []
        ctx.events.record("step", "and on it goes")
        assert_agree(ctx)


def record_or_rebuild(line: Line, role: str, url: str, files: Path, name: str) -> int:
    """Record events until told that it is enough, or rebuild the files some times; the answer is how many or how often.

    Those who rebuild are done while the others still record: a rebuild that comes after them would mend all.
    """
    enough = threading.Event()

    def listen() -> None:
        line.hear()
        enough.set()

    with session(url, files) as (engine, ctx):
        if role == "record":
            threading.Thread(target=listen, daemon=True).start()
        line.wait_for_others()
        for number in count(1):
            if role == "record":
                ctx.events.record("step", f"{name}.{number}")
            else:
                engine.rebuild_jsonl()
            if number >= RECORDED and enough.is_set() if role == "record" else number == REBUILDS:
                return number
    raise AssertionError


def test_files_that_are_rebuilt_while_others_record_have_every_event_once(database_url: str, tmp_path: Path) -> None:
    files = tmp_path / "files"
    with session(database_url, files) as (_, ctx):
        ctx.events.record_many([{"kind": "step", "data": f"before.{number}"} for number in range(BEFORE)])

    roles = ["record"] * 3 + ["rebuild"] * 2
    with start_processes(
        record_or_rebuild, [(role, database_url, files, f"process {number}") for number, role in enumerate(roles)]
    ) as children:
        recorders, rebuilders = children[:3], children[3:]
        collect_results(rebuilders)
        for recorder in recorders:
            recorder.say("enough")
        recorded = collect_results(recorders)

    with session(database_url, files) as (_, ctx):
        assert len(all_events(ctx)) == BEFORE + sum(recorded)
        assert_agree(ctx)


def append_late(line: Line, url: str, files: Path) -> None:
    """Commit an event and append its line only when told to, after which another one is recorded."""
    with session(url, files) as (engine, ctx):
        other = engine.context(tenant_id="acme", app_id="support", user_id="bob")
        told, go_on = threading.Event(), threading.Event()

        def dawdle(_change: longmind.Change) -> None:
            told.set()
            go_on.wait(PATIENCE)

        # Who writes tells what others have committed too: while bob's change is being told, ada's has to wait.
        stop = engine.subscribe(dawdle)
        slow = threading.Thread(target=other.events.record, args=("step", "slow"))
        slow.start()
        told.wait(PATIENCE)
        stop()
        ctx.events.record("step", "erased")
        line.say("committed")
        line.hear()
        go_on.set()
        slow.join()
        # What comes after it in the queue is appended: so is all before it.
        other.events.record("step", "last")
        while len(lines_of(other)) < 2:
            time.sleep(0.01)
        line.say("appended")
        line.hear()
        ctx.events.record("step", "anew")


def test_an_erased_user_has_no_files_and_a_late_append_of_another_process_brings_none_back(
    database_url: str, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    with session(database_url, files) as (_, ctx), start_process(append_late, database_url, files) as late:
        ctx.events.record("step", "erased too")
        assert late.hear() == "committed"
        assert ctx.admin.delete_user_data(confirm=True)["deleted"]["events"] == 2
        assert ctx.events.jsonl_files() == []

        late.say("append")
        assert late.hear() == "appended"
        assert ctx.events.jsonl_files() == []
        assert [file for file in files.rglob("*") if file.is_file() and b"erased" in file.read_bytes()] == []

        late.say("record")
        collect_results([late])
        assert [each["text"] for each in lines_of(ctx)] == ["anew"]
        assert_agree(ctx)
