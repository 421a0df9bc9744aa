"""Conversations and answers for the tests of the model extractor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.providers.language_model import ModelRequest

SUNDAY = to_micros("2026-03-01T09:30:00Z")


def said(
    id: str, text: str, role: Literal["user", "assistant", "tool"] = "user", *, read_only: bool = False
) -> SourceMessage:
    return SourceMessage(id, role, text, SUNDAY, read_only)


def fact(text: str = "The user lives in Graz.", **changes: Any) -> dict[str, Any]:
    """A fact as a model answers it that keeps to the first version."""
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


def detailed(text: str = "The user lives in Graz.", **changes: Any) -> dict[str, Any]:
    """The same for the second version."""
    more: dict[str, Any] = {"valid_to": None, "precision": "day", "slot": None, "corrects": False, "tags": []}
    return fact(text, **{**more, **changes})


def facts(*found: Any) -> dict[str, Any]:
    return {"facts": list(found)}


def shown(request: ModelRequest) -> str:
    """The message with the transcript."""
    return request.messages[0].blocks[0].text  # type: ignore[union-attr]  # it is a text


def lines(request: ModelRequest) -> list[dict[str, Any]]:
    """The messages inside of the fence, read back."""
    return [json.loads(line) for line in shown(request).split("\n")[1:-1]]


def new_numbers(request: ModelRequest) -> Sequence[str]:
    return list(dict.fromkeys(line["id"] for line in lines(request) if not line.get("context")))
