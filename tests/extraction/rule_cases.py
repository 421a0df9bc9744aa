"""Hand-written cases for the rules extractor, read from tests/extraction_cases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from longmind.clock import to_iso, to_micros
from longmind.extraction.candidate import Candidate, SourceMessage

FOLDER = Path(__file__).parent.parent / "extraction_cases"
DEFAULT_AT = "2024-05-08T10:00:00Z"
"""A Wednesday."""
_KEYS = frozenset(
    "text contains lacks kind category importance confidence below valid_from precision entities slot corrects trust "
    "speaker message".split()
)


@dataclass(frozen=True)
class Case:
    name: str
    messages: tuple[SourceMessage, ...]
    expect: tuple[dict[str, Any], ...]
    forbid: tuple[dict[str, Any], ...]
    count: int | None


def read_cases() -> list[Case]:
    return [_case(each) for path in sorted(FOLDER.glob("*.yaml")) for each in yaml.safe_load(path.read_text("utf-8"))]


def fits(candidate: Candidate, wanted: dict[str, Any]) -> bool:
    """Return whether a candidate has the values that a case names."""
    unknown = wanted.keys() - _KEYS
    assert not unknown, f"a case asks for {unknown}"
    return all(_has(candidate, key, value) for key, value in wanted.items())


def _has(candidate: Candidate, key: str, value: Any) -> bool:
    match key:
        case "text" | "kind" | "importance" | "confidence" | "precision" | "corrects" | "trust" | "speaker":
            return bool(getattr(candidate, key) == value)
        case "category":
            return bool(candidate.category_name == value)
        case "contains":
            return all(part in candidate.text for part in _listed(value))
        case "lacks":
            return not any(part in candidate.text for part in _listed(value))
        case "below":
            return bool(candidate.confidence < value)
        case "valid_from":
            said = candidate.valid_from
            return said is None if value is None else said is not None and to_iso(said).startswith(str(value))
        case "slot":
            slot = candidate.slot
            filled = None if slot is None else [slot.subject, slot.attribute, slot.value]
            return bool(filled == (value and [str(part) for part in value]))
        case "message":
            return candidate.source_message_ids == (str(value),)
        case "entities":
            return all(_mentions(candidate, wanted) for wanted in value)
    return False


def _mentions(candidate: Candidate, wanted: dict[str, Any]) -> bool:
    return any(
        mention.name == wanted["name"]
        and mention.type == wanted.get("type", mention.type)
        and set(wanted.get("aliases", ())) <= set(mention.aliases)
        for mention in candidate.mentions
    )


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _case(case: dict[str, Any]) -> Case:
    return Case(
        case["name"],
        tuple(
            SourceMessage(
                str(place),
                each.get("role", "user"),
                each["text"],
                to_micros(str(each.get("at", DEFAULT_AT))),
                each.get("read_only", False),
            )
            for place, each in enumerate(case["messages"])
        ),
        tuple(case.get("expect", ())),
        tuple(case.get("forbid", ())),
        case.get("count"),
    )
