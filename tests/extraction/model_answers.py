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


def facts(*found: Any) -> dict[str, Any]:
    return {"facts": list(found)}


def transcript(request: ModelRequest) -> str:
    """Return the message of a request that holds the transcript."""
    return request.messages[0].blocks[0].text  # type: ignore[union-attr]  # it is a text


def transcript_lines(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the messages within the fence, decoded."""
    return [json.loads(line) for line in transcript(request).split("\n")[1:-1]]


def new_numbers(request: ModelRequest) -> Sequence[str]:
    return list(dict.fromkeys(line["id"] for line in transcript_lines(request) if not line.get("context")))
