"""The shape of the events service."""

from __future__ import annotations

import inspect

from longmind.aio.services import AsyncEvents
from longmind.events import Events


def test_the_service_is_composed_and_not_inherited() -> None:
    assert len(Events.__mro__) <= 4


def test_the_awaitable_service_has_every_operation() -> None:
    operations = {name for name, _ in inspect.getmembers(Events, inspect.isfunction) if not name.startswith("_")}
    assert operations == {name for name in dir(AsyncEvents) if not name.startswith("_")}
    assert set(Events.plain) < operations
