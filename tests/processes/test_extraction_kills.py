"""Workers that are killed while they extract: in the end each conversation was extracted once."""

from __future__ import annotations

import random
import time
from collections import Counter

import longmind
from harness.crew import Line, ada, run_together, start_process, wait_until
from longmind.store.triggers.extraction_requests import EXTRACT
from tests.extraction.scripted_extractor import SentenceExtractor

CONVERSATIONS = 50
KILLS = 20
LEASE = 0.4


def extract_some(line: Line, url: str, jobs: int, hangs: bool) -> None:
    """Do so many jobs, then one more or, if it hangs, part of one."""
    extractor = SentenceExtractor()

    def hang() -> None:
        line.say("at work")
        line.hear()

    with ada(url, extractor=extractor, job_lease_seconds=LEASE) as (engine, _):
        line.say("ready")
        while jobs:
            if engine.work(limit=1).succeeded:
                line.say("done")
                jobs -= 1
        if hangs:
            extractor.before = hang
        while not engine.work(limit=1).succeeded:
            pass
        line.hear()


def index_messages(engine: longmind.Engine, ctx: longmind.Context) -> None:
    """Do the one job that indexes the messages, so that only extractions are left."""
    assert engine.work(limit=1).succeeded == 1
    assert {job.kind for job in ctx.jobs.list_jobs(status="queued", limit=1000)} == {EXTRACT}


def list_extractions(ctx: longmind.Context) -> list[longmind.Job]:
    return list(ctx.jobs.list_jobs(kind=EXTRACT, limit=1000))


def test_of_fifty_conversations_each_is_extracted_once_though_the_worker_is_killed_twenty_times(
    database_url: str,
) -> None:
    chance = random.Random(20)
    with ada(database_url, extractor=SentenceExtractor(), job_attempts=100, job_lease_seconds=LEASE) as (engine, ctx):
        space = ctx.memory.create_memory_space("daily")
        scope = {"namespace": "chat", "userId": "ada"}
        ctx.memory.create_binding(scope, [space.id], {"windowed": True, "windowTurns": 2})
        for number in range(CONVERSATIONS):
            conversation = ctx.conversations.create_conversation("chat")
            for turn in ("first", "second", "third"):
                said = f"Guest {number} took the {turn} room."
                ctx.conversations.append_turn(conversation.id, user_content=said, assistant={"content": ""})
            ctx.conversations.close_conversation(conversation.id)
        index_messages(engine, ctx)

        for number in range(KILLS):
            # Every fourth is known to be at work when it is killed, on a machine of any speed; the others may be.
            first, hangs = chance.randrange(3), number % 4 == 0
            with start_process(extract_some, database_url, first, hangs) as worker:
                expected = ["ready", *["done"] * first, *["at work"] * hangs]
                assert [worker.hear() for _ in expected] == expected
                time.sleep(chance.uniform(0, 0.02))
                worker.kill()
        claimed = Counter(job.attempts for job in list_extractions(ctx))
        engine.start_workers(2)
        wait_until(lambda: all(job.status == "succeeded" for job in ctx.jobs.list_jobs(limit=1000)))

        jobs = list_extractions(ctx)
        assert len(jobs) == 2 * CONVERSATIONS
        assert claimed[0] > 0, "nothing was left to do after the kills"
        assert any(job.attempts > 1 for job in jobs), "no worker died at work"
        atoms = ctx.memory.list_atoms(space.id, status=None, limit=1000)
        told = {
            f"Guest {number} took the {turn} room."
            for number in range(CONVERSATIONS)
            for turn in ("first", "second", "third")
        }
        assert Counter(atom.text for atom in atoms) == dict.fromkeys(told, 1)
        assert {len(atom.source_message_ids) for atom in atoms} == {1}
        assert {atom.confidence for atom in atoms} == {0.8}
        assert sum(len(job.result["added"]) for job in jobs) == len(told)
        assert [job.result["reinforced"] for job in jobs] == [[]] * len(jobs)


def work_off(line: Line, url: str) -> longmind.WorkReport:
    with ada(url, extractor=SentenceExtractor(), job_lease_seconds=30.0) as (engine, _):
        line.wait_for_others()
        return engine.work()


def test_four_processes_that_extract_the_same_words_into_one_space_learn_them_once(database_url: str) -> None:
    with ada(database_url, extractor=SentenceExtractor()) as (engine, ctx):
        space = ctx.memory.create_memory_space("daily")
        for namespace in ("chat", "mail"):
            ctx.memory.create_binding({"namespace": namespace, "userId": "ada"}, [space.id])
        for number in range(16):
            conversation = ctx.conversations.create_conversation("chat" if number % 2 else "mail")
            for said in ("I met Anna.", "My home is Oslo."):
                ctx.conversations.append_turn(
                    conversation.id,
                    user_content=said,
                    assistant={"content": ""},
                    created_at="2026-03-01T09:30:00Z",
                )
            ctx.conversations.close_conversation(conversation.id)
        index_messages(engine, ctx)
        reports: list[longmind.WorkReport] = run_together(work_off, [(database_url,)] * 4)
        assert sum(report.succeeded for report in reports) == 16
        assert sum(report.failed + report.dead + report.lost for report in reports) == 0
        atoms = ctx.memory.list_atoms(space.id, status=None)
        assert sorted(atom.text for atom in atoms) == ["I met Anna.", "My home is Oslo."]
        assert {len(atom.source_message_ids) for atom in atoms} == {16}
        assert len(ctx.memory.search_entities(space.id, "Anna")) == 1
