"""Commands called in this process, which is how most of them are tested: a process of its own takes a second."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from longmind.cli import ipc, main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Call = Callable[..., Ended]


def caller(capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*arguments: str) -> Ended:
        return _ended(capsys, main, arguments)

    return call


Typed = Callable[..., Ended]
Run = Callable[..., Ended]


def typist(capsys: pytest.CaptureFixture[str], home: Path) -> Typed:
    """Calls command lines as they are typed in a shell, with an empty home and nothing set up but what is given."""

    def type_in(line: str, **environment: str) -> Ended:
        program, *arguments = shlex.split(line)
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("LONGMIND_")]:
                patch.delenv(name)
            for name, value in {"HOME": str(home), "LONGMIND_OFFLINE": "1", **environment}.items():
                patch.setenv(name, value)
            patch.chdir(home)
            return _ended(capsys, {"ipc": ipc.main, "longmind": main}[program], arguments)

    return type_in


def _ended(
    capsys: pytest.CaptureFixture[str], program: Callable[[Sequence[str]], None], arguments: Sequence[str]
) -> Ended:
    capsys.readouterr()
    code: object = 0
    try:
        program(arguments)
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert isinstance(code, int)
    return Ended(code, out, err)
