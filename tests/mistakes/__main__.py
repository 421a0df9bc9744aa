"""Make the mistakes on SQLite and write the page."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from tests.mistakes.bench import open_bench
from tests.mistakes.page import PAGE, SECTIONS, run_section, write_page


def main() -> None:
    """Write the page."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))

    def read_output() -> tuple[str, str]:
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read())
            stream.seek(0)
            stream.truncate()
        return said[0], said[1]

    sections = {}
    for section in SECTIONS:
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            open_bench(f"sqlite:///{folder}/longmind.db", Path(folder), read_output) as bench,
        ):
            sections[section] = run_section(bench, section)
    PAGE.write_text(write_page(sections))


main()
