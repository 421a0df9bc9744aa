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
from longmind.models.message import Role
from longmind.models.recall import Hit, Passage, QuotedMessage, Recall
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
    """The probability that the fact is about the question."""
    weak: bool
    """True if the fact may have nothing to do with the question."""


class RecalledPassage(Value):
    """A message that was found, word for word; of a long one, the parts that were found."""

    model_config = ConfigDict(alias_generator=None)

    conversation_id: str
    message_id: str
    role: Role
    text: str
    said_at: str
    score: float
    weak: bool


class RecalledFacts(Value):
    """The facts and quotes that a recall tool found, best first."""

    model_config = ConfigDict(alias_generator=None)

    found: bool
    """False if nothing relevant is known: there is nothing, or all of it is weak."""
    facts: list[RecalledFact]
    passages: list[RecalledPassage]
    notice: str | None = None
    """A note on how to treat behavioural facts, if there are any."""


def to_recalled_facts(recall: Recall) -> RecalledFacts:
    """Return the value of a recall tool.

    Each message of a passage stands by itself, with its id, so that an agent can cite it.
    """
    behavioral = any(hit.atom.behavioral for hit in recall.hits)
    return RecalledFacts(
        found=recall.found,
        facts=[_to_fact(hit) for hit in recall.hits],
        passages=[_to_passage(passage, message) for passage in recall.passages for message in passage.messages],
        notice=SUGGESTIONS_NOTICE if behavioral else None,
    )


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
        weak=hit.weak,
    )


def _to_passage(passage: Passage, message: QuotedMessage) -> RecalledPassage:
    return RecalledPassage(
        conversation_id=passage.conversation_id,
        message_id=message.id,
        role=message.role,
        text=message.text,
        said_at=message.said_at,
        score=passage.score,
        weak=passage.weak,
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
