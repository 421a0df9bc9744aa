"""A server on this machine that speaks the embeddings protocol of OpenAI, and can be told to misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.embedder import WordsEmbedder


class Vendor(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.embedder = WordsEmbedder()
        self.batches: list[list[str]] = []
        self.trouble: dict[int, str] = {}
        """What goes wrong with which request, counted from the next one; `-1` is with every one."""
        self.silence = threading.Event()
        """Set to let answers go that are held back."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def answer(self, texts: list[str], trouble: str) -> tuple[int, Any]:
        vectors = self.embedder.embed_texts(texts)
        match trouble:
            case "500" | "429":
                return int(trouble), {"error": {"message": f"trouble {trouble}", "type": "server_error"}}
            case "too short":
                vectors = [vector[:-3] for vector in vectors]
            case "too few":
                vectors = vectors[:-1]
            case "not a vector":
                return 200, {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": "?"}]}
            case "no json":
                return 200, "what?"
        data = [{"object": "embedding", "index": place, "embedding": each} for place, each in enumerate(vectors)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return 200, {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": usage}


class _Answering(BaseHTTPRequestHandler):
    server: Vendor

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        self.server.batches.append(texts)
        trouble = self.server.trouble.get(-1) or self.server.trouble.get(len(self.server.batches), "")
        if trouble == "hangs":
            self.server.silence.wait(30)
            return
        status, answer = self.server.answer(texts, trouble)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """It has nothing to say."""


@contextmanager
def vendor_running() -> Iterator[Vendor]:
    vendor = Vendor()
    thread = threading.Thread(target=vendor.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield vendor
    finally:
        vendor.silence.set()
        vendor.shutdown()
        vendor.server_close()
        thread.join()
