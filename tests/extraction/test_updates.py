"""Later facts supersede earlier ones where the two cannot both be true."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.extraction.reconcile.decisions import Add, Decision, KnownAtom, Supersede, decide
from longmind.extraction.rules import RulesExtractor

FOLDER = Path(__file__).parent.parent / "update_cases"
MARCH = to_micros("2024-03-08T10:00:00Z")
MAY = to_micros("2024-05-08T10:00:00Z")
RULES = RulesExtractor()


def pairs(name: str) -> list[tuple[str, str]]:
    return [(old, new) for old, new in yaml.safe_load((FOLDER / name).read_text("utf-8"))]


def decisions(old: str, new: str) -> list[Decision]:
    """Return the decisions about a message of May, given a message of March."""
    before = RULES.extract([SourceMessage("old", "user", old, MARCH)], "v1").candidates
    known = [KnownAtom.from_candidate(candidate, f"atom_{place}", MARCH) for place, candidate in enumerate(before)]
    told = RULES.extract([SourceMessage("new", "user", new, MAY)], "v1").candidates
    return [decide(candidate, known, MAY) for candidate in told]


@pytest.mark.parametrize(("old", "new"), pairs("changed.yaml"))
def test_a_changed_fact_supersedes_the_old_one(old: str, new: str) -> None:
    assert any(isinstance(each, Supersede) for each in decisions(old, new))


@pytest.mark.parametrize(("old", "new"), pairs("unchanged.yaml"))
def test_a_compatible_fact_leaves_the_old_one_alone(old: str, new: str) -> None:
    assert not any(isinstance(each, Supersede) for each in decisions(old, new))


@pytest.mark.parametrize(("old", "new", "facts"), yaml.safe_load((FOLDER / "unclear.yaml").read_text("utf-8")))
def test_a_change_in_roundabout_words_hides_nothing_and_invents_nothing(old: str, new: str, facts: list[str]) -> None:
    assert RULES.extract([SourceMessage("old", "user", old, MARCH)], "v1").candidates
    told = RULES.extract([SourceMessage("new", "user", new, MAY)], "v1").candidates
    assert [each.text for each in told] == facts
    assert all(isinstance(each, Add) for each in decisions(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Oslo.", "I live in Oslo with my wife Maria."),
        ("I work at Nokia.", "I work at Nokia in Espoo as a tester."),
        ("My dog is called Rex.", "My dog is called Rex and he is a beagle."),
    ],
)
def test_a_longer_statement_of_a_known_value_is_added(old: str, new: str) -> None:
    assert [type(each) for each in decisions(old, new)] == [Add]
