"""Commands with curl that send the example request of an operation.

They are meant for a POSIX shell. Everything but the name of the variable that holds the key is quoted for it, so that
an example with quotes, dollars or spaces arrives as it stands in the document.
"""

from __future__ import annotations

import json
import shlex
from typing import Any
from urllib.parse import quote, urlencode


def write_curl_command(method: str, path: str, operation: dict[str, Any], address: str, *, with_key: bool) -> str:
    """Return a command that can be pasted into a shell.

    address: the server, such as `http://127.0.0.1:8000`.
    with_key: True where the server needs a credential; the command then reads it from the variable LONGMIND_KEY.
    """
    examples = [
        (each["in"], each["name"], each["example"]) for each in operation.get("parameters", ()) if "example" in each
    ]
    for _, name, value in (each for each in examples if each[0] == "path"):
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    query = urlencode([(name, _to_text(value)) for place, name, value in examples if place == "query"], doseq=True)
    chosen = "" if method == "GET" else f"-X {method} "
    lines = [f"curl {chosen}{shlex.quote(address + path + ('?' + query if query else ''))}"]
    if with_key:
        # Double quotes, so that the shell puts the key in.
        lines.append('-H "Authorization: Bearer $LONGMIND_KEY"')
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["example"]
        lines.append("-H 'Content-Type: application/json'")
        lines.append(f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}")
    return " \\\n  ".join(lines)


def _to_text(value: Any) -> Any:
    """Return the value of a query parameter; a list stays one, and is sent as repeated parameters."""
    if isinstance(value, list):
        return [_to_text(each) for each in value]
    return json.dumps(value) if isinstance(value, bool | None) else value
