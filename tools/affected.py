"""Name the tests that a change can affect, by the graph of imports.

python -m tools.affected [BASE]   print the test folders and files affected since BASE (HEAD without one), or "all"

A changed module reaches the modules that import it, directly or through others, and with each of them the tests of its
package and the tests that import it. The walk ends at the modules that put the whole program together: they import
everything, and would make every change a change of everything.
"""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
ALL = "all"
PACKAGES = ("longmind", "tests", "harness", "prove", "benchmarks", "examples", "tools")
COMPOSITION = ("longmind.engine", "longmind.engine_parts", "longmind.context", "longmind.operations", "longmind.aio")
"""Modules that import every service. A change of one of them affects all tests."""
EVERYWHERE = ("pyproject.toml", "requirements.lock", "tests/conftest.py", "dev", "hatch_build.py")
OTHER_FILES = {
    ".sql": ("tests/store", "tests/upgrades", "tests/scope"),
    ".md": ("tests/test_documentation.py",),
    ".mustache": ("tests/working_context",),
    ".c": ("tests/recall",),
    ".h": ("tests/recall",),
}
"""Tests of what is no Python module, by the ending of the file."""


def find_changed_files(base: str) -> list[str]:
    """Return the files that differ from a commit, and those that git does not track yet."""
    listings = (["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"])
    output = (subprocess.run(each, cwd=ROOT, capture_output=True, text=True, check=True).stdout for each in listings)
    return sorted({line for listing in output for line in listing.splitlines()})


def to_module(file: str) -> str | None:
    """Return the dotted name of a Python file of this repository."""
    path = Path(file)
    if path.suffix != ".py":
        return None
    parts = path.with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def find_importers(changed: set[str], graph: grimp.ImportGraph) -> set[str]:
    """Return the changed modules and all that import them, without walking through the composition of the program."""
    reached = set(changed)
    waiting = deque(changed)
    while waiting:
        for importer in graph.find_modules_that_directly_import(waiting.popleft()):
            if importer not in reached and not _composes(importer):
                reached.add(importer)
                waiting.append(importer)
    return reached


def _composes(module: str) -> bool:
    return module == "longmind" or module.startswith(COMPOSITION)


def select_tests(files: list[str]) -> set[str]:
    """Return the folders and files of tests to run for changed files, or {"all"}."""
    if any(file in EVERYWHERE for file in files):
        return {ALL}
    # Imports for type checkers count: a service may be handed an object whose module it names only as a type.
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False)
    modules = {module for file in files if (module := to_module(file)) is not None}
    if any(_composes(module) for module in modules):
        return {ALL}
    chosen = {test for file in files for test in OTHER_FILES.get(Path(file).suffix, ())}
    reached = find_importers(modules & graph.modules, graph)
    if "tests.conftest" in reached:
        return {ALL}
    for module in reached:
        root, *rest = module.split(".")
        if root == "tests":
            file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
            chosen |= {str(file.relative_to(ROOT))} if file.name.startswith("test_") else set()
        elif root == "longmind" and rest and (ROOT / "tests" / rest[0]).is_dir():
            chosen.add(f"tests/{rest[0]}")
    return {test for test in chosen if (ROOT / test).exists() and str(Path(test).parent) not in chosen}


def main(arguments: list[str]) -> int:
    files = find_changed_files(arguments[0] if arguments else "HEAD")
    for test in sorted(select_tests(files)) if files else ():
        print(test)
    return 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    sys.exit(main(sys.argv[1:]))
