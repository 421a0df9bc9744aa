"""Runs parsers under atheris: `python -m …coverage_guided SECONDS SEED`, with seconds for each of them.

It ends its process when its time is over, so each parser has one of its own, forked from one in which Longmind was
loaded and instrumented. What was found about a parser is the last line of the output that has its name.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

TOO_LONG = 60
"""Seconds that a text may take until atheris ends the process."""


def main(seconds: str, seed: str) -> None:
    import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]  # not a dependency: it is used where it is found

    with atheris.instrument_imports(include=["longmind", "combustache"]):
        from prove.hostile_input.parsers import PARSERS

    for place, parser in enumerate(PARSERS):
        with tempfile.TemporaryDirectory() as folder:
            for number, text in enumerate(parser.seeds):
                (Path(folder) / str(number)).write_bytes(text.encode("utf-8", "surrogatepass"))
            process = os.fork()
            if not process:
                _fuzz_parser(parser, folder, seconds, int(seed) + place)
            os.waitpid(process, 0)


def _fuzz_parser(parser: Any, folder: str, seconds: str, seed: int) -> None:
    import atheris

    from prove.hostile_input.fuzzer import try_text

    given = 0

    def tell(text: str = "", wrong: str = "") -> None:
        print(json.dumps({"parser": parser.name, "texts": given, "text": text, "wrong": wrong}), flush=True)

    def attempt(data: bytes) -> None:
        nonlocal given
        given += 1
        text = data.decode("utf-8", "surrogateescape")
        wrong = try_text(parser, text)
        if wrong is not None:
            tell(text, wrong)
            os._exit(0)
        # Often enough: nothing of ours is run when its time is over.
        if given % 20 == 1:
            tell()

    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=4000", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *options, f"-timeout={TOO_LONG}", "-verbosity=0", folder], attempt)
    atheris.Fuzz()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
