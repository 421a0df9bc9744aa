"""Conversations and answers for the tests of the model extractor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.providers.language_model import ModelRequest

SUNDAY = to_micros("2026-03-01T09:30:00Z")


def user_message(
    id: str, text: str, role: Literal["user", "assistant", "tool"] = "user", *, read_only: bool = False
) -> SourceMessage:
    return SourceMessage(id, role, text, SUNDAY, read_only)


def fact(text: str = "The user lives in Graz.", **changes: Any) -> dict[str, Any]:
    """Return a fact as a model answers it by the first version of the prompt."""
    return {
        "text": text,
        "category": "home",
        "kind": "FACT",
        "importance": 3,
        "confidence": 0.9,
        "sources": ["m1"],
        "valid_from": None,
        "entities": [],
        **changes,
    }


def fact_v2(text: str = "The user lives in Graz.", **changes: Any) -> dict[str, Any]:
    """Return a fact as a model answers it by the second version of the prompt."""
    more: dict[str, Any] = {"valid_to": None, "precision": "day", "slot": None, "corrects": False, "tags": []}
    return fact(text, **{**more, **changes})


def fact_v3(text: str = "User lives in Graz.", **changes: Any) -> dict[str, Any]:
    """Return a fact as a model answers it by the third version of the prompt."""
    return {
        "text": text,
        "subject": "user",
        "attribute": "home",
        "qualifier": None,
        "value": "Graz",
        "kind": "FACT",
        "category": "home",
        "importance": 4,
        "certainty": 1,
        "negated": False,
        "valid_from": None,
        "sources": ["m1"],
        "decision": "add",
        "of": None,
        "entities": [],
        **changes,
    }


def facts(*found: Any) -> dict[str, Any]:
    return {"facts": list(found)}


def transcript(request: ModelRequest) -> str:
    """Return the message of a request that holds the transcript."""
    return request.messages[0].blocks[0].text  # type: ignore[union-attr]  # it is a text


def transcript_lines(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the messages within the fence, decoded."""
    return _read_section(request, "transcript")


def known_lines(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the known facts within their fence, decoded; none where there is no such section."""
    return _read_section(request, "known facts") if transcript(request).startswith("=== known facts ") else []


def _read_section(request: ModelRequest, name: str) -> list[dict[str, Any]]:
    lines = transcript(request).split("\n")
    edges = [place for place, line in enumerate(lines) if line.startswith(f"=== {name} ")]
    assert len(edges) == 2
    return [json.loads(line) for line in lines[edges[0] + 1 : edges[1]]]


def new_numbers(request: ModelRequest) -> Sequence[str]:
    return list(dict.fromkeys(line["id"] for line in transcript_lines(request) if not line.get("context")))
