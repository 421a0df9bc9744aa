"""A client of the API nodes on its own machine: it reads requests from its input and prints their outcomes.

Every line is a JSON object: `id`, `node` (an address), `method`, `path`, `body`, `key` (Idempotency-Key), `token` and
`seconds`. The answer, when there is one, has the status and the body; else what went wrong. Each is asked in a thread
of its own, so that one that waits holds up no other.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from typing import Any

_saying = threading.Lock()


def ask(request: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    host, _, port = request["node"].partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=request["seconds"])
    headers = {"Authorization": f"Bearer {request['token']}", "Content-Type": "application/json"}
    if request.get("key"):
        headers["Idempotency-Key"] = request["key"]
    body = None if request.get("body") is None else json.dumps(request["body"])
    try:
        connection.request(request["method"], request["path"], body, headers)
        response = connection.getresponse()
        text = response.read()
        date = response.getheader("date", "")
        outcome = {"status": response.status, "body": json.loads(text) if text else None, "date": date}
    except (OSError, http.client.HTTPException) as error:
        outcome = {"status": 0, "error": type(error).__name__}
    finally:
        connection.close()
    return {"id": request["id"], "seconds": time.monotonic() - began, **outcome}


def answer(request: dict[str, Any]) -> None:
    outcome = json.dumps(ask(request))
    with _saying:
        print(outcome, flush=True)


def main() -> None:
    print("at work", file=sys.stderr, flush=True)
    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()


if __name__ == "__main__":
    main()
