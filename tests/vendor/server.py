"""A server on this machine that speaks the protocols of OpenAI and Anthropic, and can be told to misbehave."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.crew import PATIENCE
from harness.log_watch import MODEL_KEY
from tests.vendor.answer import Answer, Asked, Event
from tests.vendor.anthropic import message, message_events
from tests.vendor.embeddings import texts_in, vectors
from tests.vendor.openai import chat, chat_events, response, response_events


class Vendor(ThreadingHTTPServer):
    daemon_threads = True
    # Who comes while so many wait is kept waiting for a second by the kernel.
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers: list[Answer] | Callable[[Asked], Answer] = [Answer("Good day to you.")]
        """Taken one by one; the last one stays. A function answers by what it is asked."""
        self.asked: list[Asked] = []
        self.batches: list[list[str]] = []
        """The texts that vectors were asked for."""
        self.trouble: dict[int, str] = {}
        """What goes wrong with which batch, counted from 1; `-1` is with every one."""
        self.connections = 0
        """How many there have been."""
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

    @property
    def environment(self) -> dict[str, str]:
        """What leads the clients of all vendors here."""
        addresses = {f"{name}_BASE_URL": f"{self.url}/v1" for name in ("OPENAI", "OLLAMA")}
        keys = {f"{name}_API_KEY": MODEL_KEY for name in ("OPENAI", "OLLAMA", "ANTHROPIC")}
        return {**addresses, **keys, "ANTHROPIC_BASE_URL": self.url}

    def when_arrived(self, do: Callable[[], object]) -> None:
        """Do something in another thread when a request has come in that is not answered."""

        def wait() -> None:
            if self.arrived.wait(PATIENCE):
                do()

        threading.Thread(target=wait).start()

    def take(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if callable(self.answers):
                return self.answers(asked)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class _Answering(BaseHTTPRequestHandler):
    server: Vendor
    # Connections are kept, as vendors do.
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        with self.server._lock:
            self.server.connections += 1

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/embeddings":
            self._embed(texts_in(body))
            return
        answer = self.server.take(Asked(self.path, dict(self.headers), body))
        if answer.hangs:
            self._hang()
        elif answer.status != 200 or answer.body is not None:
            said = {"error": {"message": f"trouble {answer.status}", "type": "server_error"}, "type": "error"}
            self._send(answer.status, answer.body or json.dumps(said), answer.headers)
        else:
            whole, events = _PROTOCOLS[self.path.partition("?")[0]]
            if body.get("stream"):
                self._stream(events(answer), answer)
            else:
                self._send(200, json.dumps(whole(answer)), answer.headers)

    def _embed(self, texts: list[str]) -> None:
        batches, trouble = self.server.batches, self.server.trouble
        batches.append(texts)
        wrong = trouble.get(-1) or trouble.get(len(batches), "")
        if wrong == "hangs":
            self._hang()
            return
        status, answer = vectors(texts, wrong)
        self._send(status, json.dumps(answer), {})

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
                # Closing it would not be noticed while the files that read and write it are open.
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            self.server.silence.wait(answer.pause)
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
            except ConnectionError:
                self.server.dropped.set()
                break
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """It has nothing to say."""


_PROTOCOLS: dict[str, tuple[Callable[[Answer], dict[str, Any]], Callable[[Answer], list[Event]]]] = {
    "/v1/chat/completions": (chat, chat_events),
    "/v1/responses": (response, response_events),
    "/v1/messages": (message, message_events),
}
"""How an answer is written at once, and how in pieces."""


@contextmanager
def vendor_running() -> Iterator[Vendor]:
    vendor = Vendor()
    thread = threading.Thread(target=vendor.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield vendor
    finally:
        vendor.silence.set()
        vendor.shutdown()
        vendor.server_close()
        thread.join()
