"""The wire layer: a connection that prepares and sends the engine's statements itself, without the driver's cursors.

A cursor serves any text, any values and any kind of row. The engine sends the same few texts and wants tuples, and a
cursor took longer to send one than the server to run it. So values become bytes and answers become rows with the parts
of psycopg that a cursor uses (`Transformer`, libpq through `pgconn`, the generators for waiting), and nothing more.
The invariants:
- Answers come in the order in which statements were sent. `_answers_due` holds those that have not been taken in,
  and a later one cannot be read before them.
- In a pipeline (`pipelined`) the server buffers its answers until a flush request or the sync at the end. Outside of
  one, each answer is taken in before the next statement is sent; after `begin_statement` the caller sees to that.
- A statement is prepared at its second use and sent by name from then on; at most `_MOST_PREPARED` are kept, and the
  least recently used goes first. After an error the server may lack a statement that this end believes to be prepared,
  since a pipeline skips everything behind a failure: `doubtful` says so, and `forget_statements` starts over.
- Leaving a pipeline takes in every answer that is due, even after an error. If that fails, nobody knows how far the two
  ends have come, and the connection is closed.
- Waiting with a limit on silence is left to `ScopedConnection.wait`. What is read without it here is only what has
  already arrived, or arrives within milliseconds.
- Segments of the search index are read in binary form, which is half as long as text; everything else is text.
It relies on internals of psycopg: see the pin on its version in `pyproject.toml`. One thread at a time may use it.
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
"""Statements that the server keeps prepared for one connection; each costs it about ten kilobytes."""

_SENT_TOGETHER = 16
"""Statements of a pipeline that are sent in one system call."""

_AWAKE_SECONDS = 50e-6
"""Seconds to poll for an answer without sleeping."""
_NEAR_SECONDS = 200e-6
"""Seconds within which a nearby server answers even a process that sleeps."""
_SHORT_WAIT = 10
"""Milliseconds to wait for an answer here, before waiting with a limit on silence."""

_READS_SEGMENTS = re.compile(r"SELECT\b[^()]*\bbody FROM (?:\w+_segments|event_vectors)\b")


@lru_cache(maxsize=1_024)
def _format_of(text: str) -> Format:
    """Choose the form of an answer: segments are megabytes, which are twice as long and slow to decode as text."""
    return Format.BINARY if _READS_SEGMENTS.search(text) else Format.TEXT


Statement = tuple[str, tuple[int, ...]]
"""The text of a statement, and the types of its values."""


class StatementAnswer:
    """The rows of a statement. In a pipeline, or after `begin_statement`, they are waited for when first read."""

    __slots__ = ("_connection", "asked_for", "rows")

    def __init__(self, connection: StatementConnection) -> None:
        self._connection = connection
        self.rows: list[Row] | None = None
        self.asked_for = False
        """True if a flush request was sent for it: in a pipeline the server keeps its answers until then."""

    def all(self) -> list[Row]:
        """Return all rows, waiting for them if need be; raise the error of the statement."""
        if self.rows is None:
            self._connection.take_in_answers(self)
        assert self.rows is not None
        return self.rows

    def one(self) -> Row | None:
        """Return the first row, or None; waits and raises like `all`."""
        rows = self.all()
        return rows[0] if rows else None


class StatementConnection(psycopg.Connection[Row]):
    """A connection that prepares each statement used more than once, and pipelines many without waiting."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._transformer = Transformer()
        self._statements_met: set[Statement] = set()
        self._statement_names: dict[Statement, bytes] = {}
        """Names of the prepared statements, least recently used first."""
        self._numbers = count(1)
        self._pipelined = False
        self._answers_due: deque[StatementAnswer] = deque()
        self._poller: select.poll | None = None
        self._awake = True
        """True to poll for the next answer without sleeping."""
        self.doubtful = False
        """True if the server may lack statements that this end believes to be prepared."""

    def run_statement(self, text: str, values: Sequence[Any] = ()) -> StatementAnswer:
        """Send a statement with numbered parameters; outside of a pipeline, wait for its answer."""
        self._send_statement(text, values)
        return self._expect_answer()

    def begin_statement(self, text: str, values: Sequence[Any] = ()) -> StatementAnswer:
        """Send a statement and let the server begin at once; its answer is waited for when it is read.

        Outside of a pipeline, nothing else may be sent before that.
        """
        self._send_statement(text, values)
        answer = StatementAnswer(self)
        self._answers_due.append(answer)
        if self._pipelined:
            self.pgconn.send_flush_request()
            answer.asked_for = True
        self.push()
        return answer

    def push(self) -> None:
        """Let the server begin with everything sent so far; block only if its input buffer is full."""
        if self.pgconn.flush():
            self.wait(send(self.pgconn))

    def _send_statement(self, text: str, values: Sequence[Any]) -> None:
        transformer = self._transformer
        parameters = transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        formats = transformer.formats
        statement = (text, transformer.types or ())
        name = self._find_or_prepare(statement)
        if name is None:
            self.pgconn.send_query_params(text.encode(), parameters, statement[1], formats, _format_of(text))
        else:
            self.pgconn.send_query_prepared(name, parameters, formats, _format_of(text))

    def _find_or_prepare(self, statement: Statement) -> bytes | None:
        """Return the name that a statement is prepared under, preparing it at the second use; None at the first.

        Many statements are used only once.
        """
        names = self._statement_names
        name = names.pop(statement, None)
        if name is None:
            if statement not in self._statements_met:
                self._statements_met.add(statement)
                return None
            if len(names) >= _MOST_PREPARED:
                self.pgconn.send_query_params(b"DEALLOCATE " + names.pop(next(iter(names))), None)
                self._expect_answer()
            name = b"longmind_%d" % next(self._numbers)
            text, types = statement
            self.pgconn.send_prepare(name, text.encode(), types)
            self._expect_answer()
        names[statement] = name
        return name

    def forget_statements(self) -> None:
        """Drop all prepared statements on both ends, when it is unknown which exist or can still be used."""
        self._statements_met.clear()
        self._statement_names.clear()
        self.doubtful = False
        self.run_statement("DEALLOCATE ALL")

    def _expect_answer(self) -> StatementAnswer:
        """Return the answer to the statement that was sent last."""
        answer = StatementAnswer(self)
        if not self._pipelined:
            self.push()
            self._store_results(answer, self._read_results())
            return answer
        self._answers_due.append(answer)
        # Several go together: waking the server for each costs more than its earlier start gains. The driver sends
        # long ones at once anyway.
        if len(self._answers_due) % _SENT_TOGETHER == 0:
            self.push()
        return answer

    @contextmanager
    def pipelined(self) -> Iterator[None]:
        """Pipeline the statements of the block: wait for an answer when it is read, and for the rest at the end."""
        self.pgconn.enter_pipeline_mode()
        self._pipelined = True
        try:
            yield
        except Exception:
            # The server skips the rest of the pipeline, or nobody wants its answers any more.
            with suppress(psycopg.Error):
                self._leave_pipeline()
            raise
        self._leave_pipeline()

    def _leave_pipeline(self) -> None:
        """Take in all answers that are due; raise the first error among them, or that of a lost connection."""
        failed: list[psycopg.Error] = []
        try:
            self.pgconn.pipeline_sync()
            self.wait(self._take_in_rest(failed))
            self.pgconn.exit_pipeline_mode()
        except BaseException as error:
            # Nobody knows how far the two ends have come. What the server said first explains more than the loss.
            self.close()
            raise failed[0] if failed and isinstance(error, psycopg.Error) else error from None
        self._pipelined = False
        if failed:
            raise failed[0]

    def _take_in_rest(self, failed: list[psycopg.Error]) -> Generator[Any, Any, None]:
        yield from send(self.pgconn)
        while self._answers_due:
            results = yield from fetch_many(self.pgconn)
            try:
                # Safe even if the write is committed by now: no column has a type whose values could fail to load.
                self._store_results(self._answers_due.popleft(), results)
            except psycopg.Error as error:
                failed.append(error)
        # The sync at the end of a pipeline has an answer of its own.
        yield from fetch_many(self.pgconn)

    def take_in_answers(self, last: StatementAnswer | None = None) -> None:
        """Wait for all answers that are due, or for those up to `last`."""
        if not self._pipelined:
            self._store_results(self._answers_due.popleft(), self._read_results())
            return
        if last is None or not last.asked_for:
            self.pgconn.send_flush_request()
        self.wait(self._take_in(last))

    def _read_results(self) -> list[PGresult]:
        """Return the results of the one statement under way.

        Most are there at once or within milliseconds, and are read without the driver's generators, which cost more
        than the answer itself.
        """
        results: list[PGresult] = []
        connection = self.pgconn
        connection.consume_input()
        if connection.is_busy():
            self._wait_briefly()
            connection.consume_input()
        # get_result() on a busy connection would wait without a limit, and would keep the GIL.
        while not connection.is_busy():
            result = connection.get_result()
            if result is None:
                return results
            results.append(result)
        try:
            results += self.wait(execute(self.pgconn))
        except psycopg.OperationalError:
            # After a fatal error, the server closes the connection and sends nothing more.
            if not results or results[0].status != ExecStatus.FATAL_ERROR:
                raise
        return results

    def raise_early_errors(self) -> None:
        """Raise now if a statement has already failed, or the server has left.

        Called before COMMIT, so that a known failure is not mistaken for an unknown outcome.
        """
        # In the middle of a pipeline, a server sends nothing unasked except an error or its goodbye.
        if self.has_input():
            if not self._answers_due:
                # Without a statement under way, the loss of the server would go unnoticed.
                self.run_statement("SELECT 1")
            self.take_in_answers()

    def _wait_briefly(self) -> None:
        """Wait for the server to send something; only for milliseconds, since it may be gone.

        A nearby server answers faster than a sleeping process wakes up, so this polls at first. If polling was in
        vain, the server is far away, or is waiting for the processor that polling keeps busy: the next wait sleeps,
        and its duration decides whether to poll again.
        """
        began = time.monotonic()
        was_awake = self._awake
        while self._awake:
            if self.has_input():
                return
            self._awake = time.monotonic() - began < _AWAKE_SECONDS
        self.has_input(within=_SHORT_WAIT)
        self._awake = not was_awake and time.monotonic() - began < _NEAR_SECONDS

    def has_input(self, within: int = 0) -> bool:
        """Return whether the server has sent something, by now or within the given milliseconds."""
        if self._poller is None:
            self._poller = select.poll()
            self._poller.register(self.fileno(), select.POLLIN)
        return bool(self._poller.poll(within))

    def _take_in(self, last: StatementAnswer | None) -> Generator[Any, Any, None]:
        yield from send(self.pgconn)
        answer = None
        while self._answers_due and (last is None or answer is not last):
            results = yield from fetch_many(self.pgconn)
            answer = self._answers_due.popleft()
            self._store_results(answer, results)

    def _store_results(self, answer: StatementAnswer, results: list[PGresult]) -> None:
        """Put the rows of a statement into its answer, or raise its error."""
        if not results:
            raise psycopg.OperationalError("the server sent no answer")
        status = results[0].status
        if status == ExecStatus.TUPLES_OK:
            answer.rows = self._load_rows(results[0])
        elif status == ExecStatus.COMMAND_OK:
            answer.rows = []
        else:
            self.doubtful = True
            if status == ExecStatus.PIPELINE_ABORTED:
                raise psycopg.errors.PipelineAborted("pipeline aborted")
            raise psycopg.errors.error_from_result(results[0])

    def _load_rows(self, result: PGresult) -> list[Row]:
        if not result.ntuples:
            return []
        self._transformer.set_pgresult(result)
        rows = self._transformer.load_rows(0, result.ntuples, tuple)
        # Otherwise the result would stay in memory until the next answer, which may take long.
        self._transformer.set_pgresult(None)
        return rows
