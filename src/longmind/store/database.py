"""What the rest of Longmind sees of a database: transactions, and functions that are run in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from longmind.errors import InvalidInput, StoreError, StoreReadOnly
from longmind.models.change import Change
from longmind.scope import AnyScope, ReaderScope
from longmind.store.queries import EngineName, Query
from longmind.store.write_health import WriteHealth

P = ParamSpec("P")
T = TypeVar("T")
Row = tuple[Any, ...]
PendingRow = Callable[[], Row | None]
"""The row a statement gives back, to be asked for when the transaction has ended."""
ChangeBatch = Iterable[Callable[[], Change]]


class RowRefused(StoreError):
    """A table does not take a row: a value is missing, or is none that its column may have."""


EVERY_SCOPE = "*"
BEYOND_ALL_IDS = "~"
"""Sorts after every id, since those are made of letters and digits."""


class ScopeKeys(NamedTuple):
    """What every statement of a transaction is bound to: the scope, and the app that the scope is part of."""

    scope_id: str
    app_key: str


class Transaction(Protocol):
    """A transaction in progress. It binds the scope to every statement by itself."""

    @property
    def scope_id(self) -> str: ...

    @property
    def history(self) -> object:
        """Equal for as long as the database only goes on: another one when it may have lost what it had committed.

        A crash of a server that does not wait for its disk, a replica that takes over, a backup that is brought back:
        what is kept in memory is then of a past that was not, and the numbers that it is compared by come again.
        """

    def one(self, query: str, **values: Any) -> Row | None:
        """The first row."""

    def all(self, query: str, **values: Any) -> list[Row]:
        """All rows."""

    def ask(self, query: str, **values: Any) -> PendingRow:
        """Begin a statement and go on: its answer comes meanwhile, and is waited for when it is asked for.

        In a read nothing else can be run before that.
        """

    def send(self, query: str, **values: Any) -> PendingRow:
        """Run a statement whose answer is not needed before the end: it costs no round trip of its own."""

    def insert_each(self, query: str, rows: Mapping[str, Sequence[Any]], **values: Any) -> None:
        """Insert many rows, which come as columns of equal length; values are the same for all."""

    def number_each(
        self, query: str, columns: Sequence[str], rows: Sequence[Row], **values: Any
    ) -> Callable[[], Sequence[int]]:
        """Insert many rows into a table that numbers them; the answer are the numbers, in the order of the rows.

        The statement takes the scope first, then the values, which are the same for all, and then the columns.
        """

    def each(self, query: str, **values: Any) -> Iterator[Row]:
        """The rows one after another, however many there are. Only inside of `read_snapshot`."""

    def lift_time_limit(self) -> None:
        """Let this transaction take as long as it needs. Any other is ended when it seems to stand still."""

    def bind_scope(self, scope: AnyScope | None) -> AbstractContextManager[Transaction]:
        """The same transaction, bound to another scope until the block ends."""

    def emit(self, change: Callable[[], Change]) -> None:
        """Announce a change, once the transaction has been committed."""

    def emit_each(self, changes: ChangeBatch) -> None:
        """Announce many. They are gone through once, after the commit, and not at all when nobody listens."""


Work = Callable[Concatenate[Transaction, P], T]


class Publisher(Protocol):
    """Where a database tells what it has committed."""

    def add(self, changes: list[ChangeBatch]) -> None:
        """Called once per transaction, in the order of commits where the engine knows it."""

    def deliver(self) -> None:
        """Called when no lock is held: a subscriber may take its time, and write itself."""


class Database(Protocol):
    """One of the two engines."""

    engine: EngineName
    is_remote: bool
    """Whether an answer takes a while, in which something else can be done."""
    write_health: WriteHealth
    """Reports whether writes fail for want of room or rights."""

    @property
    def clock_error(self) -> int:
        """Microseconds that this machine's clock is behind the database's; 0 if they agree within a second."""

    def read(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that only reads; each of its statements sees what is committed by then.

        No scope is for the engine's own work over all of them.
        """

    def write(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a transaction of its own: when this returns, what it wrote is on disk."""

    def read_snapshot(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that only reads, and sees the database as it was when it began, however long it takes."""

    def write_exclusively(self, scope: AnyScope, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a transaction that sees and changes its scope as of one instant.

        Work behind a fence waits for it, and is refused when it has raised the scope's epoch. What somebody else has
        changed meanwhile makes it begin again.
        """

    def add_queries(self, queries: Mapping[str, Query]) -> None:
        """Take up statements that are made while it is open, such as those on all columns of a table."""

    def scrub(self, most_megabytes: float | None = None) -> ScrubReport:
        """Leave no trace in the files of rows that were deleted; what cannot be done now is told.

        Given a size, what takes long is left for later unless it is a matter of a file that is no larger.
        """

    def advance_ledger_sequence(self) -> None:
        """Let the next place in the ledger come after the last that is taken, once rows were put in with theirs."""

    def wait_for_writers(self, seconds: float) -> bool:
        """Wait until every transaction that is writing now has ended; False when that took longer than given.

        Positions of the ledger are taken before their transactions commit. After this, a place that was empty below a
        row that was seen before stays empty for ever: its transaction was rolled back, or its row was erased.
        """

    def close(self) -> None: ...


@dataclass(frozen=True)
class ScrubReport:
    """What became of the traces that deleted rows leave in the files of a database."""

    done: bool
    how: str
    left: str | None = None
    """What is still to do, and by whom."""


@dataclass
class Announcements:
    """The changes of one transaction, kept until it is committed."""

    changes: list[ChangeBatch] = field(default_factory=list)

    def emit(self, change: Callable[[], Change]) -> None:
        self.changes.append((change,))

    def emit_each(self, changes: ChangeBatch) -> None:
        self.changes.append(changes)


class EffectConflict(Exception):
    """What an Effect was made from has changed meanwhile: nothing is written, and its handler is asked again."""


def to_scope_keys(scope: AnyScope | None) -> ScopeKeys:
    return ScopeKeys(EVERY_SCOPE, EVERY_SCOPE) if scope is None else ScopeKeys(scope.id, scope.app_key)


def describe_unstorable(error: UnicodeEncodeError) -> InvalidInput:
    """What to tell of a text that came as far as a database, and that none can keep."""
    found = f"U+{ord(error.object[error.start]):04X}"
    return InvalidInput(
        f"A text has the character {found} at position {error.start}, which cannot be stored.",
        hint="Remove it: no database can keep it as text.",
    )


def refuse_nesting(nested: bool) -> None:
    """A unit of work must not begin another write: it would wait for itself."""
    if nested:
        raise StoreError(
            "A write was asked for inside a transaction.",
            hint="Inside an Effect use the functions of longmind.store on the transaction it is given.",
        )


def refuse_reader(scope: AnyScope | None) -> None:
    """Who was granted a space reads in its owner's scope. Nothing ought to write there; this makes sure of it."""
    if isinstance(scope, ReaderScope):
        raise StoreReadOnly(
            "A write was asked for in a scope that is open for reading only.", hint="Only the owner may."
        )
