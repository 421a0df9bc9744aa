"""The repository's tools: rules of names and prose, affected tests, and walks through the code."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from longmind.server.routes import make_routes
from tools import style, trace
from tools.affected import ALL, find_importers, select_tests, to_module

ROOT = Path(__file__).parent.parent


def findings_of(folder: Path, **sources: str) -> list[str]:
    package = folder / "sample"
    for name, source in sources.items():
        file = package.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(source))
    return [finding.text for finding in style.find_breaches(package)]


@pytest.mark.parametrize(
    ("source", "breach"),
    [
        ("def kept_rows(): ...", "function 'kept_rows' does not begin with a verb"),
        ("def of_scope(): ...", "function 'of_scope' does not begin with a verb"),
        ("def _reading(): ...", "function '_reading' does not begin with a verb"),
        ('"""What is kept."""', "docstring opens with 'What is kept. …'"),
        ('"""The same for events."""', "docstring opens with 'The same for events. …'"),
        ("# The index is written anew.", "'anew' has a plainer word"),
        ('raise ValueError("The user was told.")', "'told' has a plainer word"),
        ('_log.warning("meanwhile it waits")', "'meanwhile' has a plainer word"),
        ("\n" * 501, "501 lines; split what has more than 500"),
    ],
)
def test_a_breach_of_the_rules_is_reported(tmp_path: Path, source: str, breach: str) -> None:
    assert any(text.startswith(breach) for text in findings_of(tmp_path, rows=source))


def test_names_that_say_too_little_are_reported(tmp_path: Path) -> None:
    found = findings_of(
        tmp_path,
        recall__lines="class Line: ...",
        blocks__lines="class _Line: ...",
        blocks__sleeping="",
        blocks__keys="",
    )
    assert found == [
        "the module name 'sleeping' is a gerund; use a noun for what it holds",
        "2 modules are called 'lines'; say which one this is",
        "2 modules are called 'lines'; say which one this is",
        "2 classes are called 'Line'; say which one this is",
        "2 classes are called 'Line'; say which one this is",
    ]


def test_what_follows_the_rules_is_not_reported(tmp_path: Path) -> None:
    source = '''
    """Rows of one table."""

    class Rows:
        """The rows, in order."""

        def to_list(self): ...
        def embed(self): ...
        def on_closed(self): ...
        @property
        def closed(self): ...

    def read_rows():
        """Return the rows."""
    '''
    assert findings_of(tmp_path, rows=source) == []


def test_a_package_with_few_docstrings_and_comments_is_reported(tmp_path: Path) -> None:
    assert findings_of(tmp_path, rows="number = 1\n" * 400) == [
        "0.0 lines of docstrings per 100 in '.'; the range is 11 to 24",
        "0.0 lines of comments per 100 in '.'; the range is 2 to 5",
    ]


def test_a_change_of_ranking_affects_recall_and_what_rests_on_it() -> None:
    chosen = select_tests(["src/longmind/recall/ranking/decay.py"])
    assert {"tests/recall", "tests/memory", "tests/working_context"} <= chosen
    assert not {"tests/jobs", "tests/providers", ALL} & chosen


def test_a_change_of_what_everything_rests_on_affects_all_tests() -> None:
    assert select_tests(["src/longmind/engine.py"]) == {ALL}
    assert select_tests(["harness/postgres.py"]) == {ALL}
    assert select_tests(["pyproject.toml"]) == {ALL}


def test_a_change_of_a_test_or_a_page_affects_itself() -> None:
    assert select_tests(["tests/scope/test_scope.py"]) == {"tests/scope/test_scope.py"}
    assert select_tests(["docs/index.md"]) == {"tests/test_documentation.py"}
    assert to_module("src/longmind/recall/__init__.py") == "longmind.recall"
    assert to_module("README.md") is None


def test_importers_are_followed_up_to_the_composition_of_the_program() -> None:
    imports = {"longmind.a": {"longmind.b", "longmind.engine"}, "longmind.b": {"tests.test_b"}}

    class Graph:
        def find_modules_that_directly_import(self, module: str) -> set[str]:
            return imports.get(module, set())

    assert find_importers({"longmind.a"}, Graph()) == {"longmind.a", "longmind.b", "tests.test_b"}  # type: ignore[arg-type]  # all that it asks of a graph


@pytest.mark.parametrize("operation", ["memory.recall_by_topic", "append_turn", "tools.memory_store", "work"])
def test_the_walk_of_an_operation_is_printed(operation: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert trace.main([operation]) == 0
    *steps, summary = capsys.readouterr().out.splitlines()
    assert summary.endswith("; done")
    assert any(step.startswith("store/sqlite/") for step in steps)


@pytest.mark.patient
def test_every_operation_has_a_walk() -> None:
    for route in make_routes():
        recorder = trace.Recorder()
        world = trace.World()
        try:
            outcome = trace.record_steps(world.prepare(route), recorder)
        finally:
            world.engine.close()
        assert outcome == "done", route.operation.path


def test_an_unknown_operation_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(SystemExit, match=r"memory\.recall_by_topic"):
        trace.main(["memory.recall_by_topics"])


def test_workflows_run_commands_that_exist() -> None:
    usage = (ROOT / "dev").read_text()
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        jobs = yaml.safe_load(file.read_text())["jobs"]
        for step in (step for job in jobs.values() for step in job["steps"]):
            words = step.get("run", "").split()
            if words[:1] == ["./dev"]:
                assert f"\n    {words[1]})" in usage, f"{file.name} runs {step['run']}"
