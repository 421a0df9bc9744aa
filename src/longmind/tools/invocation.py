"""A call of a tool from its arguments to its answer: audited, in time, and with errors that give nothing away."""

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
from longmind.tools.consent import NeedsConfirmation
from longmind.tools.deadline import Deadline, Expired, run_within
from longmind.tools.entry_views import entry_id, told_of_entries
from longmind.tools.redaction import redact, redact_json
from longmind.tools.schema import RECORDED

TOPIC = "tool.invoke."
ANSWER_LIMIT = 1024 * 1024
"""Bytes of an answer, written as JSON."""
HANDLED_AT = 5
ANSWERED_AT = 6
"""Stages of a call: 1 the tool, 2 its caller, 3 its arguments, 4 whether it may be done, 5 doing it, 6 its answer."""

_log = logging.getLogger("longmind.tools")


@dataclass(frozen=True)
class Call:
    """One call on its way. What is noted of it names no more than this."""

    database: Database
    scope: Scope
    """With a group and a session."""
    topic: str
    correlation: str
    at: Micros
    audit_key: str
    known_fields: frozenset[str] = frozenset()

    def settle(self, run: Transaction, deadline: Deadline, answer: ToolValue) -> dict[str, Any]:
        """Make the answer what may be told, and note it, in the transaction of what was done."""
        told: dict[str, Any]
        told, paths = redact_json(answer.as_json())
        size = len(json.dumps(told, ensure_ascii=False).encode())
        if size > ANSWER_LIMIT:
            raise ToolError(
                "HANDLER_ERROR",
                f"The answer has {size:,} bytes, and at most {ANSWER_LIMIT:,} are given.",
                stage=ANSWERED_AT,
                hint="Ask for fewer results at a time.",
            )
        lines = [self._line(HANDLED_AT, "routed")]
        if paths:
            lines.append(self._line(ANSWERED_AT, "sanitized", reason="credentials", field_paths=tuple(paths)))
        chain.append(run, self.scope, lines, self.audit_key, self.at)
        deadline.seal()
        return told

    @property
    def group(self) -> str:
        return self.scope.group or ""

    def run(self, work: Callable[[Deadline], dict[str, Any]], seconds: float) -> dict[str, Any]:
        """Do the work in the time there is; what goes wrong is noted and told as an error of the tool."""
        try:
            return run_within(seconds, lambda deadline: self._audited(work, deadline))
        except Expired:
            raise ToolError(
                "PLUGIN_TIMEOUT", f"The tool took more than {seconds:g} seconds.", retriable=True, stage=HANDLED_AT
            ) from None

    def _audited(self, work: Callable[[Deadline], dict[str, Any]], deadline: Deadline) -> dict[str, Any]:
        # To note something takes time too, so it happens within the time there is. When that is up, nobody waits for
        # this any more, and all that is left to do is to note it.
        try:
            return work(deadline)
        except NeedsConfirmation:
            raise
        except Exception as error:
            if deadline.expired:
                self._note([self._line(HANDLED_AT, "error", error="PLUGIN_TIMEOUT", phase="answered")])
                raise
            if isinstance(error, ToolError):
                self.refuse(error)
                raise
            answered = _normalised(error)
            # Its kind, never its message: that may hold what somebody wrote.
            raised = self._line(HANDLED_AT, "error", error=type(error).__name__, phase="raised")
            self._note([raised, self._line(HANDLED_AT, "error", error=answered.code, phase="answered")])
            raise answered from None

    def refuse(self, error: ToolError) -> None:
        """Note a call that was not let through."""
        stage = error.stage or HANDLED_AT
        if error.code in ("HANDLER_ERROR", "PLUGIN_ERROR"):
            phases = ("raised", "answered")
            self._note([self._line(stage, "error", error=error.code, phase=phase) for phase in phases])
            return
        field = None if error.field is None else error.field.partition("[")[0]
        # A name that is no argument's may be anything, a secret as well.
        known = field in self.known_fields or field in RECORDED
        paths = () if field is None else (field if known else "(unknown)",)
        self._note([self._line(stage, "rejected", reason=error.code, field_paths=paths)])

    def _line(self, stage: int, outcome: Outcome, **told: Any) -> NewAuditLine:
        scope = self.scope
        source = f"session:{scope.session_id}" if scope.agent_id is None else f"agent:{scope.agent_id}"
        return NewAuditLine(source, self.topic, self.correlation, stage, outcome, **told)

    def _note(self, lines: list[NewAuditLine]) -> None:
        try:
            self.database.write(self.scope, chain.append, self.scope, lines, self.audit_key, self.at)
        except LongmindError as error:
            # The call has failed already, and its own error says more.
            _log.warning("a refused call of %s could not be audited: %s", self.topic, type(error).__name__)


def new_call(database: Database, scope: Scope, tool: str, fields: frozenset[str], now: Micros, audit_key: str) -> Call:
    return Call(database, scope, f"{TOPIC}{tool}", new_id("call", now), now, audit_key, fields)


def _normalised(error: Exception) -> ToolError:
    """What went wrong, in words that are safe to tell anybody who may call the tool."""
    match error:
        case NotFound():
            return ToolError("HANDLER_ERROR", redact(f"Entry {entry_id(error.id)!r} not found."), stage=HANDLED_AT)
        case Conflict():
            told = redact(told_of_entries(f"{error.message} {error.hint}".strip()))
            return ToolError("HANDLER_ERROR", told, stage=HANDLED_AT)
        case OutcomeUnknown():
            return ToolError("PLUGIN_TIMEOUT", _NOT_KNOWN, stage=HANDLED_AT)
        case StoreBusy() | StoreUnavailable() | EmbedderFailed() | RerankerFailed() | ModelMissing():
            return ToolError("PLUGIN_UNAVAILABLE", _UNAVAILABLE, retriable=True, stage=HANDLED_AT, retry_after=1)
        case StoreFull() | StoreReadOnly():
            _log.warning("a tool failed: %s", error)
            why = "there is no room left on its disk" if isinstance(error, StoreFull) else "its disk is read-only"
            return ToolError(
                "PLUGIN_UNAVAILABLE",
                f"Memory cannot be written at the moment: {why}.",
                retriable=True,
                stage=HANDLED_AT,
                retry_after=_SECONDS_FOR_A_DISK,
                hint="Whoever runs it has to see to the disk; then try again as it is.",
            )
        case EngineClosed():
            return ToolError("PLUGIN_UNAVAILABLE", "The engine is closed.", stage=HANDLED_AT)
        case _:
            _log.error("a tool failed", exc_info=error)
            return ToolError("PLUGIN_ERROR", "The tool failed. The log of its host says why.", stage=HANDLED_AT)


_SECONDS_FOR_A_DISK = 60
_UNAVAILABLE = "Memory cannot be reached at the moment."
_NOT_KNOWN = "Memory was lost in the middle of the call: look whether it was done before you repeat it."
