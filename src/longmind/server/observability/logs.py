"""Log lines as text or JSON, with the ids of the request and without anything that is remembered.

An error is logged by its type and the source lines it passed through. Its message is left out for every logger in the
process, since it may quote what a user said.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from types import TracebackType
from typing import Any, TextIO

from longmind.clock import to_iso
from longmind.server.observability.request_ids import current_request_ids
from longmind.settings import Settings

FIELDS = "about"
"""The name under which a log call passes fields of its own: `_log.info("request", extra={FIELDS: {…}})`."""


class LineFormatter(logging.Formatter):
    """A formatter that writes each record as one line, of text or JSON."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for a record."""
        parts = {
            "time": to_iso(int(record.created * 1_000_000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _format_message(record),
            **_get_ids(),
            **getattr(record, FIELDS, {}),
            **_describe_error(record),
        }
        if self._as_json:
            return json.dumps(parts, ensure_ascii=False, default=lambda value: type(value).__name__)
        head = [parts.pop(name) for name in ("time", "level", "logger", "message")]
        # Line breaks are escaped, so that no value can forge a log line.
        fields = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in parts.items())
        return " ".join([*(text.replace("\n", "\\n").replace("\r", "\\r") for text in head), *fields])


def set_up_logs(settings: Settings, stream: TextIO | None = None) -> None:
    """Send all logs of this process to standard error, in the configured format.

    It replaces the handlers of the root logger, so only a program may call it, never a library.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(as_json=settings.log_format == "json"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("longmind").setLevel(settings.log_level.upper())


def _format_message(record: logging.LogRecord) -> str:
    args = record.args
    if isinstance(args, tuple):
        args = tuple(type(each).__name__ if isinstance(each, BaseException) else each for each in args)
        record = logging.makeLogRecord({**record.__dict__, "args": args})
    return record.getMessage()


def _get_ids() -> dict[str, str]:
    ids = current_request_ids.get()
    return {} if ids is None else {"requestId": ids.request_id, "traceId": ids.trace_id}


def _describe_error(record: logging.LogRecord) -> dict[str, Any]:
    """Return the type of a logged exception and the source lines it passed, without its message."""
    if not isinstance(record.exc_info, tuple) or record.exc_info[0] is None:
        return {}
    kind, _, trace = record.exc_info
    return {"error": kind.__name__, "at": _list_frames(trace)}


def _list_frames(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
