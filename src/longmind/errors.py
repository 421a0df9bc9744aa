"""Everything that can go wrong, as classes a caller can catch.

    LongmindError
    ├── InvalidInput            400  the request itself is malformed
    │   ├── InvalidUrl               the database address cannot be understood
    │   └── InvalidIdentity          a tenant, app, user … id that cannot be one
    ├── Unauthenticated         401  the credential is missing, wrong, expired or revoked
    ├── Forbidden               403  the scope lacks a capability
    ├── NotFound                404  missing, or somebody else's: the answer is the same
    ├── Conflict                409  the state of things does not allow it
    │   ├── ConversationClosed       appends are for open conversations only
    │   ├── IdempotencyMismatch      the key was used before with another body
    │   ├── BlockConflict            somebody else has written the memory block since it was read
    │   ├── LeaseLost                another worker has taken the job over
    │   └── UserErased               what the work began with was erased meanwhile
    ├── LimitExceeded           422  a size or a count is over its limit
    ├── RateLimited             429  the credential was used too often
    ├── ToolError               400  a memory tool refused or failed; its code says why, and decides the status
    ├── EmbedderFailed          502  the embedder gave no vectors, or ones that cannot be used
    ├── RerankerFailed          502  the reranker gave no scores, or ones that cannot be used
    ├── SummariserFailed        502  the summariser gave no summary, or one that cannot be used
    ├── ModelFailed             502  the language model gave no answer, or one that cannot be used
    │   ├── ModelTimedOut       504  it took too long
    │   └── ModelCancelled      503  its caller did not want to wait any longer
    ├── ModelNotChosen          400  a language model is needed, and neither the call nor the engine names one
    ├── ModelMissing            503  the files of a local model are not here, or damaged
    ├── EngineClosed            503  the engine was closed, or cannot be used in this process
    └── StoreError              500  the database, not the request
        ├── StoreUnavailable    503  cannot be reached or opened
        │   └── OutcomeUnknown  504  it was lost in the middle of a commit, and may have done what it was asked
        ├── StoreBusy           503  other writers held it for too long
        ├── StoreFull           507  no room left on the disk
        ├── StoreReadOnly       503  cannot be written
        ├── NotADatabase        500  the file is something else, or damaged
        ├── SchemaTooNew        500  made by a newer Longmind
        └── ExtensionMissing    500  PostgreSQL without pgvector, or the driver is not installed

Each error has a message that says what was wrong, a `status` (the HTTP status a server answers with) and a `hint`
that says what to do about it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal


class LongmindError(Exception):
    """Something Longmind was asked to do could not be done."""

    status: int = 500
    default_hint: ClassVar[str] = "The message says what was wrong; nothing was changed."

    def __init__(self, message: str | None = None, *, hint: str | None = None) -> None:
        self.message = message if message is not None else (type(self).__doc__ or "").strip()
        self.hint = hint if hint is not None else self.default_hint
        super().__init__(self.message, self.hint)

    def __str__(self) -> str:
        return f"{self.message} Hint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # The initialisers of subclasses differ, so an error is rebuilt from its attributes: it must survive the way
        # back from a process pool.
        return (_rebuild, (type(self), dict(self.__dict__), self.args))


def _rebuild(kind: type[LongmindError], attributes: dict[str, object], args: tuple[object, ...]) -> LongmindError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InvalidInput(LongmindError, ValueError):
    """The request is malformed."""

    status = 400
    default_hint = "Mend the call as the message says; to repeat it as it is does not help."


class InvalidUrl(InvalidInput):
    """The database address cannot be understood."""

    default_hint = (
        "Use sqlite:///relative.db, sqlite:////absolute/path.db, sqlite:///:memory: or postgresql://user@host/database."
    )


class InvalidIdentity(InvalidInput):
    """This cannot be the id of a tenant, an app or a user."""

    default_hint = (
        "An identity is a text of 1 to 255 characters that is not blank, not '*' and has no control characters."
    )


class Unauthenticated(LongmindError):
    """The request has no credential that is known here."""

    status = 401
    default_hint = "Send a key of `longmind keys create` as Authorization: Bearer rk_…, or as X-API-Key."

    def __init__(self, message: str | None = None, *, hint: str | None = None, given: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.given = given
        """Whether there was a credential at all: a server names what is wrong only with one that was sent."""


class Forbidden(LongmindError):
    """The scope lacks a capability."""

    status = 403
    default_hint = "Let the host make a context that has the capability."


class NotFound(LongmindError):
    """There is no such thing in this scope."""

    status = 404
    default_hint = "Check the id, and that this context is of the tenant, app and user it belongs to."

    def __init__(self, noun: str, id: str) -> None:
        super().__init__(f"There is no {noun} {id!r} in this scope.")
        self.noun = noun
        self.id = id


class Conflict(LongmindError):
    """The state of things does not allow this."""

    status = 409
    default_hint = "Look at the present state first; nothing was changed."


class ConversationClosed(Conflict):
    """The conversation is closed."""

    default_hint = "A closed conversation stays closed: create a new one to go on."

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"Conversation {conversation_id!r} is closed and takes no more messages.")
        self.conversation_id = conversation_id


class IdempotencyMismatch(Conflict):
    """The idempotency key was used before with another body."""

    default_hint = "Use a new key for a new message; repeat the same content and visibility to retry."

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The idempotency key {key!r} was used before in this conversation with a different user message."
        )
        self.key = key


class BlockConflict(Conflict):
    """Somebody else has written the memory block since it was read."""

    default_hint = (
        "Look at `current`, make the change there anew, and pass its updated_at; None is only for a block that is not"
        " there yet."
    )

    def __init__(self, name: str, current: Any, expected: str | None) -> None:
        if current is None:
            message = f"There is no {name}, and one was expected that was updated at {expected}."
        elif expected is None:
            message = f"There is a {name} already, updated at {current.updated_at}."
        else:
            message = f"The {name} was updated at {current.updated_at}, not at {expected}."
        super().__init__(message)
        self.current = current
        """The block as it is now, or None when there is none."""
        self.expected = expected


class LeaseLost(Conflict):
    """Another worker has taken the job over, so this one's result is refused."""

    default_hint = "Nothing to do: the job is done by the worker that holds its lease."


class UserErased(Conflict):
    """The user was erased while this was under way, so nothing more of it is kept."""

    default_hint = "Nothing to do: what it began with is gone."


class LimitExceeded(LongmindError):
    """A size or a count is over its limit."""

    status = 422
    default_hint = "Give less at a time, or keep the large part elsewhere and give its address."

    def __init__(self, what: str, *, limit: int, given: int, unit: str, at_least: bool = False) -> None:
        number = f"at least {given:,}" if at_least else f"{given:,}"
        super().__init__(f"{what} is limited to {limit:,} {unit}; {number} were given.")
        self.limit = limit
        self.given = given


class RateLimited(LongmindError):
    """The credential was used too often."""

    status = 429
    default_hint = "Wait as long as `retry_after` says, and spread the requests out."

    def __init__(self, limit: int, window: int, retry_after: int) -> None:
        super().__init__(f"More than {limit:,} requests came within {window:,} seconds; wait {retry_after:,} seconds.")
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
    """A memory tool refused the call, or failed."""

    status = 400
    default_hint = "Mend the call as the message says; what is retriable may be tried again as it is."
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
        """The error as those who call tools are told it."""
        known = {"stage": self.stage, "field": self.field, "retry_after": self.retry_after}
        told = {"code": self.code, "message": self.message, "retriable": self.retriable}
        return told | {name: value for name, value in known.items() if value is not None}


class EmbedderFailed(LongmindError):
    """The embedder gave no vectors, or ones that cannot be used."""

    status = 502
    default_hint = "Nothing was written. Try again, or open the engine with another embedder, or with embedder=None."


class RerankerFailed(LongmindError):
    """The reranker gave no scores, or ones that cannot be used."""

    status = 502
    default_hint = "Try again, or open the engine with another reranker, or without one."


class SummariserFailed(LongmindError):
    """The summariser gave no summary, or one that cannot be used."""

    status = 502
    default_hint = "The summary is what it was before. Try again, or open the engine with another summariser."


class ModelFailed(LongmindError):
    """The language model gave no answer, or one that cannot be used."""

    status = 502
    default_hint = "Try again later, or choose another model; the message says what its vendor answered."


class ModelTimedOut(ModelFailed):
    """The language model took too long."""

    status = 504
    default_hint = "Try again, ask for less at a time, or raise model_timeout_seconds."


class ModelCancelled(ModelFailed):
    """The call of the language model was cancelled."""

    status = 503
    default_hint = "Nothing to do: the caller asked for it. A new call needs a new Cancel."


class ModelNotChosen(LongmindError, RuntimeError):
    """A language model is needed, and none was chosen."""

    status = 400
    default_hint = "Name one, such as model='openai:gpt-5-mini', or open the engine with summariser='model:…'."


class ModelMissing(LongmindError):
    """The files of a local model are not here, or damaged."""

    status = 503
    default_hint = "Run: longmind models pull"


class EngineClosed(LongmindError):
    """The engine is closed."""

    status = 503
    default_hint = "Open a new one with longmind.open()."


class StoreError(LongmindError):
    """The database failed."""

    default_hint = "The message says what the database answered; its log may say more."


class StoreUnavailable(StoreError):
    """The database cannot be reached or opened."""

    status = 503


class OutcomeUnknown(StoreUnavailable):
    """The database was lost in the middle of a commit: nobody knows whether the write was done."""

    # Not 503, which says that the same may be sent again.
    status = 504
    default_hint = "Look whether it is there before you repeat it. An idempotency key makes a retry safe."


class StoreBusy(StoreError):
    """Other writers held the database for too long."""

    status = 503
    default_hint = (
        "Try again; if it goes on, look for a process that holds a transaction open, or raise busy_timeout_seconds."
    )


class StoreFull(StoreError):
    """There is no room left on the disk."""

    status = 507
    default_hint = "Free some space and try again; nothing was written half-way."


class StoreReadOnly(StoreError):
    """The database cannot be written."""

    status = 503
    default_hint = "Check who owns the file and its folder, and that the disk is not mounted read-only."


class NotADatabase(StoreError):
    """The file is not a SQLite database, or it is damaged."""

    default_hint = "Check the path. Longmind never overwrites a file it does not recognise."


class SchemaTooNew(StoreError):
    """The database was made by a newer version of Longmind."""

    default_hint = "Upgrade Longmind to the version that made it, or a newer one."


class ExtensionMissing(StoreError):
    """Something that PostgreSQL support needs is not installed."""

    default_hint = "Install what the message names, and open again."
