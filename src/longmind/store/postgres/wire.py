"""A connection to PostgreSQL that sends the statements of the engine by itself, without the driver's cursors.

A cursor is made for any text, any values and any kind of row. What the engine says is always the same few texts, and it
wants tuples: cursors took longer to send its statements than the server to carry them out. So the values are turned
into bytes, and the answers into rows, by the same parts of the driver that a cursor has, and all that is between is
left out.
"""

from __future__ import annotations

import re
import select
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.generators import execute, fetch_many, send
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from longmind.store.database import Row

_MOST_PREPARED = 200
"""Statements that the server keeps for one connection; each takes it some ten kilobytes."""

_SENT_TOGETHER = 16

_AWAKE_SECONDS = 50e-6
"""For how long an answer is listened for awake."""
_NEAR_SECONDS = 200e-6
"""How soon a server that is near answers who sleeps meanwhile."""
_MOMENT = 10
"""For how many milliseconds an answer that was begun is waited for, before it is waited for with all care."""

_OF_SEGMENTS = re.compile(r"SELECT\b[^()]*\bbody FROM (?:\w+_segments|event_vectors)\b")


@lru_cache(maxsize=1_024)
def _format_of(text: str) -> Format:
    """How the answer is to be written: segments are megabytes, and twice as many as text, which takes time to undo."""
    return Format.BINARY if _OF_SEGMENTS.search(text) else Format.TEXT


Statement = tuple[str, tuple[int, ...]]
"""A text, and the types of the values that go with it."""


class Answer:
    """What a statement gives back: in the middle of a pipeline, it is waited for when it is looked at."""

    __slots__ = ("_connection", "asked_for", "rows")

    def __init__(self, connection: StatementConnection) -> None:
        self._connection = connection
        self.rows: list[Row] | None = None
        self.asked_for = False
        """In a pipeline a server keeps its answers to itself until it is asked for them."""

    def all(self) -> list[Row]:
        if self.rows is None:
            self._connection.hear(self)
        assert self.rows is not None
        return self.rows

    def one(self) -> Row | None:
        rows = self.all()
        return rows[0] if rows else None


class StatementConnection(psycopg.Connection[Row]):
    """A connection that prepares every statement which is used more than once, and sends many without waiting."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._transformer = Transformer()
        self._statements_met: set[Statement] = set()
        self._statement_names: dict[Statement, bytes] = {}
        """Those that are prepared, the one that was used last at the end."""
        self._numbers = count(1)
        self._pipelined = False
        self._answers_due: deque[Answer] = deque()
        self._ear: select.poll | None = None
        self._awake = True
        """Whether the next answer is listened for awake."""
        self.doubtful = False
        """Whether the server may lack what this end takes for prepared."""

    def run_statement(self, text: str, values: Sequence[Any] = ()) -> Answer:
        """Send a statement, whose parameters are numbered. Outside of a pipeline the answer is waited for."""
        self._send(text, values)
        return self._answered()

    def begin_statement(self, text: str, values: Sequence[Any] = ()) -> Answer:
        """Send a statement for the server to begin with at once; the answer is waited for when it is looked at.

        Outside of a pipeline nothing else can be sent before that.
        """
        self._send(text, values)
        answer = Answer(self)
        self._answers_due.append(answer)
        if self._pipelined:
            self.pgconn.send_flush_request()
            answer.asked_for = True
        self.push()
        return answer

    def push(self) -> None:
        """Let the server begin with what was sent so far. It is waited for only if the server is far behind."""
        if self.pgconn.flush():
            self.wait(send(self.pgconn))

    def _send(self, text: str, values: Sequence[Any]) -> None:
        transformer = self._transformer
        parameters = transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        formats = transformer.formats
        statement = (text, transformer.types or ())
        name = self._name_of(statement)
        if name is None:
            self.pgconn.send_query_params(text.encode(), parameters, statement[1], formats, _format_of(text))
        else:
            self.pgconn.send_query_prepared(name, parameters, formats, _format_of(text))

    def _name_of(self, statement: Statement) -> bytes | None:
        """What it is prepared as; None the first time, since many statements are used only once."""
        names = self._statement_names
        name = names.pop(statement, None)
        if name is None:
            if statement not in self._statements_met:
                self._statements_met.add(statement)
                return None
            if len(names) >= _MOST_PREPARED:
                self.pgconn.send_query_params(b"DEALLOCATE " + names.pop(next(iter(names))), None)
                self._answered()
            name = b"longmind_%d" % next(self._numbers)
            text, types = statement
            self.pgconn.send_prepare(name, text.encode(), types)
            self._answered()
        names[statement] = name
        return name

    def forget_statements(self) -> None:
        """Begin anew to prepare statements, when nobody knows any more which there are, or which still can be used."""
        self._statements_met.clear()
        self._statement_names.clear()
        self.doubtful = False
        self.run_statement("DEALLOCATE ALL")

    def _answered(self) -> Answer:
        """The answer to what was sent last."""
        answer = Answer(self)
        if not self._pipelined:
            self.push()
            self._take(answer, self._results())
            return answer
        self._answers_due.append(answer)
        # Several go together: to wake the server for each costs more than it gains by beginning earlier. What is long
        # the driver sends at once.
        if len(self._answers_due) % _SENT_TOGETHER == 0:
            self.push()
        return answer

    @contextmanager
    def pipelined(self) -> Iterator[None]:
        """Wait for no answer before it is looked at, or the block ends."""
        self.pgconn.enter_pipeline_mode()
        self._pipelined = True
        try:
            yield
        except Exception:
            # What is still in the pipeline is skipped by the server, or is not wanted any more.
            with suppress(psycopg.Error):
                self._leave_pipeline()
            raise
        self._leave_pipeline()

    def _leave_pipeline(self) -> None:
        """Wait for all that is still in the pipeline, and fail if any of it has, or there is nobody to wait for."""
        failed: list[psycopg.Error] = []
        try:
            self.pgconn.pipeline_sync()
            self.wait(self._taking_in_the_rest(failed))
            self.pgconn.exit_pipeline_mode()
        except BaseException as error:
            # Nobody knows where in the pipeline the two ends are. What the server said last tells more of the reason.
            self.close()
            raise failed[0] if failed and isinstance(error, psycopg.Error) else error from None
        self._pipelined = False
        if failed:
            raise failed[0]

    def _taking_in_the_rest(self, failed: list[psycopg.Error]) -> Generator[Any, Any, None]:
        yield from send(self.pgconn)
        while self._answers_due:
            results = yield from fetch_many(self.pgconn)
            try:
                # Also of a write that is committed by then: no column of ours is of a type that could fail to be read.
                self._take(self._answers_due.popleft(), results)
            except psycopg.Error as error:
                failed.append(error)
        # The end of the pipeline has an answer of its own.
        yield from fetch_many(self.pgconn)

    def hear(self, last: Answer | None = None) -> None:
        """Wait for all answers that are due, or for one and those before it."""
        if not self._pipelined:
            self._take(self._answers_due.popleft(), self._results())
            return
        if last is None or not last.asked_for:
            self.pgconn.send_flush_request()
        self.wait(self._taking_in(last))

    def _results(self) -> list[PGresult]:
        """What comes of the statement that was sent: mostly at hand, or in a moment, without the steps of waiting."""
        results: list[PGresult] = []
        connection = self.pgconn
        connection.consume_input()
        if connection.is_busy():
            self._listen_for_a_moment()
            connection.consume_input()
        # To take what is not there yet would wait for it without a limit, and let no other thread run meanwhile.
        while not connection.is_busy():
            result = connection.get_result()
            if result is None:
                return results
            results.append(result)
        try:
            results += self.wait(execute(self.pgconn))
        except psycopg.OperationalError:
            # A server that has said why it leaves says nothing more.
            if not results or results[0].status != ExecStatus.FATAL_ERROR:
                raise
        return results

    def hear_of_trouble(self) -> None:
        """Fail now if something has failed already, or the server has left."""
        # In the middle of a pipeline a server says nothing that it was not asked for, unless it is that.
        if self.has_something_to_say():
            if not self._answers_due:
                # Who waits for nothing does not notice that nobody is there.
                self.run_statement("SELECT 1")
            self.hear()

    def _listen_for_a_moment(self) -> None:
        """Wait for the server to say something; not for long, since it may be gone.

        One that is near says it sooner than a process that sleeps would be woken, so it is listened to awake. Where
        that was in vain, it may be far away, or wait itself for the processor that is kept busy so: the next time is
        slept through, and tells whether to be awake again.
        """
        began = time.monotonic()
        was_awake = self._awake
        while self._awake:
            if self.has_something_to_say():
                return
            self._awake = time.monotonic() - began < _AWAKE_SECONDS
        self.has_something_to_say(within=_MOMENT)
        self._awake = not was_awake and time.monotonic() - began < _NEAR_SECONDS

    def has_something_to_say(self, within: int = 0) -> bool:
        """Whether the server has, by now or within so many milliseconds."""
        if self._ear is None:
            self._ear = select.poll()
            self._ear.register(self.fileno(), select.POLLIN)
        return bool(self._ear.poll(within))

    def _taking_in(self, last: Answer | None) -> Generator[Any, Any, None]:
        yield from send(self.pgconn)
        answer = None
        while self._answers_due and (last is None or answer is not last):
            results = yield from fetch_many(self.pgconn)
            answer = self._answers_due.popleft()
            self._take(answer, results)

    def _take(self, answer: Answer, results: list[PGresult]) -> None:
        if not results:
            raise psycopg.OperationalError("the server has given no answer")
        status = results[0].status
        if status == ExecStatus.TUPLES_OK:
            answer.rows = self._rows_of(results[0])
        elif status == ExecStatus.COMMAND_OK:
            answer.rows = []
        else:
            self.doubtful = True
            if status == ExecStatus.PIPELINE_ABORTED:
                raise psycopg.errors.PipelineAborted("pipeline aborted")
            raise psycopg.errors.error_from_result(results[0])

    def _rows_of(self, result: PGresult) -> list[Row]:
        if not result.ntuples:
            return []
        self._transformer.set_pgresult(result)
        rows = self._transformer.load_rows(0, result.ntuples, tuple)
        # It would be held until the next answer, which may take long to come.
        self._transformer.set_pgresult(None)
        return rows
