"""Translation of PostgreSQL's errors into errors of ours, and of its address into one without the password.

No message quotes the details of a server's error: those contain the row, and with it what users said.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import psycopg
import psycopg_pool
from psycopg.conninfo import conninfo_to_dict

from longmind.errors import (
    EngineClosed,
    InvalidUrl,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from longmind.store.database import RowRefused
from longmind.store.postgres.connection import Silent

_READ_ONLY = "Read-only file system"


def remove_password(url: str) -> str:
    """Return the address as the driver reads it, without the password.

    Raises InvalidUrl for one that the driver would misread: its error message would quote the password.
    """
    parts: dict[str, Any] | None = None
    with suppress(psycopg.ProgrammingError):
        parts = conninfo_to_dict(url)
    user_info, at, place = url.partition("://")[2].partition("@")
    unescaped = at and ("/" in user_info or "@" in place.partition("?")[0])
    if parts is None or unescaped or not re.fullmatch(r"[0-9,]*", parts.get("port") or ""):
        raise InvalidUrl(
            "The PostgreSQL URL is malformed.",
            hint="Write postgresql://user:password@host:5432/database, and in a password %40 for '@' and %2F for '/'.",
        )
    user, host, port, database = (parts.get(key) or "" for key in ("user", "host", "port", "dbname"))
    place = f"{user}@{host}" if user else host
    # A folder is that of a socket, and would look like a database in the place of a host.
    if host.startswith("/"):
        return f"postgresql://{place.removesuffix(host)}/{database}?host={host}" + (f"&port={port}" if port else "")
    return f"postgresql://{place}" + (f":{port}" if port else "") + f"/{database}"


def to_message(error: BaseException) -> str:
    """Return the message of PostgreSQL or its driver on one line, without the details that quote a row."""
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((message or str(error)).split())


def translate(error: Exception, address: str) -> Exception:
    """Return the error of ours for an error of the driver; `address` has no password."""
    words = to_message(error)
    match error:
        case psycopg.errors.LockNotAvailable() | psycopg.errors.QueryCanceled() | psycopg.errors.DeadlockDetected():
            return StoreBusy(f"Other transactions at {address} held the needed locks for too long ({words}).")
        case psycopg.errors.SerializationFailure():
            return StoreBusy(
                f"A concurrent transaction at {address} conflicts with this one ({words}).",
                hint="Try again; nothing was written.",
            )
        case psycopg_pool.PoolClosed():
            return EngineClosed()
        case Silent():
            return StoreUnavailable(
                f"PostgreSQL at {address} does not answer ({words}).",
                hint="Nothing was written: try again later. The setting answer_timeout_seconds limits the wait.",
            )
        case psycopg.errors.TransactionTimeout() | psycopg.errors.IdleInTransactionSessionTimeout():
            return StoreUnavailable(
                f"PostgreSQL at {address} ended a transaction that took too long ({words}).",
                hint="Nothing was written: try again. Unless the process was suspended, write less at a time or raise "
                "answer_timeout_seconds.",
            )
        case psycopg_pool.PoolTimeout() | psycopg_pool.TooManyRequests():
            return StoreUnavailable(
                f"No connection to {address} became free in time: all of them were in use.",
                hint="Nothing was done: try again, and raise pool_size if many callers share one engine.",
            )
        case psycopg.errors.DiskFull():
            return StoreFull(f"{address}: {words}")
        case psycopg.errors.ReadOnlySqlTransaction():
            return StoreReadOnly(f"{address}: {words}", hint="This may be a replica: connect to the primary.")
        case psycopg.errors.InsufficientPrivilege() | psycopg.errors.IoError() if _READ_ONLY in words:
            return StoreReadOnly(
                f"PostgreSQL at {address} cannot write to its own disk ({words}).",
                hint="Check the disk of the server: it is mounted read-only, often after a fault.",
            )
        case psycopg.errors.IoError():
            return StoreError(
                f"The disk of PostgreSQL at {address} failed ({words}).",
                hint="Check the disk and the log of the server.",
            )
        case psycopg.errors.ProgramLimitExceeded():
            return StoreError(
                f"PostgreSQL at {address} refused a write that exceeds one of its limits ({words}).",
                hint="Write less at a time, or use shorter names; repeating it unchanged does not help.",
            )
        case psycopg.OperationalError() | psycopg.errors.InvalidCatalogName():
            return StoreUnavailable(
                f"PostgreSQL at {address} cannot be reached ({words}).",
                hint="Check host, port, database, user and password, and that the server is running.",
            )
        case psycopg.errors.InsufficientPrivilege():
            return StoreError(
                f"PostgreSQL at {address} denied access ({words}).",
                hint="Connect with a role that may create in this database, since the first open makes the schema; "
                "`longmind doctor --url …` shows the GRANT that it needs.",
            )
        case psycopg.errors.IntegrityError() | psycopg.errors.DataError():
            return RowRefused(f"PostgreSQL at {address} refused a row ({words}).")
        case _:
            return StoreError(f"PostgreSQL failed at {address} ({words}).")
