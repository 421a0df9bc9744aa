"""Mistakes that people make: each gets a message, the one that docs/reference/mistakes.md shows, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mistakes.bench import Bench, open_bench
from tests.mistakes.page import PAGE, SECTIONS, run_section, write_page, write_section

FEWEST = 60


@pytest.fixture
def bench(database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    with open_bench(database_url, tmp_path, lambda: (lambda said: (said.out, said.err))(capsys.readouterr())) as bench:
        yield bench


@pytest.mark.parametrize("section", SECTIONS)
def test_each_mistake_gets_the_message_of_the_page(bench: Bench, section: str) -> None:
    messages = run_section(bench, section)
    silent = [case for case, message in messages.items() if not message or message.startswith("(0) {")]
    assert not silent
    assert not [case for case, message in messages.items() if "Traceback" in message]
    written = write_section(section, messages)
    assert written in PAGE.read_text("utf-8"), f"Run: python -m tests.mistakes\n{written}"


def test_the_page_has_no_other_mistakes_and_enough_of_them() -> None:
    cases = [case for cases in SECTIONS.values() for case in cases]
    assert len(set(cases)) == len(cases) >= FEWEST
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert len(rows) == len(cases)
    assert PAGE.read_text("utf-8").startswith(write_page({}).split("\n\n")[0])
