"""The measure of dates, against values worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evaluation.dataset import Dataset, DatedFact, Session, Turn, read_dated_facts
from benchmarks.evaluation.date_reading import measure_dates
from longmind.errors import InvalidInput

SAID = "2023-05-08T12:00:00Z"


def facts(tmp_path: Path, *items: tuple[str, str | None, list[str] | None]) -> list[DatedFact]:
    """Facts as they are read from a file: what was said, and the date or the interval that is right."""
    written: list[dict[str, Any]] = [
        {
            "id": str(number),
            "question": "When?",
            "answer": "",
            "date": day,
            "interval": interval,
            "evidence": [{"id": f"{number}:1", "speaker": "Ann", "text": text, "at": SAID}],
        }
        for number, (text, day, interval) in enumerate(items)
    ]
    (tmp_path / "dates-few.json").write_text(json.dumps(written))
    return read_dated_facts(tmp_path)


def talk(*texts: str) -> Dataset:
    turns = tuple(Turn(str(number), "Ann", text, SAID) for number, text in enumerate(texts))
    return Dataset("talk", {"ann": (Session("s", turns),), "twin": (Session("s", turns),)}, ())


def test_a_day_must_be_the_very_one(tmp_path: Path) -> None:
    right, wrong, vague = (
        ("I ran yesterday", "2023-05-07"),
        ("I ran yesterday", "2023-05-06"),
        ("last week", "2023-05-05"),
    )
    measured = measure_dates(facts(tmp_path, (*right, None), (*wrong, None), (*vague, None)))
    assert (measured["right day"], measured["days"], measured["intervals"]) == (0.3333, 3, 0)


def test_an_interval_is_right_when_half_of_what_was_read_lies_within(tmp_path: Path) -> None:
    measured = measure_dates(
        facts(
            tmp_path,
            ("It was last week", None, ["2023-05-04", "2023-05-20"]),
            ("It was last week", None, ["2023-05-05", "2023-05-20"]),
            ("It was last week", "2023-05", None),
            ("I ran yesterday", "2023", None),
        )
    )
    assert (measured["right interval"], measured["intervals"]) == (0.75, 4)


def test_what_names_no_date_is_of_the_day_it_was_said(tmp_path: Path) -> None:
    measured = measure_dates(facts(tmp_path, ("I run every Tuesday", "2023-05-08", None), ("I ran", "2023-04", None)))
    assert (measured["right day"], measured["right interval"]) == (1.0, 0.0)


def test_a_date_is_invented_where_no_word_is_one() -> None:
    dataset = talk("I may go", "I run", "I ran yesterday", "A fortnight hence we meet")
    measured = measure_dates([], [dataset])
    assert (measured["turns without a date"], measured["invented"]) == (3, 0.3333)


def test_a_file_of_another_shape_is_named(tmp_path: Path) -> None:
    (tmp_path / "dates-odd.json").write_text('[{"id": 1}]')
    with pytest.raises(InvalidInput, match="dates-odd"):
        read_dated_facts(tmp_path)
