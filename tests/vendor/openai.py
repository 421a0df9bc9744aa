"""How OpenAI writes an answer: chat completions, and responses."""

from __future__ import annotations

from typing import Any

from tests.vendor.answer import Answer, Event


def chat(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.tools:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(answer.tools, 1)
        ]
    return {
        "id": "chat_1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "message": message, "finish_reason": _chat_reason(answer)}],
        "usage": _chat_usage(answer),
    }


def _chat_reason(answer: Answer) -> str:
    return "length" if answer.cut_off else "tool_calls" if answer.tools else "stop"


def _chat_usage(answer: Answer) -> dict[str, int]:
    asked, said = answer.tokens
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def chat_events(answer: Answer) -> list[Event]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return "", {**_CHUNK, "choices": [choice]}

    events = [chunk({"role": "assistant"}), *(chunk({"content": piece}) for piece in answer.pieces)]
    for place, (name, arguments) in enumerate(answer.tools):
        half = len(arguments) // 2
        function = {"name": name, "arguments": arguments[:half]}
        call = {"index": place, "id": f"call_{place + 1}", "type": "function", "function": function}
        events.append(chunk({"tool_calls": [call]}))
        events.append(chunk({"tool_calls": [{"index": place, "function": {"arguments": arguments[half:]}}]}))
    events.append(chunk({}, _chat_reason(answer)))
    events.append(("", {**_CHUNK, "choices": [], "usage": _chat_usage(answer)}))
    return [*events, ("", "[DONE]")]


_CHUNK = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-4o-2024-08-06"}


def response(answer: Answer) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}]
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        )
    for number, (name, arguments) in enumerate(answer.tools, 1):
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
        output.append({**call, "name": name, "arguments": arguments})
    asked, said = answer.tokens
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "gpt-5-mini-2025-08-07",
        "status": "incomplete" if answer.cut_off else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if answer.cut_off else None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": asked,
            "output_tokens": said,
            "total_tokens": asked + said,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def response_events(answer: Answer) -> list[Event]:
    whole = response(answer)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    ]
    for place, item in enumerate(whole["output"]):
        at = {"output_index": place, "item_id": item["id"]}
        empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        opened = {**item, "status": "in_progress", **empty}
        events.append({"type": "response.output_item.added", "output_index": place, "item": opened})
        if item["type"] == "message":
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            events.append({"type": "response.content_part.added", **at, "content_index": 0, "part": part})
            for piece in answer.pieces:
                said = {"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece, "logprobs": []}
                events.append(said)
        else:
            events.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": f"response.{whole['status']}", "response": whole})
    return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(events)]
