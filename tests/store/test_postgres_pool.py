"""The pool of connections to PostgreSQL keeps the one at hand that was used last, and loses none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

import longmind
from harness.crew import wait_until
from longmind.store.database import Transaction
from longmind.store.postgres import pooled_connections as postgres
from longmind.store.postgres.pool import StickyPool
from longmind.store.queries import make_query
from tests.store.sessions import sessions_of


@pytest.fixture
def open_engine(postgres_url: str) -> Iterator[Callable[[int], longmind.Engine]]:
    """Opens an engine with a pool of a size."""
    with ExitStack() as opened:

        def open_engine(pool_size: int) -> longmind.Engine:
            engine = opened.enter_context(longmind.open(postgres_url, pool_size=pool_size, embedder=None))
            engine._database.add_queries(
                {
                    "session": make_query("session", "SELECT pg_backend_pid()", "postgres"),
                    "seen": make_query(
                        "seen", "SELECT current_setting('longmind.scope'), pg_backend_pid()", "postgres"
                    ),
                }
            )
            return engine

        yield open_engine


def pool_of(engine: longmind.Engine) -> StickyPool:
    pool: StickyPool = engine._database._connections.open_pool()  # type: ignore[attr-defined]
    return pool


def fill(pool: StickyPool) -> set[int]:
    """Let the pool make all connections that it may have."""
    with ExitStack() as held:
        return {held.enter_context(pool.connection()).info.backend_pid for _ in range(pool.max_size)}


def session(run: Transaction) -> int:
    row = run.one("session")
    assert row is not None
    return int(row[0])


def test_the_connection_that_was_used_last_is_given_out_again(
    open_engine: Callable[[int], longmind.Engine],
) -> None:
    engine = open_engine(3)
    assert len(fill(pool_of(engine))) == 3
    uses = (engine._database.read, engine._database.write, engine._database.read_snapshot)
    assert len({use(None, session) for _ in range(3) for use in uses}) == 1


def test_a_connection_that_is_at_hand_shows_each_user_their_own(
    open_engine: Callable[[int], longmind.Engine],
) -> None:
    engine = open_engine(1)
    scopes = [engine.context(tenant_id="acme", app_id="support", user_id=name).scope for name in ("ada", "bob")]
    for use in (engine._database.read, engine._database.write):
        seen = [use(scope, lambda run: run.ask("seen")()) for _ in range(2) for scope in scopes]
        assert [row and row[0] for row in seen] == [scope.id for scope in scopes] * 2
        assert len({row and row[1] for row in seen}) == 1


def test_who_waits_gets_the_connection_that_is_given_back(open_engine: Callable[[int], longmind.Engine]) -> None:
    engine = open_engine(1)
    pool, taken, done = pool_of(engine), threading.Event(), threading.Event()

    def hold(run: Transaction) -> int:
        taken.set()
        assert done.wait(60)
        return session(run)

    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(engine._database.read, None, hold)
        assert taken.wait(60)
        others = [threads.submit(use, None, session) for use in (engine._database.read, engine._database.write) * 4]
        wait_until(lambda: pool.get_stats()["requests_waiting"] == 3)
        done.set()
        assert {each.result(60) for each in (first, *others)} == {engine._database.read(None, session)}
    # Who has waited in vain leaves nothing behind either.
    with pool.connection(), pytest.raises(psycopg.OperationalError):
        pool.getconn(timeout=0.01)
    assert [engine._database.read(None, session) for _ in range(2)] == [first.result()] * 2


@pytest.mark.parametrize("in_use", [False, True])
def test_none_is_kept_when_all_are_let_go_of(
    in_use: bool, open_engine: Callable[[int], longmind.Engine], postgres_url: str
) -> None:
    engine = open_engine(3)
    pool = pool_of(engine)

    def let_go(all_of_them: Callable[[], None]) -> set[int]:
        before = fill(pool)
        connection = pool.getconn() if in_use else None
        all_of_them()
        if connection is not None:
            pool.putconn(connection)
        return before

    drained = let_go(pool.drain)
    assert engine._database.read(None, session) not in drained
    # A session that was left is there for a moment longer.
    wait_until(lambda: drained.isdisjoint(sessions_of(postgres_url)))
    let_go(engine.close)
    engine.close()
    wait_until(lambda: not sessions_of(postgres_url))


def test_a_connection_that_is_old_is_not_kept(
    open_engine: Callable[[int], longmind.Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_LIFETIME_SECONDS", 0.0)
    engine = open_engine(1)
    assert len({engine._database.read(None, session) for _ in range(3)}) == 3


@pytest.mark.parametrize("use", ["read", "write"])
def test_a_connection_that_has_broken_at_hand_is_replaced(
    use: str, open_engine: Callable[[int], longmind.Engine], postgres_url: str
) -> None:
    engine = open_engine(1)
    broken = engine._database.read(None, session)
    with psycopg.connect(postgres_url, autocommit=True) as administrator:
        administrator.execute("SELECT pg_terminate_backend(%s, 10000)", [broken])
    now = getattr(engine._database, use)(None, session)
    assert now != broken
    assert engine._database.read(None, session) == now
