"""Runs one parser under atheris, in a process of its own: `python -m …coverage_guided NAME SECONDS SEED`.

What it has found is the last line of its output.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(name: str, seconds: str, seed: str) -> None:
    import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]  # not a dependency: it is used where it is found

    with atheris.instrument_imports(include=["recollect", "combustache"]):
        from prove.hostile_input.fuzzing import parser_named, tried

    parser = parser_named(name)
    given = 0

    def tell(text: str = "", wrong: str = "") -> None:
        print(json.dumps({"texts": given, "text": text, "wrong": wrong}), flush=True)

    def attempt(data: bytes) -> None:
        nonlocal given
        given += 1
        text = data.decode("utf-8", "surrogateescape")
        wrong = tried(parser, text)
        if wrong is not None:
            tell(text, wrong)
            os._exit(0)
        if given % 200 == 0:
            tell()

    def end(*_: Any) -> None:
        tell()

    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(parser.seeds):
            (Path(folder) / str(number)).write_bytes(text.encode("utf-8", "surrogatepass"))
        options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=4000", "-rss_limit_mb=2048", "-timeout=60"]
        import atexit

        atexit.register(end)
        atheris.Setup([sys.argv[0], *options, folder], attempt)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
