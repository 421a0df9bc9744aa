"""Search for secrets in everything that a test run logs, and in the output of the programs that it starts.

Secrets are planted where every test uses them: in the address of PostgreSQL, in the keys of models, in the secret of
web tokens. Keys of the server, and the words that tests plant as remarks of users, are recognised by their form.
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
"""A word that occurs nowhere else, which tests plant in every place that takes text."""
_CONTEXT = 60


class FullFormatter(logging.Formatter):
    """A formatter that adds a record's error and its further fields."""

    def __init__(self) -> None:
        super().__init__("%(name)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        own = {name: value for name, value in vars(record).items() if name not in _USUAL}
        return f"{super().format(record)} {own}" if own else super().format(record)


_USUAL = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime"))


class LogWatch(logging.Handler):
    """A handler that writes every record of this process in full, with errors, and the output of its programs."""

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
        """Note an answer of a program, which may hold a key or a user's words, but none of the planted secrets."""
        if any(each in text for each in PLANTED):
            self.note(text)

    @property
    def closed(self) -> bool:
        return self._out.closed

    def close(self) -> None:
        self._out.close()
        super().close()

    def find_secrets(self) -> list[str]:
        """Return the secrets that were written, each with some context."""
        self._out.flush()
        # A forked process may tear a character apart, since it writes the text that was still buffered.
        return secrets_in(self.file.read_text("utf-8", errors="replace"))


def secrets_in(text: str) -> list[str]:
    """Return the planted secrets, keys of a server and private words in a text, each with some context."""
    patterns = [*(re.compile(re.escape(each)) for each in PLANTED), _KEY, _PRIVATE_WORD]
    places = [found for pattern in patterns for found in pattern.finditer(text)]
    return [text[max(0, found.start() - _CONTEXT) : found.end() + _CONTEXT] for found in places]


@contextmanager
def watch_logs(file: Path) -> Iterator[LogWatch]:
    """Watch the records of all loggers of this process, whatever their handlers, and the programs that it starts."""
    watch = LogWatch(file)
    call_handlers = logging.Logger.callHandlers

    def watch_record(logger: logging.Logger, record: logging.LogRecord) -> None:
        # Here and not as a handler: programs replace handlers, and some loggers do not propagate their records.
        watch.handle(record)
        call_handlers(logger, record)

    with patch.object(logging.Logger, "callHandlers", watch_record), watch_programs(watch):
        try:
            yield watch
        finally:
            watch.close()
