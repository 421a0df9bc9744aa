"""The one translator of what tools answer, and of what goes wrong, into the words of the protocol."""

from __future__ import annotations

import logging
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, TextContent

from longmind.blocks.tools import advise
from longmind.errors import InvalidInput, LimitExceeded, LongmindError, ToolError
from longmind.mcp.tools import Answer

_log = logging.getLogger("longmind.mcp")

_TRY_LATER = "Try again in a moment. If it goes on, tell the user; the log of the server says why."


def answered(answer: Answer) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=answer.text)], structured_content=answer.value)


def refused(error: Exception) -> CallToolResult:
    """An error as the model reads it, so that it can mend its call: the message, and then what to do."""
    told = _told(error)
    text = f"{told['message']}\nHint: {told['hint']}" if told["hint"] else told["message"]
    return CallToolResult(content=[TextContent(text=text)], structured_content={"error": told}, is_error=True)


def unreadable(error: Exception) -> MCPError:
    """The same for resources and prompts, which have no errors of their own but those of the protocol."""
    told = _told(error)
    return MCPError(INTERNAL_ERROR, f"{told['message']} {told['hint']}".strip(), {"error": told})


def _told(error: Exception) -> dict[str, Any]:
    match error:
        case ToolError():
            return {**error.as_json(), "hint": error.hint}
        case LongmindError() if error.status < 500:
            code = "VALIDATION_FAILED" if isinstance(error, InvalidInput | LimitExceeded) else "HANDLER_ERROR"
            return {"code": code, "message": error.message, "retriable": False, "hint": advise(error)}
        case _:
            # Its words may name hosts and files of the server, which are nobody's business who only calls tools.
            _log.error("memory cannot be reached", exc_info=error)
            message = "Memory cannot be reached at the moment."
            return {"code": "PLUGIN_UNAVAILABLE", "message": message, "retriable": True, "hint": _TRY_LATER}
