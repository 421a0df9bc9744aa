"""Results of tools and errors, in the form of the Model Context Protocol.

A tool result has two parts: a text for the model, and a value for programs. An error is a result too, with `is_error`,
so that the model can correct its call; resources and prompts have only the errors of the protocol itself.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, TextContent
from pydantic import ConfigDict

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.blocks.tools import advise
from longmind.errors import InvalidInput, LimitExceeded, LongmindError, ToolError
from longmind.models.atom import AtomKind, Trust
from longmind.models.recall import Hit, Recall
from longmind.models.value import Value

_log = logging.getLogger("longmind.mcp")

_TRY_LATER = "Try again in a moment. If it keeps failing, tell the user; the server log has the reason."


@dataclass(frozen=True)
class ToolAnswer:
    """The answer of a tool: a text for the model and, for tools with an output schema, a value for programs."""

    text: str
    value: dict[str, Any] | None = None


class RecalledFact(Value):
    """A fact, the time in which it is true, and the messages it was learned from."""

    model_config = ConfigDict(alias_generator=None)

    id: str
    text: str
    kind: AtomKind
    behavioral: bool
    trust: Trust
    valid_from: str
    valid_to: str | None
    superseded_by: str | None
    source_message_ids: list[str]
    score: float


class RecalledFacts(Value):
    """The facts that a recall tool found, best first."""

    model_config = ConfigDict(alias_generator=None)

    facts: list[RecalledFact]
    notice: str | None = None
    """A note on how to treat behavioural facts, if there are any."""


def to_recalled_facts(recall: Recall) -> RecalledFacts:
    """Return the value of a recall tool."""
    behavioral = any(hit.atom.behavioral for hit in recall.hits)
    facts = [_to_fact(hit) for hit in recall.hits]
    return RecalledFacts(facts=facts, notice=SUGGESTIONS_NOTICE if behavioral else None)


def _to_fact(hit: Hit) -> RecalledFact:
    atom = hit.atom
    return RecalledFact(
        id=atom.id,
        text=atom.text,
        kind=atom.category.kind,
        behavioral=atom.behavioral,
        trust=atom.trust,
        valid_from=atom.valid_from,
        valid_to=atom.valid_to,
        superseded_by=atom.superseded_by,
        source_message_ids=atom.source_message_ids,
        score=hit.score,
    )


def to_tool_result(answer: ToolAnswer) -> CallToolResult:
    """Return the protocol's result for an answer."""
    return CallToolResult(content=[TextContent(text=answer.text)], structured_content=answer.value)


def to_tool_error(error: Exception) -> CallToolResult:
    """Return an error as a result that the model reads: the message, and then what to do."""
    fields = _describe_error(error)
    text = f"{fields['message']}\nHint: {fields['hint']}" if fields["hint"] else fields["message"]
    return CallToolResult(content=[TextContent(text=text)], structured_content={"error": fields}, is_error=True)


def to_protocol_error(error: Exception) -> MCPError:
    """Return an error of a resource or prompt as an error of the protocol."""
    fields = _describe_error(error)
    return MCPError(INTERNAL_ERROR, f"{fields['message']} {fields['hint']}".strip(), {"error": fields})


def _describe_error(error: Exception) -> dict[str, Any]:
    """Return the fields of an error: code, message, hint, and whether a retry can help."""
    match error:
        case ToolError():
            return {**error.as_json(), "hint": error.hint}
        # The codes are those of the memory tools, so that a model meets only one set of codes.
        case LongmindError() if error.status < 500:
            code = "VALIDATION_FAILED" if isinstance(error, InvalidInput | LimitExceeded) else "HANDLER_ERROR"
            return {"code": code, "message": error.message, "retriable": False, "hint": advise(error)}
        case _:
            # The message of such an error may name hosts and files of the server, so it goes to the log only.
            _log.error("memory cannot be reached", exc_info=error)
            message = "Memory cannot be reached at the moment."
            return {"code": "PLUGIN_UNAVAILABLE", "message": message, "retriable": True, "hint": _TRY_LATER}
