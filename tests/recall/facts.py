"""Short ways to write atoms and to read recalls, for the tests of recall."""

from __future__ import annotations

from typing import Any

import longmind
from longmind.memory import Memory
from longmind.models.recall import Recall


def fact(text: str, *, kind: str = "FACT", name: str = "general", **more: Any) -> dict[str, Any]:
    return {"text": text, "category": {"name": name, "kind": kind}, **more}


def texts_of(found: Recall) -> list[str]:
    return [hit.atom.text for hit in found.hits]


def memory_of(engine: longmind.Engine, user_id: str = "ada") -> Memory:
    return engine.context(tenant_id="acme", app_id="support", user_id=user_id).memory
