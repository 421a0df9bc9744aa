"""`longmind export`, `import` and `erase`, as somebody types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import longmind
from tests.admin.conftest import empty, live, of, run_here

WHOSE = ("--tenant", "acme", "--app", "support", "--user", "ada")


@pytest.mark.conforms("A9.1", "A9.2")
def test_a_user_is_exported_erased_after_being_asked_and_imported_again(sqlite_url: str, tmp_path: Path) -> None:
    with longmind.open(sqlite_url, embedder="none") as engine:
        live(of(engine, "ada"))
    archive, document = str(tmp_path / "ada.zip"), str(tmp_path / "ada.json")
    for file in (archive, document):
        done = run_here("export", *WHOSE, "--url", sqlite_url, "-o", file)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert Path(document).stat().st_mode & 0o077 == 0
    assert json.loads(Path(document).read_text())["conversations"][0]["title"] == "The talk of ada"
    assert run_here("erase", *WHOSE, "--url", sqlite_url, said="n\n").returncode == 1
    with longmind.open(sqlite_url, embedder="none") as engine:
        assert not empty(of(engine, "ada"))
    erased = run_here("erase", *WHOSE, "--url", sqlite_url, "--json", said="y\n")
    assert json.loads(erased.stdout)["deleted"]["conversations"] == 1
    brought = run_here("import", archive, *WHOSE, "--url", sqlite_url, "--json")
    assert json.loads(brought.stdout)["imported"]["conversations"] == 1
    again = run_here("import", document, *WHOSE, "--url", sqlite_url)
    assert (again.returncode, again.stdout) == (0, "Nothing was imported: all of it is there already.\n")


def test_what_cannot_be_done_is_said_and_ends_with_one(sqlite_url: str, tmp_path: Path) -> None:
    longmind.open(sqlite_url, embedder="none").close()
    for arguments, words in (
        (("erase",), "Neither --user nor --vacuum"),
        (("erase", "verify"), "No text to search for"),
        (("export", *WHOSE, "-o", str(tmp_path)), "cannot be created"),
    ):
        done = run_here(*arguments, "--url", sqlite_url)
        assert done.returncode == 1, arguments
        assert words in done.stderr
