"""Statements on one connection to PostgreSQL: prepared when used again, and sent without waiting in a write."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

import longmind
from longmind.store.database import Transaction
from longmind.store.postgres.wire import StatementConnection
from longmind.store.queries import make_query

_MOST_PREPARED = 200
PREPARED = "SELECT COUNT(*) FROM pg_prepared_statements"


@pytest.fixture
def engine(postgres_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(postgres_url, pool_size=1, embedder=None) as opened:
        yield opened


def know(engine: longmind.Engine, statements: dict[str, str]) -> None:
    engine._database.add_queries({name: make_query(name, text, "postgres") for name, text in statements.items()})


def prepared(engine: longmind.Engine) -> int:
    row = engine._database.read(None, lambda run: run.one("prepared"))
    assert row is not None
    return int(row[0])


def test_the_server_keeps_no_more_statements_than_are_worth_it(engine: longmind.Engine) -> None:
    numbers = range(_MOST_PREPARED + 50)
    know(engine, {"prepared": PREPARED, **{f"plus_{number}": f"SELECT :value + {number}" for number in numbers}})

    def add_up(run: Transaction) -> list[object]:
        return [run.one(f"plus_{number}", value=1000) for number in numbers]

    for use in (engine._database.read, engine._database.write):
        for _ in range(3):
            assert use(None, add_up) == [(1000 + number,) for number in numbers]
    assert _MOST_PREPARED - 5 <= prepared(engine) <= _MOST_PREPARED + 5


def test_what_stood_behind_a_failure_in_a_write_can_be_used_afterwards(engine: longmind.Engine) -> None:
    know(engine, {"prepared": PREPARED, "divide": "SELECT 1 / :by", "double": "SELECT 2 * :number"})

    def fail(run: Transaction) -> None:
        run.send("divide", by=0)
        run.send("double", number=4)

    for _ in range(3):
        # The second time both are to be prepared, and the server skips the second one with the rest.
        with pytest.raises(longmind.StoreError, match="division by zero"):
            engine._database.write(None, fail)
        assert engine._database.write(None, lambda run: run.one("double", number=4)) == (8,)
        assert engine._database.read(None, lambda run: run.one("double", number=4)) == (8,)


def test_a_failure_that_nobody_has_looked_at_is_raised_and_nothing_is_written(engine: longmind.Engine) -> None:
    context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    conversation = context.conversations.create_conversation("daily-checkin")
    know(
        engine,
        {"divide": "SELECT 1 / :by", "rename": "UPDATE conversations SET agent_id = 'x' WHERE scope_id = :scope_id"},
    )

    def rename(run: Transaction) -> None:
        run.send("rename")
        run.send("divide", by=0)

    with pytest.raises(longmind.StoreError, match="division by zero"):
        engine._database.write(context.scope, rename)
    assert context.conversations.get_conversation(conversation.id) == conversation


def test_a_write_that_fails_for_reasons_of_its_own_leaves_its_connection_usable(engine: longmind.Engine) -> None:
    know(engine, {"divide": "SELECT 1 / :by", "pid": "SELECT pg_backend_pid()"})

    def give_up(run: Transaction) -> None:
        run.send("divide", by=1)
        run.send("divide", by=0)
        raise longmind.NotFound("memory space", "ms_1")

    before = engine._database.write(None, lambda run: run.one("pid"))
    for _ in range(3):
        with pytest.raises(longmind.NotFound):
            engine._database.write(None, give_up)
    assert engine._database.write(None, lambda run: run.one("pid")) == before


def test_neither_end_waits_for_the_other_when_much_is_sent_and_answered_unheard(engine: longmind.Engine) -> None:
    know(engine, {"echo": "SELECT :text || :text"})
    text = "x" * 10_000

    def shout(run: Transaction) -> list[object]:
        return [answer() for answer in [run.send("echo", text=text) for _ in range(1_500)]]

    assert engine._database.write(None, shout) == [(text + text,)] * 1_500


def test_a_write_whose_session_ends_before_the_commit_is_done_again(engine: longmind.Engine, postgres_url: str) -> None:
    """Also when all it asked for was answered, and nothing is due that would tell of it."""
    context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    know(engine, {"pid": "SELECT pg_backend_pid()"})
    ended: list[object] = []

    def end_it_once(run: Transaction) -> object:
        answer = run.one("pid")
        assert answer is not None
        if not ended:
            ended.append(answer)
            with psycopg.connect(postgres_url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 10000)", answer)
        return answer

    assert engine._database.write(context.scope, end_it_once) not in ended


def test_a_pipeline_whose_connection_is_gone_at_its_end_fails(postgres_url: str) -> None:
    connection = StatementConnection.connect(postgres_url, autocommit=True)

    def ask_and_leave() -> None:
        with connection.pipelined():
            connection.run_statement("SELECT 1")
            connection.close()

    with pytest.raises(psycopg.OperationalError):
        ask_and_leave()


# --- begun, and looked at later --------------------------------------------------------------


@pytest.fixture(params=["read", "write"])
def use(request: pytest.FixtureRequest, engine: longmind.Engine) -> Callable[..., Any]:
    """Runs a unit of work without a scope."""
    know(
        engine,
        {
            "double": "SELECT 2 * :number",
            "divide": "SELECT 1 / :by",
            "echo": "SELECT :text || ''",
            "linger": "SELECT pg_backend_pid(), pg_sleep(:seconds)",
            "pid": "SELECT pg_backend_pid()",
        },
    )
    return partial(getattr(engine._database, request.param), None)


def test_what_was_begun_is_answered_when_it_is_looked_at(use: Callable[..., Any]) -> None:
    def ask(run: Transaction, number: int) -> list[object]:
        answer = run.ask("double", number=number)
        return [answer(), answer(), run.one("double", number=0)]

    # At first as it is, then to be prepared, then prepared.
    for number in range(3):
        assert use(ask, number) == [(2 * number,), (2 * number,), (0,)]


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.03])
def test_an_answer_is_waited_for_whether_it_comes_at_once_or_in_a_moment_or_later(
    seconds: float, use: Callable[..., Any]
) -> None:
    def linger(run: Transaction) -> tuple[object, object]:
        begun = run.ask("linger", seconds=seconds)()
        return begun, run.one("linger", seconds=seconds)

    for _ in range(3):
        begun, at_once = use(linger)
        assert begun == at_once == (begun[0], "")


def test_what_fails_after_it_was_begun_is_raised_when_it_is_looked_at(use: Callable[..., Any]) -> None:
    went_on: list[int] = []

    def fail(run: Transaction, by: int) -> object:
        answer = run.ask("divide", by=by)
        went_on.append(by)
        return answer()

    before = use(lambda run: run.one("pid"))
    for _ in range(3):
        with pytest.raises(longmind.StoreError, match="division by zero"):
            use(fail, 0)
        assert use(fail, 1) == (1,)
    assert went_on == [0, 1] * 3
    assert use(lambda run: run.one("pid")) == before


def test_an_answer_that_nobody_looked_at_is_not_taken_for_that_of_the_next(use: Callable[..., Any]) -> None:
    def give_up(run: Transaction) -> None:
        run.ask("double", number=4)
        raise longmind.NotFound("memory space", "ms_1")

    def forget(run: Transaction) -> None:
        run.ask("double", number=5)

    for number in range(3):
        with pytest.raises(longmind.NotFound):
            use(give_up)
        assert use(lambda run: run.ask("double", number=number)()) == (2 * number,)  # noqa: B023
        use(forget)
        assert use(lambda run: run.one("double", number=number)) == (2 * number,)  # noqa: B023


def test_what_cannot_be_encoded_is_not_begun(use: Callable[..., Any]) -> None:
    with pytest.raises(longmind.InvalidInput, match=r"U\+D800"):
        use(lambda run: run.ask("echo", text="a\ud800"))
    assert use(lambda run: run.ask("echo", text="a")()) == ("a",)


@pytest.mark.parametrize("times", [1, 2])
def test_a_session_that_ends_before_it_has_answered_what_was_begun_is_replaced_once(
    times: int, use: Callable[..., Any], postgres_url: str
) -> None:
    met: list[int] = []

    def linger(run: Transaction) -> object:
        met.append(run.one("pid")[0])  # type: ignore[index]
        ends = len(met) <= times
        answer = run.ask("linger", seconds=60.0 if ends else 0.0)
        if ends:
            with psycopg.connect(postgres_url, autocommit=True) as administrator:
                administrator.execute("SELECT pg_terminate_backend(%s, 10000)", met[-1:])
        return answer()

    if times == 1:
        assert use(linger)[0] == met[1] != met[0]
    else:
        with pytest.raises(longmind.StoreUnavailable, match="terminating connection"):
            use(linger)
        assert len(met) == 2


def test_an_error_that_was_dealt_with_is_gone_with_all_that_it_knew(use: Callable[..., Any]) -> None:
    """At once, and not when the collector comes by: its traceback leads to rows and connections."""

    def fail(run: Transaction) -> None:
        raise longmind.NotFound("memory space", "ms_1")

    gc.disable()
    try:
        try:
            use(fail)
        except longmind.NotFound as error:
            seen = weakref.ref(error)
        assert seen() is None
    finally:
        gc.enable()


# --- listened to awake -----------------------------------------------------------------------


class Listener(StatementConnection):
    """Notes how it listens."""

    awake = 0
    asleep = 0
    near = False
    """Whether it is woken at once, as by a server that answers soon."""
    when_awoken: Callable[[], object] | None = None

    def has_input(self, within: int = 0) -> bool:
        if not within:
            self.awake += 1
            return super().has_input()
        self.asleep += 1
        heard = self.near or super().has_input(within)
        if self.when_awoken is not None:
            self.when_awoken()
        return heard


def test_a_server_is_listened_to_awake_for_as_long_as_its_answers_come_soon(postgres_url: str) -> None:
    slow = "SELECT pg_advisory_xact_lock(1)"

    def looks(statement: str) -> tuple[int, int]:
        connection.awake = connection.asleep = 0
        connection.run_statement(statement)
        return connection.awake, connection.asleep

    def looks_until_asleep() -> tuple[int, int]:
        # The answer cannot come before, however long this process is held up.
        other.execute("SELECT pg_advisory_lock(1)")
        return looks(slow)

    with (
        psycopg.connect(postgres_url, autocommit=True) as other,
        Listener.connect(postgres_url, autocommit=True) as connection,
    ):
        connection.when_awoken = lambda: other.execute("SELECT pg_advisory_unlock(1)")
        awake, asleep = looks_until_asleep()
        assert awake > 0
        assert asleep == 1
        connection.when_awoken = None
        looks(slow)
        # By now it is prepared, and the last answer is slow to come.
        connection.when_awoken = lambda: other.execute("SELECT pg_advisory_unlock(1)")
        looks_until_asleep()
        assert looks_until_asleep() == (0, 1)
        connection.when_awoken = None
        connection.near = True
        assert any(looks("SELECT pg_sleep(0.001)")[0] for _ in range(100))
