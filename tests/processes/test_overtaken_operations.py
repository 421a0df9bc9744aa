"""Operations that are overtaken by another one between two of their steps answer as if they had come after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

import longmind
from harness.crew import PATIENCE, ada, wait_until
from longmind.clock import system_clock
from longmind.memory.atoms import remove_atom
from longmind.store.database import Transaction
from longmind.store.tables import blocks
from longmind.store.tables.blocks import BlockPlace

_BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
PLACE = BlockPlace("archival")


@contextmanager
def overtaken(url: str, act: Callable[[longmind.Context], Any], effect: Callable[..., Any]) -> Iterator[Future[Any]]:
    """Begin something, while another transaction has done its effect and not committed; gives what comes of it."""
    done, may_commit = threading.Event(), threading.Event()

    def work(run: Transaction, attempt: longmind.JobRun) -> None:
        effect(run, attempt)
        # An answer from the server shows that all that was sent before has been done.
        blocks.find(run, PLACE)
        done.set()
        assert may_commit.wait(PATIENCE)

    with ada(url) as (_, ctx), ada(url) as (other, _), ThreadPoolExecutor() as threads:
        other.register_job("overtake", lambda run: longmind.Effect(work, (run,)))
        ctx.jobs.enqueue("overtake")
        overtaking = threads.submit(other.work)
        assert done.wait(PATIENCE)
        acting = threads.submit(act, ctx)
        with psycopg.connect(url, autocommit=True) as connection:
            wait_until(lambda: connection.execute(_BLOCKED).fetchone() == (1,))
        may_commit.set()
        assert overtaking.result() == longmind.WorkReport(succeeded=1)
        yield acting


def test_a_block_is_deleted_whoever_writes_it_at_the_same_time(postgres_url: str) -> None:
    def replace(run: Transaction, attempt: longmind.JobRun) -> None:
        kept = blocks.find(run, PLACE)
        assert kept is not None
        blocks.update(run, attempt.scope, PLACE, "two", kept.updated_at, "app", system_clock())

    with ada(postgres_url) as (_, ctx):
        ctx.blocks.update("archival", "one", None)
        with overtaken(postgres_url, lambda ctx: ctx.blocks.delete("archival"), replace) as deleting:
            deleting.result()
        assert ctx.blocks.get("archival") is None


def test_a_block_that_somebody_else_has_deleted_is_missing_and_no_conflict(postgres_url: str) -> None:
    def delete(run: Transaction, attempt: longmind.JobRun) -> None:
        blocks.delete(run, attempt.scope, PLACE, None, system_clock())

    with ada(postgres_url) as (_, ctx):
        ctx.blocks.update("archival", "one", None)
        deleting = overtaken(postgres_url, lambda ctx: ctx.blocks.delete("archival"), delete)
        with deleting as deleted, pytest.raises(longmind.NotFound):
            deleted.result()


def test_a_block_that_was_made_and_deleted_meanwhile_is_made(postgres_url: str) -> None:
    def make_and_delete(run: Transaction, attempt: longmind.JobRun) -> None:
        blocks.update(run, attempt.scope, PLACE, "theirs", None, "app", system_clock())
        blocks.delete(run, attempt.scope, PLACE, None, system_clock())

    with overtaken(postgres_url, lambda ctx: ctx.blocks.update("archival", "ours", None), make_and_delete) as making:
        assert making.result().content == "ours"


def test_an_atom_that_was_deleted_meanwhile_is_missing_and_was_not_superseded(postgres_url: str) -> None:
    new = {"text": "Ada lives in Rome.", "category": {"name": "home", "kind": "FACT"}}
    with ada(postgres_url) as (_, ctx):
        space = ctx.memory.create_memory_space("home")
        atom = ctx.memory.add_atom(space.id, {**new, "text": "Ada lives in Oslo."})

        def delete(run: Transaction, attempt: longmind.JobRun) -> None:
            remove_atom(run, attempt.scope, atom.id, system_clock())

        superseding = overtaken(postgres_url, lambda ctx: ctx.memory.supersede_atom(atom.id, new), delete)
        with superseding as superseded, pytest.raises(longmind.NotFound):
            superseded.result()


class Between:
    """A transaction in which something else happens after some of its statements."""

    def __init__(self, run: Transaction, after: dict[str, Callable[[], object]]) -> None:
        self._run = run
        self._after = after

    def one(self, query: str, **values: Any) -> Any:
        row = self._run.one(query, **values)
        self._after.pop(query, lambda: None)()
        return row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


def test_a_block_that_is_made_and_written_while_it_is_deleted_is_deleted(postgres_url: str) -> None:
    with ada(postgres_url) as (engine, ctx), ada(postgres_url) as (_, others):

        def make() -> None:
            others.blocks.update("archival", "one", None)

        def write() -> None:
            made = others.blocks.get("archival")
            assert made is not None
            others.blocks.update("archival", "two", made.updated_at)

        def delete(run: Any) -> None:
            between: Any = Between(run, {"hold_block": make, "get_block": write})
            blocks.delete(between, ctx.scope, PLACE, None, system_clock())

        engine._database.write(ctx.scope, delete)
        assert ctx.blocks.get("archival") is None
