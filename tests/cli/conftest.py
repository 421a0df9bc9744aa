"""Commands as fixtures, each called in the process of the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.command_calls import Ended, Run, Typed, caller, typist


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`longmind` with arguments, and variables of the environment by name."""
    call = caller(capsys)
    # An index that nobody answers at: no test fetches anything.
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_NO_INPUT": "1"}

    def run(*arguments: str, **environment: str) -> Ended:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**offline, **environment}.items():
                patch.setenv(name, value)
            return call(*arguments)

    return run


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Typed:
    """A command line as it is typed, in a home that is empty."""
    assert not os.listdir(tmp_path)
    return typist(capsys, tmp_path)
