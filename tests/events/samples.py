"""Contexts and rows that the tests of events share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import longmind


def context_of(engine: longmind.Engine, **more: Any) -> longmind.Context:
    return engine.context(**{"tenant_id": "acme", "app_id": "support", "user_id": "ada", **more})


def texts(events: Iterable[longmind.Event]) -> list[str | None]:
    return [event.text for event in events]
