"""Hostile input: everything that reads outside text receives text made to break it, or to escape from it."""

from __future__ import annotations

import io
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import longmind
from harness.operation_calls import make_direct_call
from harness.postgres import PostgresServer
from longmind.errors import LongmindError
from prove.hostile_input.archives import forge_documents, make_broken_archives
from prove.hostile_input.calls import find_broken_calls
from prove.hostile_input.commands import find_broken_commands
from prove.hostile_input.description import run_schemathesis
from prove.hostile_input.fuzzer import fuzz_parsers, tool
from prove.hostile_input.growth import MOST_MEMORY, memory_of, some_steep
from prove.hostile_input.injections import INJECTIONS, calm_text
from prove.hostile_input.leaks import find_leaks
from prove.hostile_input.messages import send_over_http, send_to_program
from prove.hostile_input.parsers import PARSERS
from prove.hostile_input.prompts import collect_prompts, complaints
from prove.section import Check, Plan, Section, judge_claim
from tests.admin.planted_words import Words, plant

FULL_SECONDS = 150.0
"""Seconds that the longest of the unbounded parts take in a full run; the others take a share of it."""


def run(plan: Plan) -> Iterator[Check]:
    yield _check_parsers(plan, _share(plan, 1))
    yield _check_growth(plan, _share(plan, 0.3))
    with _databases(plan) as urls:
        for place, engine in enumerate(plan.engines):
            # Parts without a time limit come first; those with a share of the time get less if it is late.
            yield _check_injections(plan, engine, urls)
            yield _check_leaks(engine, urls(engine))
            late = len(plan.engines) - place
            yield _check_calls(plan, engine, urls(engine), _share(plan, 0.15, late))
            yield from _check_imports(plan, engine, urls(engine), _share(plan, 0.15, late))
            yield _check_commands(plan, engine, urls(engine), _share(plan, 0.2, late))
            yield from _check_messages(plan, engine, urls(engine), _share(plan, 0.1, late))
            # Long in a full run: what is wrong here hangs on what many requests before have left.
            yield _check_description(plan, engine, urls(engine), _share(plan, 1 if plan.full else 0.4, late))


def _share(plan: Plan, share: float, engines: int = 0) -> float:
    """The seconds of a part: its share of the usual time, or of what is left, where that is less."""
    if plan.full:
        return FULL_SECONDS * share
    usual = plan.seconds * share * 0.2
    # All shares of an engine together are about a third more than 1.
    return usual if not engines else max(1.0, min(usual, plan.seconds_left() * share / (1.3 * engines)))


@contextmanager
def _databases(plan: Plan) -> Iterator[Any]:
    """A function that returns the address of a new database of an engine."""
    servers: list[PostgresServer] = []
    made = 0

    def make(engine: str) -> str:
        nonlocal made
        made += 1
        if engine == "sqlite":
            return f"sqlite:///{plan.folder}/{made}.db"
        if not servers:
            servers.append(PostgresServer())
        return servers[0].create_database(f"hostile_{made}")

    try:
        yield make
    finally:
        for server in servers:
            server.stop()


def _check_parsers(plan: Plan, seconds: float) -> Check:
    seed = plan.dice("fuzzing").randrange(2**30)
    found = fuzz_parsers(max(1.0, seconds / len(PARSERS)), seed)
    broken = [f"{name}: {each.wrong} with {each.text!r:.200}" for name, each in found.items() if each.wrong]
    broken += [f"{name}: it was given no text" for name, each in found.items() if not each.texts and not each.wrong]
    texts = [each.texts for each in found.values()]
    figures = {"parsers": len(found), "texts": sum(texts), "fewest for one": min(texts), "with": tool()}
    claim = "no text breaks a parser; what it accepts and can be written down again reads back the same"
    return judge_claim(claim, sum(texts), broken, figures)


def _check_growth(plan: Plan, seconds: float) -> Check:
    dice, tries, steep, largest = plan.dice("growth"), 0, [], 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        parser = dice.choice(PARSERS)
        tries += 1
        wrong = some_steep(parser, dice)
        if wrong is not None:
            steep.append(f"{parser.name}: {wrong}")
    for parser in (
        each for each in PARSERS if each.name in ("content blocks", "answers of models", "lines of the mirror")
    ):
        for piece in ("[", '{"a":', "9", "\\u0000"):
            largest = max(largest, memory_of(parser, piece))
    if largest > MOST_MEMORY:
        steep.append(f"a megabyte took {largest:,} bytes of memory")
    figures = {"repetitions tried": tries, "most memory for a megabyte": largest}
    return judge_claim("reading takes time in proportion to the text, and memory within bounds", tries, steep, figures)


def _check_calls(plan: Plan, engine: str, url: str, seconds: float) -> Check:
    called, broken = find_broken_calls(url, seconds, plan.dice(f"calls {engine}"))
    claim = f"{engine}: an argument of any shape is taken or refused with an error of Longmind, by every operation"
    figures = {"operations": len(called), "calls": called.total(), "broken": len(broken)}
    return judge_claim(claim, called.total(), broken, figures)


def _check_imports(plan: Plan, engine: str, url: str, seconds: float) -> Iterator[Check]:
    """Archives are read twice at the most and never unpacked, so a bomb takes neither memory, time nor room."""
    with longmind.open(url, embedder=None) as database:
        ada = database.context(tenant_id="acme", app_id="support", user_id="ada")
        plant(database, make_direct_call(ada), "ada", Words(1))
        whole = io.BytesIO()
        ada.admin.export_user_archive(whole)
        document = json.loads(json.dumps(ada.admin.export_user_data()))
        yield check_archives(engine, database, whole.getvalue())
        yield _check_forged(engine, database, document, plan.dice(f"forged {engine}"), seconds)


def check_archives(engine: str, database: longmind.Engine, whole: bytes) -> Check:
    broken = list(make_broken_archives(whole))
    taken, slowest = [], 0.0
    root = database.context(tenant_id="beta", app_id="other", user_id="root", capabilities={"admin"})
    with watched_folder() as stray:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for name, archive in broken:
            began = time.process_time()
            try:
                root.admin.import_user_data(io.BytesIO(archive), "eva")
                taken.append(f"an archive {name} was taken")
            except LongmindError as error:
                if error.status >= 500:
                    taken.append(f"an archive {name}: {error.message}")
            except Exception as error:
                taken.append(f"an archive {name}: {type(error).__name__}")
            slowest = max(slowest, time.process_time() - began)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        taken += [f"the file {name} was written" for name in stray()]
    if rows := _rows_of(root, "eva"):
        taken.append(f"{rows} rows were kept")
    if slowest > 5 or grown > MOST_MEMORY:
        taken.append(f"it took {slowest:.1f} seconds and {grown:,} bytes of memory")
    try:
        root.admin.import_user_data(io.BytesIO(whole), "eva")
    except LongmindError as error:
        # An engine that refuses everything would prove nothing.
        taken.append(f"the archive that is whole was refused as well: {error.message}")
    figures = {"archives": len(broken), "slowest seconds": slowest, "memory grown by": grown}
    claim = "bombs, paths that lead out and archives that are not whole are refused, and nothing is kept"
    return judge_claim(f"{engine}: {claim}; the whole one is taken", len(broken), taken, figures)


def _rows_of(admin: longmind.Context, user: str) -> int:
    records = admin.admin.export_user_data(user)["records"]
    return sum(len(part["rows"]) for name, part in records.items() if not name.startswith("tool_audit"))


@contextmanager
def watched_folder() -> Iterator[Callable[[], list[str]]]:
    """Work deep in an empty folder, temporary files included, and provide a function that lists stray files.

    A path of an archive that leads out by two steps, or by three, would lead there.
    """
    before, temporary = Path.cwd(), tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        deep = Path(folder, "a", "b", "c")
        deep.mkdir(parents=True)
        os.chdir(deep)
        tempfile.tempdir = str(deep)
        try:
            yield lambda: [path.name for path in Path(folder).rglob("*") if not deep.is_relative_to(path)]
        finally:
            os.chdir(before)
            tempfile.tempdir = temporary


def _check_forged(engine: str, database: longmind.Engine, document: Any, dice: Random, seconds: float) -> Check:
    until, tried, accepted, broken = time.monotonic() + seconds, 0, 0, []
    for what, forged in forge_documents(document, dice):
        if time.monotonic() > until:
            break
        tried += 1
        # Each in an app of its own, since ids of bindings are the app's.
        names: dict[str, Any] = {"tenant_id": "forged", "app_id": f"app{tried}"}
        try:
            database.context(**names, user_id="root", capabilities={"admin"}).admin.import_user_data(forged, "eva")
            accepted += 1
            read_everything(database.context(**names, user_id="eva"))
        except LongmindError as error:
            if error.status >= 500:
                broken.append(f"{what}: {error.message}")
        except Exception as error:
            broken.append(f"{what}: {type(error).__name__} {str(error)[:100]}")
    claim = f"{engine}: a document with a forged value and a hash that is right is refused, or all of it can be used"
    return judge_claim(claim, tried, broken, {"documents": tried, "accepted": accepted})


def read_everything(context: longmind.Context) -> None:
    """Read all that a user has in the usual ways."""
    context.admin.export_user_data()
    for conversation in context.conversations.list_conversations():
        context.conversations.get_messages(conversation.id)
    for space in context.memory.list_memory_spaces():
        context.memory.list_atoms(space.id)
        context.memory.recall_by_topic(space.id, "met")
        context.memory.search_entities(space.id, "Q")
    context.blocks.list()
    context.blocks.user_memory()
    context.tools.memory_brief()
    context.events.recent()
    context.events.search("met")
    context.jobs.list_jobs()


def _check_injections(plan: Plan, engine: str, urls: Any) -> Check:
    slipped, paths, url, tried = [], set(), urls(engine), 0
    attacks = [*INJECTIONS.items()]
    plan.dice(f"injections {engine}").shuffle(attacks)
    least = plan.seconds * (0.45 if engine == plan.engines[0] else 0.2)
    for number, (name, text) in enumerate(attacks):
        # On a machine that is slow only some have their turn, others with another seed.
        if number and plan.seconds_left() < least:
            break
        tried += 1
        calm, seen = collect_prompts(url, calm_text(text), f"calm{number}"), collect_prompts(url, text, f"user{number}")
        paths |= {*seen.prompts, *seen.requests, *seen.answers}
        slipped += [f"{name}: {what}" for what in complaints(calm, seen)]
    claim = f"{engine}: what was remembered stays data in every prompt, becomes no rule by itself and calls no tool"
    return judge_claim(
        claim, tried, slipped, {"attacks": tried, "of": len(INJECTIONS), "ways into a prompt": len(paths)}
    )


def _check_leaks(engine: str, url: str) -> Check:
    found, looked = find_leaks(url)
    claim = f"{engine}: no secret and nothing that users said is in logs, metrics, traces, errors or representations"
    return judge_claim(claim, sum(looked.values()), found, {"characters looked through": looked})


def _check_commands(plan: Plan, engine: str, url: str, seconds: float) -> Check:
    folder = plan.folder / f"typed-{engine}"
    folder.mkdir()
    codes, broken = find_broken_commands(url, folder, seconds, plan.dice(f"commands {engine}"))
    claim = f"{engine}: a command with any arguments and environment ends as documented, and never with a traceback"
    tried = sum(codes.values())
    ends = {str(code): codes[code] for code in sorted(codes, key=str)}
    return judge_claim(claim, tried, broken, {"commands": tried, "ended with": ends})


def _check_messages(plan: Plan, engine: str, url: str, seconds: float) -> Iterator[Check]:
    dice = plan.dice(f"messages {engine}")
    sent, broken = send_to_program(url, plan.folder, seconds, dice)
    claim = "the server of the Model Context Protocol goes on answering, and says nothing but protocol"
    yield judge_claim(f"{engine}: whatever it is sent, {claim}", sent, broken, {"messages": sent})
    sent, broken = send_over_http(url, seconds, dice)
    claim = "no such message is a fault of the server when it comes over HTTP"
    yield judge_claim(f"{engine}: {claim}", sent, broken, {"messages": sent})


def _check_description(plan: Plan, engine: str, url: str, seconds: float) -> Check:
    requests, complaint = run_schemathesis(url, plan.folder, seconds, plan.seed)
    claim = f"{engine}: requests made up from the description find no fault and nothing that is not described"
    return judge_claim(claim, requests, [complaint] if complaint else [], {"requests": requests})


SECTION = Section(name="hostile_input", title="Hostile input", seconds=180, run=run)
