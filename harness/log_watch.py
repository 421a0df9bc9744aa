"""Reads along everything that a test run logs, and whatever the programs it starts write, in search of secrets.

Secrets are planted where every test uses them: in the address of PostgreSQL, in the keys of models, in the secret of
web tokens. Keys of the server, and the words that tests plant as what users said, are known by their looks.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from harness.program_watch import watch_programs

DATABASE_PASSWORD = "planted-password-of-the-database"
MODEL_KEY = "sk-planted-key-of-a-model"
TOKEN_SECRET = "planted secret of web tokens, long enough for everybody"
PLANTED = (DATABASE_PASSWORD, MODEL_KEY, TOKEN_SECRET)

_KEY = re.compile(r"rk_[0-9a-f]{32}_[A-Za-z0-9_-]{43}")
_PRIVATE_WORD = re.compile(r"\bQ[a-z]{15}\b")
"""A word that no user has ever said but those of tests, which say it in every place that takes text."""
_CONTEXT = 60


class FullFormatter(logging.Formatter):
    """A record with its error, and with the fields that it brings beside its message."""

    def __init__(self) -> None:
        super().__init__("%(name)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        own = {name: value for name, value in vars(record).items() if name not in _USUAL}
        return f"{super().format(record)} {own}" if own else super().format(record)


_USUAL = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime"))


class LogWatch(logging.Handler):
    """Writes down every record of this process in full, errors with all their words, and what its programs say."""

    def __init__(self, file: Path) -> None:
        super().__init__(logging.NOTSET)
        self.file = file
        self.setFormatter(FullFormatter())
        self._out = file.open("a", encoding="utf-8", errors="backslashreplace")

    def emit(self, record: logging.LogRecord) -> None:
        self.note(self.format(record))

    def note(self, text: str) -> None:
        if not self.closed:
            self._out.write(text.rstrip("\n") + "\n")

    def note_answer(self, text: str) -> None:
        """Hear an answer of a program, which may tell a key or what a user said, and none of the planted secrets."""
        if any(each in text for each in PLANTED):
            self.note(text)

    @property
    def closed(self) -> bool:
        return self._out.closed

    def close(self) -> None:
        self._out.close()
        super().close()

    def find_secrets(self) -> list[str]:
        """The secrets that were written, each with some of what stands around it."""
        self._out.flush()
        # A process that was forked from this one may have torn a character apart: it writes what it found unwritten.
        return secrets_in(self.file.read_text("utf-8", errors="replace"))


def secrets_in(text: str) -> list[str]:
    """Where a text has a planted secret, a key of a server, or a word that a user said."""
    patterns = [*(re.compile(re.escape(each)) for each in PLANTED), _KEY, _PRIVATE_WORD]
    places = [found for pattern in patterns for found in pattern.finditer(text)]
    return [text[max(0, found.start() - _CONTEXT) : found.end() + _CONTEXT] for found in places]


@contextmanager
def watch_logs(file: Path) -> Iterator[LogWatch]:
    """Watch the records of all loggers of this process, whatever their handlers, and the programs that it starts."""
    watch = LogWatch(file)
    call_handlers = logging.Logger.callHandlers

    def watch_record(logger: logging.Logger, record: logging.LogRecord) -> None:
        # Here and not as a handler: a program replaces those, and some loggers do not hand on what they are told.
        watch.handle(record)
        call_handlers(logger, record)

    with patch.object(logging.Logger, "callHandlers", watch_record), watch_programs(watch):
        try:
            yield watch
        finally:
            watch.close()
