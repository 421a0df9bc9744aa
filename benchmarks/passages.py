"""The speed of finding messages: users who have said 1,000, 10,000 and 100,000 of them, on SQLite and PostgreSQL.

Messages are appended through the public interface, and a binding leads them into a space. `./dev bench passages --help`
lists the options.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, cycle
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil
import psycopg

import longmind
from benchmarks._message_data import SPEAKERS, WordEmbedder, make_conversations, make_questions_of_all_kinds
from benchmarks.measure import (
    RESULTS,
    Call,
    Spent,
    Timing,
    environment,
    interleave,
    load,
    percentile,
    sync_cost,
    table,
    write_json,
)
from harness.postgres import PostgresServer
from longmind.providers.model_files import MODELS, is_present
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.recall.passage_indexes import PASSAGES
from longmind.recall.question import understand_question
from longmind.settings import load_settings

EngineName = Literal["sqlite", "postgres"]

OUTPUT = RESULTS / "passages.json"
SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 20_000
"""More than one measurement asks, so that hardly any is asked twice."""
TOP = 10
BY_MEANING, AS_KNOWN, SHARED, BY_WORDS = "by meaning and words", "as known half way", "by a grantee", "by words alone"
COLD_TRIES = 3
BESIDE = 200
"""Messages of the user whose new messages are waited for."""
AMONG = 20
"""Passages among which the new message is looked for: without a vector it comes far behind."""
LONGEST_WAIT = 10.0
PAUSE = 0.005

GOALS_MS = {10_000: 0.5, 100_000: 5.0}
BYTES_GOAL = 1_200
LAG_GOAL = 1.0
NOTES = (
    f"Times are milliseconds of one call. A recall returns the best {TOP} passages; questions that ask for all return "
    "more. The space has no facts, whose recall is measured by `./dev bench recall`. Vectors of questions are looked "
    "up, so no model runs, and hardly any question repeats.",
    f"'{AS_KNOWN}' asks with known_at, '{SHARED}' in a space of another user, and '{BY_WORDS}' without an embedder.",
    "Cold is the first recall of a user in a process that has answered another one; the file may be in the operating "
    "system's cache. Memory is measured in that process: what the index counts, and the growth of the process.",
    "A recall after an append finds the new messages by their words.",
    "Appends are durable. The two kinds take turns, and no job runs meanwhile.",
    f"The lag is measured with the local model and one worker, for a user of {BESIDE} messages: by words it is the "
    f"first recall after the append, and by meaning the time until the message is among the best {AMONG} for a "
    "question that shares no word with it. The goal counts the slowest.",
)

TOLD = (
    ("We adopted a tabby kitten from the shelter.", "Do we own a cat?"),
    ("The doctor says that peanuts make my throat swell.", "Am I allergic to nuts?"),
    ("Our flat is on the fourth floor above the bakery.", "Where is the apartment located?"),
    ("Luca broke his ankle skiing.", "injuries and accidents"),
    ("The nightly backup runs at two in the morning.", "copying of data while everybody sleeps"),
    ("My violin needs new strings before the concert.", "musical instruments"),
    ("We named our daughter Clara.", "What is the child called?"),
    ("The deploy failed because the disk was full.", "cause of the outage"),
    ("The train to Vienna was cancelled because of snow.", "railway travel disruption in bad weather"),
    ("We bought a red electric car.", "Which vehicle was purchased?"),
)
"""Messages with questions that share no word with them."""


class Talker(NamedTuple):
    """A user with a number of messages, and the spaces that have them as passages: one is shared with a grantee."""

    size: int
    space_id: str
    shared_id: str
    half_way: str
    """The instant by which half of the messages were said."""

    def context(self, engine: longmind.Engine) -> longmind.Context:
        return open_context(engine, f"user {self.size}")


def main() -> None:
    options = read_arguments()
    if options.cold:
        print(json.dumps(measure_first_recall(*options.cold)))
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        results: dict[str, Any] = {
            "environment": environment("longmind", "numpy", "apsw", "psycopg", "onnxruntime"),
            "loads": [load()],
            "sync_ms": sync_cost(folder),
            "notes": list(NOTES),
        }
        for name in options.engines:
            with open_database(name, folder) as url:
                results[name] = measure(name, url, options)
            if not options.no_lag:
                say(f"{name}: lag")
                with open_database(name, folder) as url:
                    results[name]["lag"] = measure_lag(url)
    results["loads"].append(load())
    results["goals"] = [goal for name in options.engines for goal in judge_goals(name, results[name])]
    write_json(Path(options.output), results)
    show(results, options.engines)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench passages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="messages of each user")
    parser.add_argument("--engines", nargs="+", choices=("sqlite", "postgres"), default=["sqlite", "postgres"])
    parser.add_argument("--seconds", type=float, default=6.0, help="seconds to time the recalls of one user")
    parser.add_argument("--folder", help="the folder for databases; by default the system's temporary folder")
    parser.add_argument("--no-lag", action="store_true", help="do not measure the lag, which needs the local model")
    parser.add_argument("--output", default=str(OUTPUT))
    parser.add_argument("--cold", nargs=3, metavar=("URL", "USER", "SPACE"), help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def open_database(name: EngineName, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if name == "sqlite":
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            yield f"sqlite:///{inside}/passages.db"
    else:
        with PostgresServer() as server:
            yield server.create_database("passages")


def open_context(engine: longmind.Engine, user: str) -> longmind.Context:
    return engine.context(tenant_id="bench", app_id="passages", user_id=user)


def measure(name: EngineName, url: str, options: argparse.Namespace) -> dict[str, Any]:
    say(f"{name}: filling")
    talkers, filling = fill(url, options.sizes)
    settle(name, url)
    embedder = WordEmbedder()
    asked = make_questions_of_all_kinds(QUESTIONS)
    # A question is embedded without the names of speakers.
    embedder.prepare([understand_question(question, SPEAKERS, 0).to_embed for question in asked])
    measured: dict[str, Any] = {"filling": filling, "bytes_on_disk_per_message": measure_disk(name, url)}
    say(f"{name}: first recalls")
    measured["cold"] = {talker.size: measure_cold(url, talker) for talker in talkers}
    with (
        longmind.open(url, embedder=embedder, cache_megabytes=1024) as engine,
        longmind.open(url, embedder=None, cache_megabytes=1024) as wordy,
    ):
        say(f"{name}: recall")
        measured["recall"] = {
            talker.size: interleave(make_recalls(engine, wordy, talker, asked), seconds=options.seconds)
            for talker in talkers
        }
        measured["recall_after_append"] = {
            talker.size: measure_after_append(engine, talker, asked, options.seconds / 3) for talker in talkers
        }
        measured["append_turn"] = measure_appends(engine, options.seconds)
    return measured


# --- filling ----------------------------------------------------------------------------------------------------------


def fill(url: str, sizes: Sequence[int]) -> tuple[list[Talker], dict[str, Any]]:
    """Have users say their messages, and return them with the time that it took."""
    with longmind.open(url, embedder=WordEmbedder(), durability="normal") as engine:
        began = time.perf_counter()
        talkers = [make_talker(engine, size) for size in sizes]
        appended = time.perf_counter()
        pieces = engine.reindex()
        indexed = time.perf_counter()
        # The jobs that the appends asked for find nothing left to do.
        engine.work()
    return talkers, {
        "messages": sum(sizes),
        "pieces": pieces,
        "append_seconds": round(appended - began, 1),
        "index_seconds": round(indexed - appended, 1),
    }


def make_talker(engine: longmind.Engine, size: int) -> Talker:
    user = f"user {size}"
    context = open_context(engine, user)
    space_id = bind_space(context, user)
    half_way, said = "", 0
    for conversation in make_conversations(user, size):
        conversation_id = context.conversations.create_conversation("chat").id
        for turn in conversation:
            appended = append(context, conversation_id, turn.user, turn.answer)
        said += 2 * len(conversation)
        if not half_way or said <= size // 2:
            half_way = appended.assistant_message.created_at
    shared_id = bind_space(context, user, "shared")
    context.memory.grant_space(shared_id, "grantee")
    return Talker(size, space_id, shared_id, half_way)


def bind_space(context: longmind.Context, user: str, kind: Literal["user", "shared"] = "user") -> str:
    """Create a space that has all conversations of a user as passages."""
    space = context.memory.create_memory_space("memory", kind=kind)
    context.memory.create_binding({"user_id": user, "namespace": "chat"}, [space.id])
    return space.id


def append(context: longmind.Context, conversation_id: str, said: str, answer: str) -> longmind.Turn:
    return context.conversations.append_turn(conversation_id, user_content=said, assistant={"content": answer})


def settle(name: EngineName, url: str) -> None:
    if name == "postgres":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")


_STORED = "SELECT SUM({}(body)), SUM(messages) FROM {}"


def measure_disk(name: EngineName, url: str) -> int:
    """Return the bytes of words and vectors that are stored for a message."""
    if name == "postgres":
        with psycopg.connect(url) as connection:
            row = connection.execute(_STORED.format("OCTET_LENGTH", "longmind.passage_segments")).fetchone()
    else:
        connected = sqlite3.connect(url.removeprefix("sqlite:///"))
        row = connected.execute(_STORED.format("LENGTH", "passage_segments")).fetchone()
        connected.close()
    assert row is not None
    return round(int(row[0]) / int(row[1]))


# --- recall -----------------------------------------------------------------------------------------------------------


def make_recalls(
    engine: longmind.Engine, wordy: longmind.Engine, talker: Talker, asked: Sequence[str]
) -> dict[str, Call]:
    """Return the kinds of recall of a user's messages; `wordy` is an engine without an embedder."""
    own, grantee = talker.context(engine), open_context(engine, "grantee")
    return {
        BY_MEANING: make_recall(own, talker.space_id, asked),
        AS_KNOWN: make_recall(own, talker.space_id, asked, known_at=talker.half_way),
        SHARED: make_recall(grantee, talker.shared_id, asked),
        BY_WORDS: make_recall(talker.context(wordy), talker.space_id, asked),
    }


def make_recall(context: longmind.Context, space_id: str, asked: Sequence[str], **options: Any) -> Call:
    following = cycle(asked)
    return lambda: context.memory.recall_by_topic(space_id, next(following), limit=TOP, **options)


def measure_cold(url: str, talker: Talker) -> dict[str, float]:
    """Measure the first recall and the memory of the index, each in processes of their own; return the medians."""
    command = [sys.executable, "-m", "benchmarks.passages", "--cold", url, f"user {talker.size}", talker.space_id]
    tries = [json.loads(subprocess.check_output(command)) for _ in range(COLD_TRIES)]
    return {name: round(percentile([each[name] for each in tries], 50), 2) for name in tries[0]}


def measure_first_recall(url: str, user: str, space_id: str) -> dict[str, float]:
    with longmind.open(url, embedder=WordEmbedder(), cache_megabytes=1024) as engine:
        # Another user first, so that the loading of messages is measured and not that of code.
        warm = open_context(engine, "warm")
        warm_space = bind_space(warm, "warm")
        append(warm, warm.conversations.create_conversation("chat").id, "Something to begin with.", "Good.")
        warm.memory.recall_by_topic(warm_space, "something to begin")
        context = open_context(engine, user)
        process = psutil.Process()
        resident, began = process.memory_info().rss, time.perf_counter()
        context.memory.recall_by_topic(space_id, "When did Anna talk about the pottery class?", limit=TOP)
        took, grown = time.perf_counter() - began, process.memory_info().rss - resident
        index = engine._parts.retriever.indexes.peek(context.scope, PASSAGES)
        return {
            "ms": took * 1000,
            "passages": index.atoms,
            "bytes_per_passage": index.nbytes / index.atoms,
            "resident_bytes_per_passage": grown / index.atoms,
        }


def measure_after_append(engine: longmind.Engine, talker: Talker, asked: Sequence[str], seconds: float) -> Timing:
    """Measure a recall after a turn was appended; the append itself is not counted."""
    context, following, spent = talker.context(engine), cycle(asked), Spent()
    conversation_id = context.conversations.create_conversation("chat").id
    deadline = time.perf_counter() + seconds
    while len(spent.times) < 5 or time.perf_counter() < deadline:
        append(context, conversation_id, "I moved the piano to the attic.", "That must have been heavy.")
        began = time.perf_counter()
        context.memory.recall_by_topic(talker.space_id, next(following), limit=TOP)
        took = time.perf_counter() - began
        spent.add([took], took)
    return spent.timing


# --- append ----------------------------------------------------------------------------------------------------------


def measure_appends(engine: longmind.Engine, seconds: float) -> dict[str, Timing]:
    """Measure appends of a user whose conversations a binding covers beside those of another user."""
    bound, unbound = open_context(engine, "bound"), open_context(engine, "unbound")
    bind_space(bound, "bound")
    return interleave({"with a binding": make_append(bound), "without": make_append(unbound)}, seconds=seconds)


def make_append(context: longmind.Context) -> Call:
    conversation_id = context.conversations.create_conversation("chat").id
    numbers = count()
    return lambda: append(context, conversation_id, f"I moved to Graz in May of {next(numbers)}.", "Noted.")


def measure_lag(url: str) -> dict[str, Any] | None:
    """Measure the seconds from an append to the recalls that find it; None if the local model is not installed."""
    if not is_present(MODELS[DEFAULT_MODEL], Path(load_settings({}).models_folder)):
        say("the local model is not installed; the lag is left out")
        return None
    with longmind.open(url, embedder=f"local:{DEFAULT_MODEL}") as engine:
        context = open_context(engine, "awaited")
        space_id = bind_space(context, "awaited")
        for conversation in make_conversations("awaited", BESIDE):
            conversation_id = context.conversations.create_conversation("chat").id
            for turn in conversation:
                append(context, conversation_id, turn.user, turn.answer)
        engine.reindex()
        engine.start_workers(1)
        waited = [wait_until_found(context, space_id, conversation_id, *told) for told in TOLD]
    by_words, by_meaning = ([round(each, 4) for each in column] for column in zip(*waited, strict=True))
    return {"by_words": by_words, "by_meaning": by_meaning}


def wait_until_found(
    context: longmind.Context, space_id: str, conversation_id: str, said: str, question: str
) -> tuple[float, float]:
    """Return the seconds from an append until the message is found by its own words, and by other words."""
    message_id = append(context, conversation_id, said, "All right.").user_message.id
    began = time.perf_counter()
    if message_id not in find_messages(context, space_id, said):
        raise RuntimeError(f"the next call does not find {said!r} by its words")
    by_words = time.perf_counter() - began
    while message_id not in find_messages(context, space_id, question):
        if time.perf_counter() - began > LONGEST_WAIT:
            say(f"{question!r} does not find {said!r} by its meaning")
            break
        time.sleep(PAUSE)
    return by_words, time.perf_counter() - began


def find_messages(context: longmind.Context, space_id: str, question: str) -> list[str]:
    passages = context.memory.recall_by_topic(space_id, question, limit=AMONG).passages
    return [message.id for passage in passages for message in passage.messages]


# --- the answer -------------------------------------------------------------------------------------------------------


def judge_goals(name: EngineName, measured: dict[str, Any]) -> list[dict[str, Any]]:
    goals = [
        judge(f"{name} recall p50 at {size:,}, ms", measured["recall"][size][BY_MEANING].p50_ms, most)
        for size, most in GOALS_MS.items()
        if size in measured["recall"]
    ]
    largest = measured["cold"][max(measured["cold"])]
    goals.append(judge(f"{name} bytes per passage", largest["bytes_per_passage"], BYTES_GOAL))
    if measured.get("lag"):
        goals.append(judge(f"{name} seconds until found by meaning", max(measured["lag"]["by_meaning"]), LAG_GOAL))
    return goals


def judge(what: str, reached: float, most: float) -> dict[str, Any]:
    return {"goal": what, "reached": round(reached, 3), "bound": f"<= {most:g}", "passed": reached <= most}


def show(results: dict[str, Any], engines: Sequence[EngineName]) -> None:
    for name in engines:
        measured = results[name]
        print(f"\n{name}")
        print(table(("<operation", "messages", "calls", "p50 ms", "p99", "per s"), list_rows(measured)))
        for size, cold in measured["cold"].items():
            print(f"{size:,} messages, first recall: {cold}")
        print(f"bytes on disk per message: {measured['bytes_on_disk_per_message']}; filling: {measured['filling']}")
        for how, waited in (measured.get("lag") or {}).items():
            print(f"seconds until found {how}: {percentile(waited, 50):.3f}, at most {max(waited):.3f}")
    verdicts = [
        (goal["goal"], goal["reached"], goal["bound"], "pass" if goal["passed"] else "FAIL")
        for goal in results["goals"]
    ]
    print()
    print(table(("<goal", "reached", "<bound", "<"), verdicts))
    print("\n".join(NOTES))


def list_rows(measured: dict[str, Any]) -> Iterator[Sequence[object]]:
    for size, kinds in measured["recall"].items():
        yield from (list_row(kind, size, timing) for kind, timing in kinds.items())
    for size, timing in measured["recall_after_append"].items():
        yield list_row("after an append", size, timing)
    for kind, timing in measured["append_turn"].items():
        yield list_row(f"append_turn {kind}", "", timing)


def list_row(operation: str, size: object, timing: Timing) -> Sequence[object]:
    return (operation, size, timing.calls, timing.p50_ms, timing.p99_ms, timing.per_second)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
