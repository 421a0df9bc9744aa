"""How Anthropic writes an answer: messages."""

from __future__ import annotations

import json
from typing import Any

from tests.vendor.answer import Answer, Event


def message(answer: Answer) -> dict[str, Any]:
    whole = _message(answer)
    for block in whole["content"]:
        if block["type"] == "tool_use":
            block["input"] = json.loads(block["input"])
    return whole


def _message(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    for number, (name, arguments) in enumerate(answer.tools, 1):
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments})
    asked, said = answer.tokens
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": content,
        "stop_reason": "max_tokens" if answer.cut_off else "tool_use" if answer.tools else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": asked, "output_tokens": said},
    }


def message_events(answer: Answer) -> list[Event]:
    whole = _message(answer)
    begun = {**whole, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for place, block in enumerate(whole["content"]):
        if block["type"] == "text":
            opened: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in answer.pieces]
        else:
            opened = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": block["input"]}]
        events.append({"type": "content_block_start", "index": place, "content_block": opened})
        events += [{"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": place})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": answer.tokens[1]}})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]
