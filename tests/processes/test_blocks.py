"""Many processes that edit one block at once, and workers that are killed while they update blocks."""

from __future__ import annotations

import random
import time

import pytest

import longmind
from harness.crew import Line, ada, run_together, start_process, wait_until
from tests.blocks.model_calls import archival, core, talk

PROCESSES = 16
EDITS = 6
CITIES = "Oslo Graz Rome Kiel Bern Lyon Cork Bath York Nice Pisa Bari Faro Vigo Brno Riga Lodz Cluj Linz Gent".split()
KILLS = 10
LEASE = 0.4


def edit(line: Line, url: str, name: str) -> tuple[list[str], int]:
    """Add lines by reading, changing and writing, again when somebody was faster."""
    done, conflicts = [], 0
    with ada(url) as (_, ctx):
        block = ctx.blocks.get("archival")
        # All have read the same before any of them writes, so that they are in each other's way on any machine.
        line.wait_for_others()
        for number in range(EDITS):
            mine = f"{name}.{number}"
            while True:
                content = f"{block.content}\n{mine}" if block else mine
                try:
                    ctx.blocks.update("archival", content, block.updated_at if block else None)
                    break
                except longmind.BlockConflict as conflict:
                    block = conflict.current
                    conflicts += 1
            done.append(mine)
            block = ctx.blocks.get("archival")
    return done, conflicts


@pytest.mark.conforms("C13", "C14", "C18", "T16")
def test_of_sixteen_processes_that_edit_one_block_no_edit_is_lost(database_url: str, ctx: longmind.Context) -> None:
    answers = run_together(edit, [(database_url, f"p{number}") for number in range(PROCESSES)])

    done = [each for edits, _ in answers for each in edits]
    assert len(done) == PROCESSES * EDITS
    assert sorted(archival(ctx)) == sorted(done)
    assert sum(conflicts for _, conflicts in answers) >= PROCESSES - 1
    block = ctx.blocks.get("archival")
    assert block is not None
    assert block.version == len(done)
    before = ctx.blocks.revisions("archival", limit=100)
    instants = [block.updated_at, *(revision.updated_at for revision in before)]
    assert instants == sorted(set(instants), reverse=True)
    assert [revision.revision for revision in before] == list(range(len(done) - 1, 0, -1))


def sleep_for_ever(line: Line, url: str) -> None:
    with ada(url, embedder="none", job_lease_seconds=LEASE) as (engine, _):
        line.say("ready")
        while True:
            if engine.work(limit=1).succeeded:
                line.say("done")


@pytest.mark.conforms("C22")
def test_workers_that_are_killed_while_they_update_blocks_double_and_lose_nothing(database_url: str) -> None:
    chance = random.Random(7)
    with ada(database_url, embedder="none", job_attempts=100, job_lease_seconds=LEASE) as (engine, ctx):
        ctx.blocks.set_sleep_time(True)
        for kill in range(KILLS):
            # New work for each, since a quick worker leaves nothing that the next could be heard to have done.
            for city in CITIES[kill::KILLS]:
                talk(ctx, f"My favourite bakery in {city} is called {city} Bread.", close=True)
            with start_process(sleep_for_ever, database_url) as worker:
                assert worker.hear() == "ready"
                for _ in range(chance.randrange(2)):
                    worker.hear()
                time.sleep(chance.uniform(0, 0.01))
                worker.kill()
        engine.start_workers(2)
        wait_until(lambda: all(job.status == "succeeded" for job in ctx.jobs.list_jobs(limit=1000)))

        jobs = ctx.jobs.list_jobs(limit=1000)
        assert len(jobs) == len(CITIES)
        told = [*core(ctx), *archival(ctx)]
        assert len(told) == len(set(told)) == sum(job.result["added"] for job in jobs)
        for city in CITIES:
            assert sum(city in line for line in told) == 1, (city, told)
