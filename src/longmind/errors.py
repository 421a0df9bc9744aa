"""Errors that a caller can catch.

    LongmindError
    ├── InvalidInput            400  the request is malformed
    │   ├── InvalidUrl               the database URL cannot be understood
    │   └── InvalidIdentity          the id of a tenant, app, user … is not valid
    ├── Unauthenticated         401  the credential is missing, wrong, expired or revoked
    ├── Forbidden               403  the scope lacks a capability
    ├── NotFound                404  missing, or owned by another user: the answer is the same
    ├── Conflict                409  the current state does not allow the operation
    │   ├── ConversationClosed       the conversation takes no more messages
    │   ├── IdempotencyMismatch      the key was used before with different content
    │   ├── BlockConflict            the memory block was written since it was read
    │   ├── LeaseLost                another worker took the job over
    │   └── UserErased               the user was erased while the operation was under way
    ├── LimitExceeded           422  a size or a count exceeds its limit
    ├── RateLimited             429  the credential was used too often
    ├── ToolError               400  a memory tool refused the call or failed; `code` says why and decides the status
    ├── EmbedderFailed          502  the embedder returned no usable vectors
    ├── RerankerFailed          502  the reranker returned no usable scores
    ├── SummariserFailed        502  the summariser returned no usable summary
    ├── ExtractionFailed        502  the reader could not read what was said, which is stored
    ├── ModelFailed             502  the language model returned no usable answer
    │   ├── ModelTimedOut       504  the model took too long
    │   └── ModelCancelled      503  the caller cancelled the call
    ├── ModelNotChosen          400  a language model is needed, and neither the call nor the engine names one
    ├── ModelMissing            503  the files of a local model are missing or damaged
    ├── EngineClosed            503  the engine is closed, or cannot be used in this process
    ├── ServerUnavailable       503  the server of a client cannot be reached, or is too busy
    ├── ServerFailed            500  the server of a client failed, or is no Longmind server
    └── StoreError              500  the database failed, not the request
        ├── StoreUnavailable    503  the database cannot be reached or opened
        │   └── OutcomeUnknown  504  the connection was lost during a commit, which may have succeeded
        ├── StoreBusy           503  other writers held the database for too long
        ├── StoreFull           507  the disk is full
        ├── StoreReadOnly       503  the database cannot be written
        ├── NotADatabase        500  the file is not a SQLite database, or damaged
        ├── SchemaTooNew        500  the database was made by a newer Longmind
        └── ExtensionMissing    500  a package that an option needs is not installed

Each error has a message that says what failed, a `status` (the HTTP status of a server's answer) and a `hint` that says
what to do. The hint is empty where the message says all there is to say. The docstring of a class
is its default message, and its first line the title of the REST problem.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal


class LongmindError(Exception):
    """The operation failed."""

    status: int = 500
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str | None = None, *, hint: str | None = None) -> None:
        self.message = message if message is not None else (type(self).__doc__ or "").strip()
        self.hint = hint if hint is not None else self.default_hint
        super().__init__(self.message, self.hint)

    def __str__(self) -> str:
        return f"{self.message} Hint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # The initialisers of subclasses differ, so an error is rebuilt from its attributes: it must survive pickling on
        # the way back from a process pool.
        return (_rebuild, (type(self), dict(self.__dict__), self.args))


def name_problem(kind: type) -> str:
    """Return the problem type of an error's class: `BlockConflict` is `urn:longmind:problem:block-conflict`."""
    return "urn:longmind:problem:" + re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _rebuild(kind: type[LongmindError], attributes: dict[str, object], args: tuple[object, ...]) -> LongmindError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InvalidInput(LongmindError, ValueError):
    """The request is malformed."""

    status = 400


class InvalidUrl(InvalidInput):
    """The database URL cannot be understood."""

    default_hint = (
        "Use sqlite:///relative.db, sqlite:////absolute/path.db, sqlite:///:memory: or postgresql://user@host/database."
    )


class InvalidIdentity(InvalidInput):
    """The id of a tenant, an app or a user is not valid."""

    default_hint = "Pass 1 to 255 characters that are not blank, not '*' and hold no control characters."


class Unauthenticated(LongmindError):
    """The request has no valid credential."""

    status = 401
    default_hint = "Send a key made by `longmind keys create` as Authorization: Bearer rk_…, or as X-API-Key."

    def __init__(self, message: str | None = None, *, hint: str | None = None, given: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.given = given
        """True if a credential was sent; a server describes what is wrong only with one that was."""


class Forbidden(LongmindError):
    """The scope lacks a capability."""

    status = 403
    default_hint = "Use a context that has the capability."


class NotFound(LongmindError):
    """The id does not exist in this scope."""

    status = 404
    default_hint = "Check the id, and that the context is of the tenant, app and user that own it."

    def __init__(self, noun: str, id: str) -> None:
        super().__init__(f"There is no {noun} {id!r} in this scope.")
        self.noun = noun
        self.id = id


class Conflict(LongmindError):
    """The current state does not allow the operation."""

    status = 409
    default_hint = "Read the current state before you try again; nothing was changed."


class ConversationClosed(Conflict):
    """The conversation is closed."""

    default_hint = "Create a new conversation: a closed one stays closed."

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"Conversation {conversation_id!r} is closed and takes no more messages.")
        self.conversation_id = conversation_id


class IdempotencyMismatch(Conflict):
    """The idempotency key was used before with different content."""

    default_hint = "Use a new key for a new message; to retry, repeat the same content and visibility."

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The idempotency key {key!r} was used before in this conversation with a different user message."
        )
        self.key = key


class BlockConflict(Conflict):
    """The memory block was written since it was read."""

    default_hint = (
        "Apply the change to `current` and pass its updated_at; pass None only for a block that does not exist yet."
    )

    def __init__(self, name: str, current: Any, expected: str | None) -> None:
        if current is None:
            message = f"There is no {name}, but one updated at {expected} was expected."
        elif expected is None:
            message = f"There is already a {name}, updated at {current.updated_at}."
        else:
            message = f"The {name} was updated at {current.updated_at}, not at {expected}."
        super().__init__(message)
        self.current = current
        """The block as it is now, or None if there is none."""
        self.expected = expected


class LeaseLost(Conflict):
    """Another worker took the job over; the result of this one is refused."""

    default_hint = "Nothing to do: the worker that holds the lease does the job."


class UserErased(Conflict):
    """The user was erased while the operation was under way; nothing was written."""

    default_hint = "Nothing to do: the data of the user is gone."


class LimitExceeded(LongmindError):
    """A size or a count exceeds its limit."""

    status = 422
    default_hint = "Pass less at a time, or store the large part elsewhere and pass its URL."

    def __init__(self, what: str, *, limit: int, given: int, unit: str, at_least: bool = False) -> None:
        # A stream is refused at its limit, before its whole size is known.
        number = f"at least {given:,}" if at_least else f"{given:,}"
        super().__init__(f"{what} is limited to {limit:,} {unit}; {number} were given.")
        self.limit = limit
        self.given = given


class RateLimited(LongmindError):
    """The credential was used too often."""

    status = 429
    default_hint = "Wait for `retry_after` seconds, and spread the requests out."

    def __init__(self, limit: int, window: int, retry_after: int) -> None:
        super().__init__(f"More than {limit:,} requests were sent within {window:,} seconds.")
        self.limit = limit
        self.window = window
        self.retry_after = retry_after


ToolErrorCode = Literal[
    "UNKNOWN_TOOL",
    "VALIDATION_FAILED",
    "UNAUTHORIZED",
    "RATE_LIMITED",
    "CONFIRMATION_TIMEOUT",
    "CONFIRMATION_DENIED",
    "PLUGIN_TIMEOUT",
    "PLUGIN_UNAVAILABLE",
    "PLUGIN_ERROR",
    "HANDLER_ERROR",
]


class ToolError(LongmindError):
    """A memory tool refused the call or failed."""

    status = 400
    status_of: ClassVar[dict[ToolErrorCode, int]] = {
        "UNKNOWN_TOOL": 404,
        "VALIDATION_FAILED": 400,
        "UNAUTHORIZED": 403,
        "RATE_LIMITED": 429,
        "CONFIRMATION_TIMEOUT": 408,
        "CONFIRMATION_DENIED": 403,
        "PLUGIN_TIMEOUT": 504,
        "PLUGIN_UNAVAILABLE": 503,
        "PLUGIN_ERROR": 500,
        "HANDLER_ERROR": 409,
    }

    def __init__(
        self,
        code: ToolErrorCode,
        message: str,
        *,
        retriable: bool = False,
        stage: int | None = None,
        field: str | None = None,
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.status = self.status_of[code]
        self.retriable = retriable
        self.stage = stage
        self.field = field
        self.retry_after = retry_after

    def as_json(self) -> dict[str, Any]:
        """Return the error as callers of tools see it, without the fields that are not set."""
        details = {"stage": self.stage, "field": self.field, "retry_after": self.retry_after}
        fields = {"code": self.code, "message": self.message, "retriable": self.retriable}
        return fields | {name: value for name, value in details.items() if value is not None}


class EmbedderFailed(LongmindError):
    """The embedder returned no usable vectors."""

    status = 502
    default_hint = "Try again, or open the engine with another embedder or with embedder=None."


class RerankerFailed(LongmindError):
    """The reranker returned no usable scores."""

    status = 502
    default_hint = "Try again, or open the engine with another reranker or without one."


class SummariserFailed(LongmindError):
    """The summariser returned no usable summary."""

    status = 502
    default_hint = "Try again, or open the engine with another summariser; the summary is unchanged."


class ExtractionFailed(LongmindError):
    """The reader could not read what was said."""

    status = 502
    default_hint = "What was said is stored, and is read again later: do not add it again. Look at the cause."

    def __init__(self, cause: str | None = None) -> None:
        message = "What was said is stored, but could not be read"
        # The cause comes with its hint, which is worth more than a general one.
        said, _, todo = (cause or "").partition(" Hint: ")
        hint = self.default_hint.replace("Look at the cause.", todo) if todo else None
        super().__init__(f"{message}: {said}" if said else f"{message}.", hint=hint)
        self.cause = cause


class ModelFailed(LongmindError):
    """The language model returned no usable answer."""

    status = 502
    default_hint = "Try again later, or choose another model."


class ModelTimedOut(ModelFailed):
    """The language model took too long."""

    status = 504
    default_hint = "Try again, ask for less at a time, or raise model_timeout_seconds."


class ModelCancelled(ModelFailed):
    """The call of the language model was cancelled."""

    status = 503
    default_hint = "Use a new Cancel for a new call."


class ModelNotChosen(LongmindError, RuntimeError):
    """A language model is needed, and none was chosen."""

    status = 400
    default_hint = "Name one, such as model='openai:gpt-5-mini', or open the engine with summariser='model:…'."


class ModelMissing(LongmindError):
    """The files of a local model are missing or damaged."""

    status = 503
    default_hint = "Run: longmind models pull"


class EngineClosed(LongmindError):
    """The engine is closed."""

    status = 503
    default_hint = "Open a new engine with longmind.open()."


class ServerUnavailable(LongmindError):
    """The server cannot be reached."""

    status = 503
    default_hint = "Check the URL and that `longmind serve` is running there, then try again."


class ServerFailed(LongmindError):
    """The server failed."""

    default_hint = "Check that the URL is that of a Longmind server, and see its log."


class StoreError(LongmindError):
    """The database failed."""

    default_hint = "See the log of the database for more."


class StoreUnavailable(StoreError):
    """The database cannot be reached or opened."""

    status = 503


class OutcomeUnknown(StoreUnavailable):
    """The connection was lost during a commit: the write may or may not have been done."""

    # Not 503, which says that the request may be sent again as it is.
    status = 504
    default_hint = "Check whether the write was done before you repeat it; an idempotency key makes a retry safe."


class StoreBusy(StoreError):
    """Other writers held the database for too long."""

    status = 503
    default_hint = (
        "Try again. If it persists, look for a process that holds a transaction open, or raise busy_timeout_seconds."
    )


class StoreFull(StoreError):
    """The disk is full."""

    status = 507
    default_hint = "Free some space and try again; the failed write left nothing behind."


class StoreReadOnly(StoreError):
    """The database cannot be written."""

    status = 503
    default_hint = "Check the owner of the file and its folder, and that the disk is not mounted read-only."


class NotADatabase(StoreError):
    """The file is not a SQLite database, or it is damaged."""

    default_hint = "Check the path. Longmind never overwrites a file it does not recognise."


class SchemaTooNew(StoreError):
    """The database was made by a newer version of Longmind."""

    default_hint = "Upgrade Longmind to the version that made it, or a newer one."


class ExtensionMissing(StoreError):
    """A part that PostgreSQL support needs is not installed."""

    default_hint = "Install the part that the message names, then open the engine again."
