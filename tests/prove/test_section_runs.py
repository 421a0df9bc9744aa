"""The frame of the proof: what a section's end means for the others, for the exit code and for the page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from prove import __main__ as proof
from prove import report
from prove.section import ENGINES, Check, Plan, Section, judge_claim, report_figures, skip_check

Run = Callable[[Plan], Iterator[Check]]
Add = Callable[[str, Run], None]


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Add:
    """Adds a section that the frame finds as it finds the others."""
    monkeypatch.setattr(proof, "MODULES", ())

    def add(name: str, run: Run) -> None:
        module = ModuleType(f"prove.{name}")
        module.SECTION = Section(name=name, title=f"Title of {name}", seconds=5, run=run)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(proof, "MODULES", (*proof.MODULES, name))

    return add


def holds(plan: Plan) -> Iterator[Check]:
    yield Check("it holds", passed=True, figures={"writes": 1234, "share": 0.25})


def fails(plan: Plan) -> Iterator[Check]:
    yield Check("it holds", passed=True)
    yield Check("a write is kept", passed=False, detail="write 7 | is gone\nfor good")


def breaks(plan: Plan) -> Iterator[Check]:
    yield Check("seen before", passed=True)
    raise ZeroDivisionError("the attacker broke")


def is_skipped(plan: Plan) -> Iterator[Check]:
    yield skip_check("needs a network", "there is none")


def prove(folder: Path, *arguments: str) -> int:
    return proof.main([*arguments, "--json", str(folder / "proof.json")])


def kept(folder: Path) -> dict[str, report.Result]:
    return report.read(folder / "proof.json")


def test_checks_that_hold_or_could_not_be_tried_end_with_0(add: Add, tmp_path: Path) -> None:
    add("one", holds)
    add("two", is_skipped)
    assert prove(tmp_path) == 0
    assert [check["skipped"] for result in kept(tmp_path).values() for check in result["checks"]] == [False, True]


def test_a_run_in_which_nothing_could_be_tried_is_no_success(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("one", is_skipped)
    assert prove(tmp_path) == 3
    assert capsys.readouterr().out.endswith("nothing could be tried, so nothing was proved; 1 skipped\n")


def test_figures_alone_are_no_claim_that_held(add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def tells(plan: Plan) -> Iterator[Check]:
        yield report_figures("what it takes", {"bytes": 1234})

    add("one", tells)
    assert prove(tmp_path, "--report", str(tmp_path / "proof.md")) == 3
    assert "measured  what it takes" in capsys.readouterr().out
    assert "| Title of one | 0 | 0 | 0 | 1 | " in (tmp_path / "proof.md").read_text("utf-8")


def test_a_section_without_a_check_fails(add: Add, tmp_path: Path) -> None:
    add("one", lambda plan: iter(()))
    assert prove(tmp_path) == 1
    assert [check["detail"] for check in kept(tmp_path)["one"]["checks"]] == ["it made no check"]


def test_a_claim_for_which_nothing_was_tried_is_skipped() -> None:
    nothing, held = judge_claim("none is lost", 0, [], {"writes": 0}), judge_claim("none is lost", 3, [], {"writes": 3})
    assert (nothing.skipped, nothing.passed) == (True, False)
    assert nothing.detail == "nothing was tried, since the time was over before"
    assert (held.skipped, held.passed, held.figures) == (False, True, {"writes": 3})
    # What broke before the first try is told.
    broken = judge_claim("none is lost", 0, ["it did not open"])
    assert (broken.skipped, broken.passed, broken.detail) == (False, False, "it did not open")


def test_one_check_that_fails_ends_with_1_and_is_named(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("one", holds)
    add("two", fails)
    assert prove(tmp_path) == 1
    printed = capsys.readouterr().out
    assert "FAILED  a write is kept" in printed
    assert "write 7 | is gone" in printed
    assert printed.endswith("failed: two\n")


def test_a_section_that_raises_fails_and_the_next_one_is_run(add: Add, tmp_path: Path) -> None:
    add("one", breaks)
    add("two", holds)
    assert prove(tmp_path) == 1
    first, second = kept(tmp_path)["one"]["checks"], kept(tmp_path)["two"]["checks"]
    assert [check["passed"] for check in first] == [True, False]
    assert "ZeroDivisionError: the attacker broke" in first[1]["detail"]
    assert [check["passed"] for check in second] == [True]


def test_results_of_other_sections_stay(add: Add, tmp_path: Path) -> None:
    add("one", fails)
    add("two", holds)
    prove(tmp_path, "one")
    assert prove(tmp_path, "two") == 0
    assert list(kept(tmp_path)) == ["one", "two"]
    assert not report.has_passed(kept(tmp_path)["one"])


def test_a_new_run_of_a_section_takes_the_place_of_the_old_one(add: Add, tmp_path: Path) -> None:
    add("one", fails)
    prove(tmp_path)
    add("one", holds)
    assert prove(tmp_path, "one") == 0
    assert [check["claim"] for check in kept(tmp_path)["one"]["checks"]] == ["it holds"]


def test_what_was_shown_stays_when_a_later_section_is_interrupted(add: Add, tmp_path: Path) -> None:
    def interrupted(plan: Plan) -> Iterator[Check]:
        yield from holds(plan)
        raise KeyboardInterrupt

    add("one", holds)
    add("two", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prove(tmp_path)
    assert list(kept(tmp_path)) == ["one"]


def test_the_page_is_written_from_the_results_that_are_kept(add: Add, tmp_path: Path) -> None:
    add("one", fails)
    prove(tmp_path)
    add("two", holds)
    page = tmp_path / "proof.md"
    prove(tmp_path, "two", "--report", str(page), "--full", "--seed", "9")
    text = page.read_text("utf-8")
    assert "| Title of one | 1 | 1 | 0 | 0 | `./dev prove one`, seed 1, " in text
    assert "| Title of two | 1 | 0 | 0 | 0 | `./dev prove two --full`, seed 9, " in text
    # A cell stays one cell on one line, whatever is in it.
    assert "| Title of one | FAILED | a write is kept | write 7 \\| is gone for good |" in text
    assert "it holds" not in text
    assert text == report.format_page(json.loads((tmp_path / "proof.json").read_text("utf-8")))


def test_the_page_says_when_less_than_usual_was_asked_for(add: Add, tmp_path: Path) -> None:
    add("one", holds)
    page = tmp_path / "proof.md"
    prove(tmp_path, "--engine", "sqlite", "--seconds", "2.5", "--report", str(page))
    assert "`./dev prove one --engine sqlite --seconds 2.5`, seed 1, " in page.read_text("utf-8")


def test_the_page_has_the_sections_in_their_order_whenever_they_were_run(add: Add, tmp_path: Path) -> None:
    add("one", holds)
    add("two", holds)
    prove(tmp_path, "two")
    prove(tmp_path, "one", "one")
    assert list(kept(tmp_path)) == ["one", "two"]


@pytest.mark.parametrize("seconds", ["0", "-1", "inf", "nan", "soon"])
def test_a_time_that_is_none_is_refused(add: Add, tmp_path: Path, seconds: str) -> None:
    add("one", holds)
    with pytest.raises(SystemExit) as ended:
        prove(tmp_path, f"--seconds={seconds}")
    assert ended.value.code == 2


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_run(
    add: Add, tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def must_not_run(plan: Plan) -> Iterator[Check]:
        pytest.fail("it was run")
        yield from holds(plan)

    add("one", must_not_run)
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path / "file" / "proof", tmp_path):
        with pytest.raises(SystemExit) as ended:
            proof.main(["--json", str(tmp_path / "proof.json"), option, str(path)])
        assert ended.value.code == 2
        assert f"argument {option}: {path} cannot be written: " in capsys.readouterr().err


def test_a_file_of_results_that_holds_none_is_left_as_it_is(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("one", holds)
    (tmp_path / "proof.json").write_text("dear diary")
    with pytest.raises(SystemExit) as ended:
        prove(tmp_path)
    assert ended.value.code == 2
    assert "exists but holds no results" in capsys.readouterr().err
    assert (tmp_path / "proof.json").read_text() == "dear diary"


def test_an_unknown_section_is_named_and_nothing_is_run(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("one", holds)
    with pytest.raises(SystemExit) as ended:
        prove(tmp_path, "one", "nonsense")
    assert ended.value.code == 2
    assert "unknown section nonsense; the sections are: one" in capsys.readouterr().err
    assert not (tmp_path / "proof.json").exists()


def test_a_plan_has_an_empty_folder_that_is_gone_afterwards_and_its_options(add: Add, tmp_path: Path) -> None:
    seen: list[Plan] = []

    def looks(plan: Plan) -> Iterator[Check]:
        seen.append(plan)
        (plan.folder / "left").write_text("something")
        yield Check("the folder was empty", passed=[each.name for each in plan.folder.iterdir()] == ["left"])

    add("one", looks)
    assert prove(tmp_path) == 0
    assert prove(tmp_path, "--engine", "sqlite", "--seconds", "3", "--full") == 0
    plain, full = seen
    assert (plain.seconds, plain.engines, plain.full) == (5, ENGINES, False)
    assert (full.seconds, full.engines, full.seconds_left()) == (3, ("sqlite",), float("inf"))
    assert plain.seconds_left() <= 5
    assert not plain.folder.exists()


def test_the_same_seed_draws_the_same_and_each_part_draws_its_own(tmp_path: Path) -> None:
    def draws(seed: int, name: str) -> float:
        return Plan(seconds=1, seed=seed, engines=ENGINES, folder=tmp_path).dice(name).random()

    assert draws(1, "kills") == draws(1, "kills")
    assert len({draws(1, "kills"), draws(2, "kills"), draws(1, "disk")}) == 3


@pytest.mark.parametrize("name", proof.MODULES)
def test_every_section_that_is_listed_is_there(name: str) -> None:
    assert find_spec(f"prove.{name}") is not None
    section = proof._section(name)
    assert section.title
    assert 0 < section.seconds <= 600
