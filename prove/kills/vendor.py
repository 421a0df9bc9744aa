"""A local vendor of language models for turns that a server runs; it answers with the token of the question."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prove.kills.journal import TOKEN

MODEL = "ollama:parrot"
_THINKS = 0.005
"""Seconds of thought, in which a server may be killed while it waits for the answer."""


def environment(url: str) -> dict[str, str]:
    """Return the variables that lead clients of the vendor to this address."""
    return {"OLLAMA_BASE_URL": f"{url}/v1", "OLLAMA_API_KEY": "none"}


@contextmanager
def serve_answers() -> Iterator[str]:
    """The address of one that answers until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _AnswerHandler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _AnswerHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(_THINKS)
        answer = json.dumps(_completion(asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def handle(self) -> None:
        # The client is killed now and then.
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _completion(asked: dict[str, Any]) -> dict[str, Any]:
    last = [message for message in asked["messages"] if message["role"] == "user"][-1]
    # Several messages without an answer arrive as one, and the last of them is the question.
    *_, asking = TOKEN.finditer("\n".join(_texts(last["content"])))
    message = {"role": "assistant", "content": f"{asking[0]} answered"}
    return {
        "id": "answer",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": asked["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _texts(content: str | list[dict[str, str]]) -> list[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content]
