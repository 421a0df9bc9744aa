"""Selection of tests for the fast loops: `./dev quick` and `./dev test --changed`.

The quick run proves the core behaviour on SQLite in under a minute. It collects the folders of the core alone, since
reading every test file takes longer than running a hundred tests, and leaves out whatever needs PostgreSQL or another
process and every test marked `patient`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

QUICK_FOLDERS = (
    "admin",
    "blocks",
    "changes",
    "conversations",
    "events",
    "extraction",
    "jobs",
    "memory",
    "recall",
    "scope",
    "summaries",
    "tools",
    "working_context",
)
_POSTGRES = "postgres"


class QuickSelection:
    """A pytest plugin that keeps what belongs to a quick run."""

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        tests = config.rootpath / "tests"
        if collection_path.parent != tests or not collection_path.is_dir():
            return True if collection_path.parent == tests and collection_path.name.startswith("test_") else None
        return None if collection_path.name in QUICK_FOLDERS else True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if is_quick(item)]
        config.hook.pytest_deselected(items=[item for item in items if not is_quick(item)])
        items[:] = kept


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test needs neither PostgreSQL nor much time."""
    if item.get_closest_marker("patient") or item.get_closest_marker("slow"):
        return False
    parameters = getattr(item, "callspec", None)
    if parameters is not None and any(_is_postgres(value) for value in parameters.params.values()):
        return False
    # A test that is parametrised with its engine asks for the server only where it runs on it.
    fixtures = getattr(item, "fixturenames", ())
    return not any(name.startswith(_POSTGRES) for name in fixtures)


def _is_postgres(parameter: object) -> bool:
    return isinstance(parameter, str) and parameter == _POSTGRES
