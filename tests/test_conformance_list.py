"""The list of requirements: markers name what is on it, and what is not covered yet is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import conformance

# What the present code has to meet. A0.1 and A0.5 need services and a server that are not there yet.
REQUIRED = {
    *(f"A0.{number}" for number in (2, 3, 4, 6)),
    *(f"A1.{number}" for number in range(1, 26) if number not in (17, 18, 21)),
    *("T1", "T2", "T3", "T4", "T16", "T23", "T25", "R-G", "R-I"),
}


def test_each_requirement_is_listed_once() -> None:
    numbers = [item.number for item in conformance.read_items()]
    assert len(numbers) == len(set(numbers)) == 258


def test_markers_name_only_known_requirements() -> None:
    assert conformance.unknown_numbers(conformance.read_items(), conformance.read_markers()) == []


def test_what_is_not_covered_yet_is_what_the_list_says() -> None:
    items, tests = conformance.read_items(), conformance.read_markers()
    uncovered = [item.number for item in items if conformance.mark_of(item.number, tests) == " "]
    print(f"{len(uncovered)} requirements are not covered yet: {', '.join(uncovered)}")
    assert conformance.wrong_marks(items, tests) == []


def test_what_the_present_code_has_to_meet_is_covered() -> None:
    tests = conformance.read_markers()
    assert {number for number in REQUIRED if conformance.mark_of(number, tests) == " "} == set()


def test_what_is_said_to_be_met_in_part_has_a_test() -> None:
    assert conformance.PARTLY.keys() <= conformance.read_markers().keys()
    assert not conformance.PARTLY.keys() & conformance.OTHERWISE.keys()


def test_the_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["--check"]) == 0, capsys.readouterr().err


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small repository with two requirements, one of which a test proves."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "items.txt").write_text("# Why\n\n## A Things\n[x] A1 It works\n[ ] A2 It flies\n")
    (tmp_path / "tests" / "deep" / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.conforms('A1')\ndef test_it() -> None: ...\n"
    )
    monkeypatch.setattr(conformance, "ITEMS", tmp_path / "docs" / "items.txt")
    monkeypatch.setattr(conformance, "PAGE", tmp_path / "docs" / "page.md")
    monkeypatch.setattr(conformance, "TESTS", tmp_path / "tests")
    monkeypatch.setattr(conformance, "PARTLY", {})
    return tmp_path


def mark_the_test(elsewhere: Path, source: str) -> None:
    (elsewhere / "tests" / "deep" / "test_it.py").write_text(source)


def test_the_page_names_the_tests_of_an_item_and_what_is_missing(elsewhere: Path) -> None:
    assert conformance.main([]) == 0
    page = (elsewhere / "docs" / "page.md").read_text("utf-8")
    assert "Of 2 requirements 1 are met, 0 in part, and 1 not yet." in page
    assert "\n- A1: `tests/deep/test_it.py::test_it`\n" in page
    assert "## Not yet covered\n\n- A2 It flies\n" in page


@pytest.mark.usefixtures("elsewhere")
def test_the_check_writes_nothing_and_fails_without_a_current_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["--check"]) == 1
    assert "not current" in capsys.readouterr().err
    assert conformance.main([]) == 0
    assert conformance.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("@pytest.mark.conforms('A1', 'A9')\ndef test_it() -> None: ...\n", "A9"),
        ("@pytest.mark.conforms('A2')\ndef test_it() -> None: ...\n", "A1 is marked [x]"),
        ("@pytest.mark.conforms('A1', 'A2')\ndef test_it() -> None: ...\n", "A2 is marked [ ]"),
        ("@pytest.mark.conforms(A1)\ndef test_it() -> None: ...\n", "test_it.py:1: conforms() takes string literals"),
        ("@pytest.mark.conforms()\ndef test_it() -> None: ...\n", "takes the numbers"),
        ("@pytest.mark.conforms('A1')\ndef helper() -> None: ...\n", "may only mark test functions"),
        ("pytestmark = pytest.mark.conforms('A1')\ndef test_it() -> None: ...\n", "may only mark test functions"),
    ],
)
def test_a_marker_that_proves_nothing_is_found(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], source: str, words: str
) -> None:
    assert conformance.main([]) == 0
    mark_the_test(elsewhere, source)
    for arguments in ([], ["--check"]):
        assert conformance.main(arguments) == 1
        assert words in capsys.readouterr().err
