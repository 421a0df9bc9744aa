"""A log watch for output that only pytest has: of tests, of programs that share it, and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Generator

import pytest

from harness.log_watch import LogWatch, secrets_in


class RunWatch:
    """A plugin of pytest that is active from its registration until the run ends."""

    def __init__(self, watch: LogWatch) -> None:
        self._watch = watch
        self._late: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        self._hear(report.capstderr)
        self._watch.note_answer(report.capstdout)
        return report

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        self._hear(str(warning_message.message))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # The warnings of the last test come when all fixtures are gone, and with them the watch.
        if self._late:
            print(f"\n{len(self._late)} secrets were printed at the end of the run: {self._late[:5]}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _hear(self, text: str) -> None:
        if self._watch.closed:
            self._late += secrets_in(text)
        else:
            self._watch.note(text)
