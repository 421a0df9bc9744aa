"""The contract of a database: transactions, and units of work that run in them.

A unit of work is a function of a transaction. It calls named statements of the `.sql` files, which the transaction
binds to its scope, and does nothing else: no network, no model, no other write. It may run a second time, after a lost
connection or a conflict. Both engines implement these protocols, so that no caller knows which one it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from longmind.errors import InvalidInput, StoreError, StoreReadOnly
from longmind.models.change import Change
from longmind.scope import AnyScope, ReaderScope
from longmind.store.queries import EngineName, NamedQuery
from longmind.store.write_health import WriteHealth

P = ParamSpec("P")
T = TypeVar("T")
Row = tuple[Any, ...]
PendingRow = Callable[[], Row | None]
"""Returns the first row of a statement that was sent. On PostgreSQL, the call waits for the answer."""
ChangeBatch = Iterable[Callable[[], Change]]


class RowRefused(StoreError):
    """A table refused a row, because a value is missing or is not allowed in its column."""


EVERY_SCOPE = "*"
"""In the place of a scope's id: the engine's own work over all scopes."""
BEYOND_ALL_IDS = "~"
"""Sorts after every id, since ids consist of letters, digits and '_'."""


class ScopeKeys(NamedTuple):
    """The keys that every statement of a transaction is bound to: that of the scope, and that of its app."""

    scope_id: str
    app_key: str


class Transaction(Protocol):
    """A transaction in progress. It binds the scope to every statement; units of work cannot name another one."""

    @property
    def scope_id(self) -> str: ...

    @property
    def history(self) -> object:
        """A value that changes whenever committed data may have been lost (crash, failover, restored backup).

        Caches from an older history are invalid, because the revision numbers that they are compared by repeat.
        """

    def one(self, query: str, **values: Any) -> Row | None:
        """Run a statement and return its first row."""

    def all(self, query: str, **values: Any) -> list[Row]:
        """Run a statement and return its rows."""

    def ask(self, query: str, **values: Any) -> PendingRow:
        """Begin a statement and return at once; the answer is waited for when it is asked for.

        In a read, nothing else may be run before that.
        """

    def send(self, query: str, **values: Any) -> PendingRow:
        """Run a statement whose answer is not needed before the end, which costs no round trip of its own."""

    def insert_each(self, query: str, rows: Mapping[str, Sequence[Any]], **values: Any) -> None:
        """Insert many rows, given as columns of equal length; `values` are the same for all of them."""

    def number_each(
        self, query: str, columns: Sequence[str], rows: Sequence[Row], **values: Any
    ) -> Callable[[], Sequence[int]]:
        """Insert many rows into a table that numbers them; the result returns the numbers, in the order of the rows.

        The statement takes the scope first, then `values`, which are the same for all rows, and then the columns.
        """

    def each(self, query: str, **values: Any) -> Iterator[Row]:
        """Yield the rows of a statement, however many there are. Only inside of `read_snapshot`."""

    def lift_time_limit(self) -> None:
        """Let this transaction run as long as it needs. The server ends any other one that seems to stand still."""

    def bind_scope(self, scope: AnyScope | None) -> AbstractContextManager[Transaction]:
        """Yield this transaction bound to another scope, until the block ends."""

    def emit(self, change: Callable[[], Change]) -> None:
        """Announce a change after the commit. The function is called only if somebody listens."""

    def emit_each(self, changes: ChangeBatch) -> None:
        """Announce many changes. They are iterated once, after the commit, and only if somebody listens."""


Work = Callable[Concatenate[Transaction, P], T]
"""A unit of work: a function of a transaction, without effects outside of it."""


class Publisher(Protocol):
    """The receiver of committed changes."""

    def add(self, changes: list[ChangeBatch]) -> None:
        """Queue the changes of one transaction. On SQLite the calls come in the order of commits."""

    def deliver(self) -> None:
        """Deliver what is queued. Called without any lock, so that a subscriber may take its time, and write."""


class Database(Protocol):
    """A database of one of the two engines. All methods may be called from any thread."""

    engine: EngineName
    is_remote: bool
    """True if answers come over a network, so that it pays to do something else while waiting for one."""
    address: str
    """The address of the database, without a password."""
    write_health: WriteHealth
    """Reports whether writes fail for want of room or rights."""

    @property
    def clock_error(self) -> int:
        """Microseconds that this machine's clock is behind the database's; 0 if they agree within a second."""

    def read(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a unit of work that only reads; each of its statements sees what is committed by then.

        scope: None is for the engine's own work over all scopes.
        """

    def write(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a unit of work in a transaction; when this returns, its writes are committed.

        With the setting `durability` at `full`, the default, they are on disk by then. Raises StoreError inside another
        write, StoreReadOnly for a scope that may only be read, and UserErased behind the fence of an erased user.
        """

    def read_snapshot(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a unit of work that only reads, and sees the database as of its beginning, however long it takes."""

    def write_exclusively(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a unit of work in a transaction that sees and changes its scope, or all, as of one instant.

        Fenced work waits for it, and is refused afterwards if it has raised the scope's epoch. A concurrent change of
        the scope makes it start over; raises StoreBusy if that happens too often.
        """

    def add_queries(self, queries: Mapping[str, NamedQuery]) -> None:
        """Add statements that are made at run time, such as those on all columns of a table."""

    def scrub(self, most_megabytes: float | None = None) -> ScrubReport:
        """Remove all traces of deleted rows from the files; the report names what could not be done now.

        most_megabytes: skip the slow part for larger files, and on PostgreSQL always. None does everything.
        """

    def advance_ledger_sequence(self) -> None:
        """Continue the ledger after its last position, once rows were copied in with positions of their own."""

    def wait_for_writers(self, seconds: float) -> bool:
        """Wait until every transaction that is writing now has ended; return False if that took too long.

        Positions in the ledger are taken before their transactions commit. After this, a position that is empty below
        a row seen before stays empty for ever: its transaction was rolled back, or its row was erased.
        """

    def close(self) -> None:
        """Finish the writes under way and close all connections. Later calls raise EngineClosed."""


@dataclass(frozen=True)
class ScrubReport:
    """The outcome of removing the traces of deleted rows from a database's files."""

    done: bool
    how: str
    left: str | None = None
    """The rest of the work, and who can do it; None if nothing is left."""


@dataclass
class Announcements:
    """The changes that one transaction announces, held until it is committed."""

    changes: list[ChangeBatch] = field(default_factory=list)

    def emit(self, change: Callable[[], Change]) -> None:
        self.changes.append((change,))

    def emit_each(self, changes: ChangeBatch) -> None:
        self.changes.append(changes)


class EffectConflict(Exception):
    """The data that an Effect was computed from has changed: nothing is written, and its handler runs again."""


def to_scope_keys(scope: AnyScope | None) -> ScopeKeys:
    """Return the keys of a scope; None stands for all scopes."""
    return ScopeKeys(EVERY_SCOPE, EVERY_SCOPE) if scope is None else ScopeKeys(scope.id, scope.app_key)


def describe_unstorable(error: UnicodeEncodeError) -> InvalidInput:
    """Return the error for a text with a lone surrogate, which no database can store."""
    found = f"U+{ord(error.object[error.start]):04X}"
    return InvalidInput(
        f"A text has the character {found} at position {error.start}, which cannot be stored.",
        hint="Remove it: no database can keep it as text.",
    )


def refuse_nesting(nested: bool) -> None:
    """Raise StoreError for a write inside a write, which would wait for itself."""
    if nested:
        raise StoreError(
            "A write was requested inside a transaction.",
            hint="Inside an Effect, pass its transaction to functions of longmind.store.",
        )


def refuse_reader(scope: AnyScope | None) -> None:
    """Raise StoreReadOnly for the scope of a shared space's owner, in which a grantee may only read."""
    if isinstance(scope, ReaderScope):
        raise StoreReadOnly(
            "A write was requested in a scope that is open for reading only.", hint="Write as the owner of the space."
        )
