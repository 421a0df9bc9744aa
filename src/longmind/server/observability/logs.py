"""The log of the server: one line for each request, with its ids, and never what is remembered.

Errors are told by their kind and the places in the code they went through. Their words may quote what a user said, so
they are left out, for all loggers alike.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from types import TracebackType
from typing import Any, TextIO

from longmind.clock import to_iso
from longmind.server.observability.request_ids import marks
from longmind.settings import Settings

ABOUT = "about"
"""The name under which a line brings fields of its own: `_log.info("request", extra={ABOUT: {…}})`."""


class LineFormatter(logging.Formatter):
    """Writes a record as a text, or as JSON."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": to_iso(int(record.created * 1_000_000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **_ids(),
            **getattr(record, ABOUT, {}),
            **_error(record),
        }
        if self._as_json:
            return json.dumps(said, ensure_ascii=False, default=lambda value: type(value).__name__)
        head = [said.pop(name) for name in ("time", "level", "logger", "message")]
        # A line stays one line, whatever is in it.
        fields = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in said.items())
        return " ".join([*(text.replace("\n", "\\n").replace("\r", "\\r") for text in head), *fields])


def set_up_logs(settings: Settings, stream: TextIO | None = None) -> None:
    """Let all that this process logs go to standard error in the form that is set. For a program, not for a library."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(as_json=settings.log_format == "json"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("longmind").setLevel(settings.log_level.upper())


def _message(record: logging.LogRecord) -> str:
    args = record.args
    if isinstance(args, tuple):
        record = logging.makeLogRecord({**record.__dict__, "args": tuple(_named(each) for each in args)})
    return record.getMessage()


def _named(value: Any) -> Any:
    return type(value).__name__ if isinstance(value, BaseException) else value


def _ids() -> dict[str, str]:
    current = marks.get()
    return {} if current is None else {"requestId": current.request_id, "traceId": current.trace_id}


def _error(record: logging.LogRecord) -> dict[str, Any]:
    if not isinstance(record.exc_info, tuple) or record.exc_info[0] is None:
        return {}
    kind, _, trace = record.exc_info
    return {"error": kind.__name__, "at": _places(trace)}


def _places(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
