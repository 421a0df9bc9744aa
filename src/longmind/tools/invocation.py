"""A call of a tool from its arguments to its answer: audited, limited in time, with errors that reveal nothing.

Every call leaves its lines in the audit, also a refused one and one that ran out of time; only if the database fails is
the line of a failed call missing, which is logged. The lines of a call that succeeded are in the transaction of its
effect, so neither exists without the other; those of a failed call are written in a transaction of their own, since
nothing else is. Audit lines hold names of fields and errors, never texts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from longmind.audit import chain
from longmind.audit.chain import NewAuditLine
from longmind.clock import Micros
from longmind.errors import (
    Conflict,
    EmbedderFailed,
    EngineClosed,
    LongmindError,
    ModelMissing,
    NotFound,
    OutcomeUnknown,
    RerankerFailed,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    ToolError,
)
from longmind.ids import new_id
from longmind.models.tool import Outcome, ToolValue
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables.quotas import QuotaLimits
from longmind.tools.deadline import Deadline, Expired, run_within
from longmind.tools.entry_views import to_entry_id, to_entry_message
from longmind.tools.redaction import redact, redact_json
from longmind.tools.schema import RECORDED
from longmind.tools.user_consent import NeedsConfirmation

TOPIC = "tool.invoke."
ANSWER_LIMIT = 1024 * 1024
"""Bytes of an answer as JSON."""
HANDLER_STAGE = 5
ANSWER_STAGE = 6
"""Stages of a call: 1 the tool, 2 its caller, 3 its arguments, 4 the consent, 5 the handler, 6 the answer."""

_log = logging.getLogger("longmind.tools")


@dataclass(frozen=True)
class Call:
    """One call under way, with everything that its audit lines may name."""

    database: Database
    scope: Scope
    """A scope with a group and a session."""
    topic: str
    correlation: str
    at: Micros
    audit_key: str
    limits: QuotaLimits
    known_fields: frozenset[str] = frozenset()
    """Names of arguments, which may stand in the audit; any other name could be a secret."""

    def finish(self, run: Transaction, deadline: Deadline, answer: ToolValue) -> dict[str, Any]:
        """Redact the answer, write the audit lines in the transaction of the effect, and seal the deadline.

        Returns the answer as JSON; raises ToolError if it is too large, which rolls the effect back.
        """
        redacted: dict[str, Any]
        redacted, paths = redact_json(answer.as_json())
        size = len(json.dumps(redacted, ensure_ascii=False).encode())
        if size > ANSWER_LIMIT:
            raise ToolError(
                "HANDLER_ERROR",
                f"The answer has {size:,} bytes; the limit is {ANSWER_LIMIT:,}.",
                stage=ANSWER_STAGE,
                hint="Request fewer results.",
            )
        lines = [self._build_line(HANDLER_STAGE, "routed")]
        if paths:
            lines.append(self._build_line(ANSWER_STAGE, "sanitized", reason="credentials", field_paths=tuple(paths)))
        chain.append(run, self.scope, lines, self.audit_key, self.at)
        deadline.seal()
        return redacted

    def run(self, work: Callable[[Deadline], dict[str, Any]], seconds: float) -> dict[str, Any]:
        """Run the work within a time limit; audit a failure and raise it as a ToolError.

        NeedsConfirmation passes through: the question to the user is no failure, and takes longer than a call may.
        """
        try:
            return run_within(seconds, lambda deadline: self._run_audited(work, deadline))
        except Expired:
            raise ToolError(
                "PLUGIN_TIMEOUT", f"The tool took more than {seconds:g} seconds.", retriable=True, stage=HANDLER_STAGE
            ) from None

    def _run_audited(self, work: Callable[[Deadline], dict[str, Any]], deadline: Deadline) -> dict[str, Any]:
        # Auditing takes time too, so it is within the limit. Once that is exceeded nobody waits for this thread any
        # more, and all it still has to do is write the audit line.
        try:
            return work(deadline)
        except NeedsConfirmation:
            raise
        except Exception as error:
            if deadline.expired:
                self._write_lines([self._build_line(HANDLER_STAGE, "error", error="PLUGIN_TIMEOUT", phase="answered")])
                raise
            if isinstance(error, ToolError):
                self.record_refusal(error)
                raise
            tool_error = _to_tool_error(error)
            # The class of the error, never its message: that may quote what somebody wrote.
            raised = self._build_line(HANDLER_STAGE, "error", error=type(error).__name__, phase="raised")
            self._write_lines(
                [raised, self._build_line(HANDLER_STAGE, "error", error=tool_error.code, phase="answered")]
            )
            raise tool_error from None

    def record_refusal(self, error: ToolError) -> None:
        """Audit a call that was refused."""
        stage = error.stage or HANDLER_STAGE
        if error.code in ("HANDLER_ERROR", "PLUGIN_ERROR"):
            phases = ("raised", "answered")
            self._write_lines([self._build_line(stage, "error", error=error.code, phase=phase) for phase in phases])
            return
        field = None if error.field is None else error.field.partition("[")[0]
        # A name that is not one of an argument may be anything, even a secret.
        known = field in self.known_fields or field in RECORDED
        paths = () if field is None else (field if known else "(unknown)",)
        self._write_lines([self._build_line(stage, "rejected", reason=error.code, field_paths=paths)])

    def _build_line(self, stage: int, outcome: Outcome, **details: Any) -> NewAuditLine:
        scope = self.scope
        source = f"session:{scope.session_id}" if scope.agent_id is None else f"agent:{scope.agent_id}"
        return NewAuditLine(source, self.topic, self.correlation, stage, outcome, **details)

    def _write_lines(self, lines: list[NewAuditLine]) -> None:
        try:
            self.database.write(self.scope, chain.append, self.scope, lines, self.audit_key, self.at)
        except LongmindError as error:
            # The call has failed already, and its own error is the one to raise.
            _log.warning("a refused call of %s could not be audited: %s", self.topic, type(error).__name__)


def begin_call(
    database: Database,
    scope: Scope,
    tool: str,
    fields: frozenset[str],
    now: Micros,
    audit_key: str,
    limits: QuotaLimits,
) -> Call:
    """Return a call with a new correlation id."""
    return Call(database, scope, f"{TOPIC}{tool}", new_id("call", now), now, audit_key, limits, fields)


def _to_tool_error(error: Exception) -> ToolError:
    """Return an error as one of the tool, in words that are safe for every caller of the tool.

    Known errors keep their meaning, with credentials redacted and atoms called entries. An unknown one is logged here,
    and its answer says nothing about it: a message may quote data of others.
    """
    match error:
        case NotFound():
            return ToolError(
                "HANDLER_ERROR", redact(f"Entry {to_entry_id(error.id)!r} not found."), stage=HANDLER_STAGE
            )
        case Conflict():
            message = redact(to_entry_message(f"{error.message} {error.hint}".strip()))
            return ToolError("HANDLER_ERROR", message, stage=HANDLER_STAGE)
        case OutcomeUnknown():
            hint = "Search for the entry, and repeat the call only if it is missing."
            return ToolError("PLUGIN_TIMEOUT", _OUTCOME_UNKNOWN, stage=HANDLER_STAGE, hint=hint)
        case StoreBusy() | StoreUnavailable() | EmbedderFailed() | RerankerFailed() | ModelMissing():
            hint = "Wait for `retry_after` seconds, then repeat the call."
            return ToolError(
                "PLUGIN_UNAVAILABLE", _UNAVAILABLE, retriable=True, stage=HANDLER_STAGE, retry_after=1, hint=hint
            )
        case StoreFull() | StoreReadOnly():
            _log.warning("a tool failed: %s", error)
            why = "its disk has no room left" if isinstance(error, StoreFull) else "its disk is read-only"
            return ToolError(
                "PLUGIN_UNAVAILABLE",
                f"Memory cannot be written at the moment: {why}.",
                retriable=True,
                stage=HANDLER_STAGE,
                retry_after=_DISK_RETRY_SECONDS,
                hint="Have the operator fix the disk, then repeat the call.",
            )
        case EngineClosed():
            return ToolError("PLUGIN_UNAVAILABLE", "The engine is closed.", stage=HANDLER_STAGE)
        case _:
            _log.error("a tool failed", exc_info=error)
            return ToolError("PLUGIN_ERROR", "The tool failed; the log of its host has the cause.", stage=HANDLER_STAGE)


_DISK_RETRY_SECONDS = 60
_UNAVAILABLE = "Memory cannot be reached at the moment."
_OUTCOME_UNKNOWN = "The connection to memory was lost during the call: check whether it was done before you repeat it."
