"""Runs one turn: asks the model, runs the tools it calls, and stores each row as soon as it exists.

No transaction is open while the model or a tool works. Rows are stored one by one, so that a crash loses only the row
under way; the store marks the turn as running until its last row, and a rolling summary waits for that.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from longmind.clock import Clock
from longmind.conversations.history import read_history, to_model_messages
from longmind.conversations.turn_memory import TurnMemory
from longmind.conversations.turn_tools import Toolbox, describe_error
from longmind.conversations.validation import validate_usage
from longmind.errors import InvalidInput, LongmindError, ModelCancelled, ModelFailed
from longmind.ids import new_id
from longmind.models.content import Block, TextBlock, ToolUseBlock, encode_content, encode_tool_result
from longmind.models.message import Message, Usage
from longmind.models.turn import ToolInvocation, TurnOptions, TurnResult, TurnStatus
from longmind.providers.language_model import UNREADABLE, Cancel, LanguageModel, ModelReply, ModelRequest, OnText
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.erasure_fence import fence_erasures
from longmind.store.tables import messages, running_turns
from longmind.store.tables.messages import NewMessage
from longmind.store.triggers.conversation_writes import append_to_turn, begin_turn
from longmind.store.triggers.job_policy import JobPolicy
from longmind.validation.identifiers import validate_label
from longmind.validation.text import encode_json, to_storable

_BEYOND_ALL_SEQUENCES = 2**53
_log = logging.getLogger("longmind.conversations")


@dataclass(frozen=True)
class TurnPlan:
    """The checked arguments of a turn."""

    conversation_id: str
    user: NewMessage
    model: LanguageModel
    toolbox: Toolbox
    options: TurnOptions
    max_cycles: int
    tail_limit: int
    on_text: OnText | None
    memory: TurnMemory

    @property
    def cancel(self) -> Cancel:
        return self.toolbox.cancel


class ListenerFailure(Exception):
    """Carries an error of the caller's `on_text` past the model."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@dataclass
class RunningTurn:
    """One run of one turn; not reusable."""

    database: Database
    scope: Scope
    clock: Clock
    job_policy: JobPolicy
    plan: TurnPlan
    appended: list[Message] = field(default_factory=list)
    reminders: list[Message] = field(default_factory=list)
    """Rows stored next to the user's message; the history has them already."""
    invocations: list[ToolInvocation] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    attempt: int | None = None
    run_id: str = ""
    """Marks the turn as running in the store; empty before and afterwards."""

    def run(self) -> TurnResult:
        """Run the turn to its end and return the result.

        Raises until the user's message is stored; after that only an error of `on_text`, or an interrupt.
        """
        with fence_erasures(self.database, self.scope):
            return self._run()

    def _run(self) -> TurnResult:
        started = time.monotonic()
        plan = self.plan
        reminders = plan.memory.list_reminders(plan.user, self.clock())
        run_id = new_id("run", self.clock())
        question, *self.reminders = self.database.write(
            self.scope,
            begin_turn,
            self.scope,
            plan.conversation_id,
            run_id,
            plan.user,
            reminders,
            self.clock(),
            self.job_policy,
        )
        # From here on there is a result, and the mark has to be removed in any case.
        self.run_id = run_id
        self.appended.append(question)
        error: str | None = None
        status: TurnStatus = "error"
        try:
            status = self._answer(question)
        except ListenerFailure as failed:
            raise failed.error from None
        except Exception as failure:
            error = failure.message if isinstance(failure, LongmindError) else describe_error(failure)
        finally:
            self._end(question)
        return TurnResult(
            turn_id=question.turn_id,
            status=status,
            appended_messages=[question, *self.reminders, *self.appended[1:]],
            aggregate_usage=_sum_usage(self.usages),
            tool_invocations=self.invocations,
            total_latency_ms=_milliseconds_since(started),
            error=error,
        )

    def _answer(self, question: Message) -> TurnStatus:
        history = read_history(question, self._read, self.plan.tail_limit)
        for cycle in range(1, self.plan.max_cycles + 1):
            # Rows as the store returned them, so that the model sees what later turns will see.
            reply = self._ask([*history, *self.appended[1:]])
            calls = [block for block in reply.content if isinstance(block, ToolUseBlock)]
            self._append(question, self._make_answer_row(reply), ends=not calls)
            for number, call in enumerate(calls, 1):
                invocation = self.plan.toolbox.use(call)
                self.invocations.append(invocation)
                last = cycle == self.plan.max_cycles and number == len(calls)
                self._append(question, self._make_result_row(invocation), ends=last)
            if not calls:
                return "completed"
        return "max_cycles"

    def _ask(self, rows: list[Message]) -> ModelReply:
        options = self.plan.options
        request = ModelRequest(
            to_model_messages(rows),
            system=self.plan.memory.system_prompt(options.system_prompt),
            tools=self.plan.toolbox.tools,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
        )
        # Before the call, since a model may not look at the Cancel until it has answered.
        if self.plan.cancel.cancelled:
            raise ModelCancelled("The turn was cancelled.")
        on_text = _guard_listener(self.plan.on_text, self.plan.toolbox)
        reply = self.plan.model.ask(request, on_text=on_text, cancel=self.plan.cancel)
        if not isinstance(reply, ModelReply):
            raise ModelFailed(
                f"The model {self.plan.model.name!r} returned a {type(reply).__name__} instead of a ModelReply."
            )
        if not isinstance(reply.usage, Usage | None):
            raise ModelFailed(
                f"The model {self.plan.model.name!r} returned its usage as a {type(reply.usage).__name__}."
            )
        self.usages.append(reply.usage or Usage())
        if reply.stop_reason == "error":
            raise ModelFailed(f"The model {self.plan.model.name!r} ended its answer with an error.")
        return replace(reply, content=[self._to_storable(block) for block in reply.content])

    def _to_storable(self, block: Block) -> Block:
        if isinstance(block, TextBlock):
            return TextBlock(text=to_storable(block.text))
        if isinstance(block, ToolUseBlock):
            # Some servers send calls without ids, and a result has to name the call that it answers.
            id = block.id if block.id.strip() else new_id("call", self.clock())
            return block.model_copy(update={"id": id, "arguments": _make_storable_arguments(block.arguments)})
        return block

    def _make_answer_row(self, reply: ModelReply) -> NewMessage:
        return NewMessage(
            role="assistant",
            content=encode_content(reply.content, "The model's answer", may_be_empty=True),
            visibility="user",
            at=self.clock(),
            stop_reason=validate_label("stop_reason", reply.stop_reason),
            model=validate_label("model", reply.model),
            provider=validate_label("provider", reply.provider),
            usage=validate_usage(reply.usage),
            trace_id=self.plan.user.trace_id,
        )

    def _make_result_row(self, done: ToolInvocation) -> NewMessage:
        return NewMessage(
            role="tool",
            content=encode_tool_result(done.id, done.result, done.is_error),
            visibility="user",
            at=self.clock(),
            tool_use_id=done.id,
            tool_name=done.name,
            is_error=done.is_error,
            trace_id=self.plan.user.trace_id,
        )

    def _append(self, question: Message, new: NewMessage, *, ends: bool) -> None:
        message = self.database.write(
            self.scope,
            append_to_turn,
            self.scope,
            self.run_id,
            question,
            self.attempt,
            new,
            self.clock(),
            self.job_policy,
            ends=ends,
        )
        self.attempt = message.attempt
        self.appended.append(message)
        if ends:
            self.run_id = ""

    def _end(self, question: Message) -> None:
        """Unmark a turn as running if its answer was not finished."""
        if self.run_id:
            try:
                self.database.write(self.scope, running_turns.end, question.conversation_id, self.run_id)
            except LongmindError as error:
                # The rolling summary then waits for the answer for a while, and goes on without it.
                _log.warning("the end of a turn was not stored: %s", error)

    def _read(self, before: int | None) -> list[Message]:
        return self.database.read(
            self.scope,
            messages.read_last,
            self.plan.conversation_id,
            # Two more rows: the user's message, and one to see whether a turn is cut.
            limit=self.plan.tail_limit + 2,
            before=_BEYOND_ALL_SEQUENCES if before is None else before,
            internal=True,
            hidden=True,
            latest_attempts=False,
        )


def _make_storable_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments; unstorable ones, such as NaN, are marked as unreadable like broken JSON."""
    try:
        encode_json("arguments", arguments)
    except InvalidInput:
        return {UNREADABLE: to_storable(str(arguments))}
    return arguments


def _guard_listener(on_text: OnText | None, toolbox: Toolbox) -> OnText | None:
    """Wrap `on_text` so that its failure can be distinguished from one of the model."""
    if on_text is None:
        return None

    def listen(text: str) -> None:
        try:
            outcome = on_text(text)
            if inspect.isawaitable(outcome):
                toolbox.wait_for(outcome, toolbox.cancel)
        except Exception as error:
            if isinstance(error, ModelCancelled) and toolbox.cancel.cancelled:
                # The listener ended because the turn was cancelled; it did not fail.
                raise
            raise ListenerFailure(error) from error

    return listen


def _sum_usage(usages: list[Usage]) -> Usage:
    def total(numbers: Callable[[Usage], Any]) -> Any:
        return sum(numbers(usage) or 0 for usage in usages)

    return Usage(
        input_tokens=total(lambda usage: usage.input_tokens),
        output_tokens=total(lambda usage: usage.output_tokens),
        latency_ms=round(total(lambda usage: usage.latency_ms), 1),
    )


def _milliseconds_since(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 1)
