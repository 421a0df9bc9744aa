"""Settings as keywords: an editor completes what the engine takes."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import longmind
from longmind.settings import Settings, SettingsOptions


def test_the_keywords_of_open_are_the_settings_with_their_types() -> None:
    named = set(inspect.signature(longmind.open).parameters) - {"clock", "settings"}
    settings = get_type_hints(Settings)
    options = get_type_hints(SettingsOptions)
    assert named | options.keys() == settings.keys()
    assert not named & options.keys()
    assert {name: kind | None for name, kind in settings.items() if name in options} == options
