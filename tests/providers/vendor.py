"""A server on this machine that speaks the protocols of OpenAI and Anthropic, and can be told to misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Event = tuple[str, dict[str, Any] | str]


@dataclass(frozen=True)
class Answer:
    """What the model says, or what goes wrong instead."""

    text: str = ""
    tool: tuple[str, str] | None = None
    """The name of a tool that is called, and its arguments as JSON."""
    tokens: tuple[int, int] = (11, 7)
    cut_off: bool = False
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """What is sent instead of an answer."""
    hangs: bool = False
    breaks_after: int | None = None
    """How many pieces of a stream are sent before the connection breaks."""

    @property
    def pieces(self) -> list[str]:
        return [f"{word} " for word in self.text.split(" ")[:-1]] + self.text.split(" ")[-1:] if self.text else []


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class LanguageVendor(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers: list[Answer] = []
        """Taken one by one; the last one stays."""
        self.asked: list[Asked] = []
        self.arrived = threading.Event()
        """Set when a request has come in that is not answered."""
        self.silence = threading.Event()
        """Set to let requests go that are not answered."""
        self.dropped = threading.Event()
        """Set when the caller of such a request has gone away."""
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def take(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class _Answering(BaseHTTPRequestHandler):
    server: LanguageVendor

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.take(Asked(self.path, dict(self.headers), body))
        if answer.hangs:
            self._hang()
        elif answer.status != 200 or answer.body is not None:
            said = {"error": {"message": f"trouble {answer.status}", "type": "server_error"}, "type": "error"}
            self._send(answer.status, answer.body or json.dumps(said), answer.headers)
        elif body.get("stream"):
            self._stream(_EVENTS[self.path](answer), answer)
        else:
            self._send(200, json.dumps(_WHOLE[self.path](answer)), answer.headers)

    def _send(self, status: int, body: str, headers: dict[str, str]) -> None:
        encoded = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(encoded), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(encoded)

    def _stream(self, events: list[Event], answer: Answer) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for place, (name, data) in enumerate(events):
            if answer.breaks_after is not None and place >= answer.breaks_after:
                self.connection.close()
                return
            line = data if isinstance(data, str) else json.dumps(data)
            chunk = f"event: {name}\ndata: {line}\n\n".encode() if name else f"data: {line}\n\n".encode()
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _hang(self) -> None:
        self.server.arrived.set()
        self.connection.settimeout(0.02)
        while not self.server.silence.is_set():
            try:
                if self.connection.recv(1) == b"":
                    self.server.dropped.set()
                    break
            except TimeoutError:
                continue
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """It has nothing to say."""


# --- Chat completions of OpenAI ---------------------------------------------------------------


def _chat(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.tool:
        name, arguments = answer.tool
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
        message["tool_calls"] = [call]
    return {
        "id": "chat_1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "message": message, "finish_reason": _chat_reason(answer)}],
        "usage": _chat_usage(answer),
    }


def _chat_reason(answer: Answer) -> str:
    return "length" if answer.cut_off else "tool_calls" if answer.tool else "stop"


def _chat_usage(answer: Answer) -> dict[str, int]:
    asked, said = answer.tokens
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _chat_events(answer: Answer) -> list[Event]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return "", {**_CHUNK, "choices": [choice]}

    events = [chunk({"role": "assistant"}), *(chunk({"content": piece}) for piece in answer.pieces)]
    if answer.tool:
        name, arguments = answer.tool
        half = len(arguments) // 2
        call = {
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": arguments[:half]},
        }
        events.append(chunk({"tool_calls": [call]}))
        events.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[half:]}}]}))
    events.append(chunk({}, _chat_reason(answer)))
    events.append(("", {**_CHUNK, "choices": [], "usage": _chat_usage(answer)}))
    return [*events, ("", "[DONE]")]


_CHUNK = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-4o-2024-08-06"}


# --- Responses of OpenAI ----------------------------------------------------------------------


def _response(answer: Answer) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}]
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        )
    if answer.tool:
        name, arguments = answer.tool
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"}
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


def _response_events(answer: Answer) -> list[Event]:
    whole = _response(answer)
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


# --- Messages of Anthropic --------------------------------------------------------------------


def _message(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.tool:
        name, arguments = answer.tool
        content.append({"type": "tool_use", "id": "toolu_1", "name": name, "input": json.loads(arguments)})
    asked, said = answer.tokens
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": content,
        "stop_reason": "max_tokens" if answer.cut_off else "tool_use" if answer.tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": asked, "output_tokens": said},
    }


def _message_events(answer: Answer) -> list[Event]:
    whole = _message(answer)
    begun = {**whole, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for place, block in enumerate(whole["content"]):
        if block["type"] == "text":
            opened: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in answer.pieces]
        else:
            opened = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        events.append({"type": "content_block_start", "index": place, "content_block": opened})
        events += [{"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": place})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": answer.tokens[1]}})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


_WHOLE = {"/v1/chat/completions": _chat, "/v1/responses": _response, "/v1/messages": _message}
_EVENTS = {"/v1/chat/completions": _chat_events, "/v1/responses": _response_events, "/v1/messages": _message_events}
_WHOLE |= {f"{path}?beta=true": whole for path, whole in _WHOLE.items()}
_EVENTS |= {f"{path}?beta=true": events for path, events in _EVENTS.items()}


@contextmanager
def language_vendor_running() -> Iterator[LanguageVendor]:
    vendor = LanguageVendor()
    thread = threading.Thread(target=vendor.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield vendor
    finally:
        vendor.silence.set()
        vendor.shutdown()
        vendor.server_close()
        thread.join()
