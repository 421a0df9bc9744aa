"""Write docs/reference/conformance.md: the tests that prove each requirement.

python -m tools.conformance           write the page
python -m tools.conformance --check   fail if the page or the marks of the items are not current

docs/reference/conformance-items.txt lists the requirements. A test names those that it proves in a marker,
`@pytest.mark.conforms("A1.11")`, which is read from the source, so no test has to run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

ROOT = Path(__file__).parent.parent
ITEMS = ROOT / "docs" / "reference" / "conformance-items.txt"
PAGE = ROOT / "docs" / "reference" / "conformance.md"
TESTS = ROOT / "tests"

# How many tests of a requirement the page names.
SHOWN = 2

Mark = Literal["x", "~", " "]

OTHERWISE: Mapping[str, str] = {}
"""Requirements that are met without a test, with the reason."""

PARTLY: Mapping[str, str] = {
    "C21": "Single rows are atoms; there is no path yet to add one as a row of a block.",
}
"""Requirements that tests prove in part, with the missing part."""


class Misplaced(Exception):
    """A marker in the wrong place, or without the numbers of requirements."""


@dataclass(frozen=True)
class Item:
    number: str
    title: str
    section: str
    mark: Mark


def read_items() -> list[Item]:
    items: list[Item] = []
    section = ""
    for line in ITEMS.read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif item := re.fullmatch(r"\[([x~ ])\] (\S+) (.+)", line):
            mark = next(mark for mark in get_args(Mark) if mark == item[1])
            items.append(Item(item[2], item[3], section, mark))
        elif line and not line.startswith("#"):
            raise ValueError(f"{ITEMS.name}: not an item: {line!r}")
    return items


def read_markers() -> dict[str, list[str]]:
    """Return the tests of each item, in the order of the files."""
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        name = file.relative_to(TESTS.parent).as_posix()
        for test, number in _markers_of(ast.parse(file.read_text("utf-8")), name):
            tests = found.setdefault(number, [])
            if f"{name}::{test}" not in tests:
                tests.append(f"{name}::{test}")
    return found


def _markers_of(module: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    attributed: set[ast.Call] = set()
    for test in module.body:
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test_"):
            for call in (call for decorator in test.decorator_list for call in _conforms_calls(decorator)):
                attributed.add(call)
                for number in _numbers(call, name):
                    yield test.name, number
    for call in _conforms_calls(module):
        if call not in attributed:
            raise Misplaced(f"{name}:{call.lineno}: conforms() may only mark test functions.")


def _conforms_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="conforms")):
                yield node


def _numbers(call: ast.Call, name: str) -> Iterator[str]:
    if call.keywords or not call.args:
        raise Misplaced(f"{name}:{call.lineno}: conforms() takes the numbers of requirements.")
    for argument in call.args:
        match argument:
            case ast.Constant(value=str(number)):
                yield number
            case _:
                raise Misplaced(f"{name}:{call.lineno}: conforms() takes string literals only.")


def unknown_numbers(items: list[Item], tests: Mapping[str, list[str]]) -> list[str]:
    """Return the numbers in markers and in this module that name no item."""
    return sorted({*tests, *OTHERWISE, *PARTLY} - {item.number for item in items})


def mark_of(number: str, tests: Mapping[str, list[str]]) -> Mark:
    """Return how far the tests prove an item."""
    if number in OTHERWISE:
        return "x"
    if number not in tests:
        return " "
    return "~" if number in PARTLY else "x"


def wrong_marks(items: list[Item], tests: Mapping[str, list[str]]) -> list[str]:
    """Return the marks in the list of items that differ from the tests, for a person to change."""
    return [
        f"{item.number} is marked [{item.mark}], but its tests make it [{mark_of(item.number, tests)}]"
        for item in items
        if item.mark != mark_of(item.number, tests)
    ]


def page(items: list[Item], tests: Mapping[str, list[str]]) -> str:
    marks = [mark_of(item.number, tests) for item in items]
    lines = [
        "# Conformance",
        "",
        "The tests that prove each requirement. [conformance-items.txt](conformance-items.txt) has the text of the",
        "requirements; `python -m tools.conformance` writes this page from the markers of the tests and lists at most",
        f"{SHOWN} tests of a requirement. All of them: `git grep 'conforms.*\"A1.11\"' tests`.",
        "",
        f"Of {len(items)} requirements {marks.count('x')} are met, {marks.count('~')} in part, "
        f"and {marks.count(' ')} not yet.",
    ]
    for section in dict.fromkeys(item.section for item in items):
        proven = [item for item in items if item.section == section and item.number in tests]
        if proven:
            lines += ["", f"## {section}", ""]
            lines += [_item_line(item, tests[item.number]) for item in proven]
    titles = {item.number: item.title for item in items}
    lines += ["", "## Met in part", ""]
    lines += [f"- {number} {titles[number]}. {missing}" for number, missing in PARTLY.items()] or ["None."]
    lines += ["", "## Met otherwise", ""]
    lines += [f"- {number} {titles[number]}. {reason}" for number, reason in OTHERWISE.items()] or ["None."]
    lines += ["", "## Not yet covered", ""]
    lines += [f"- {item.number} {item.title}" for item in items if mark_of(item.number, tests) == " "] or ["None."]
    return "\n".join(lines) + "\n"


def _item_line(item: Item, tests: list[str]) -> str:
    part = " (in part)" if item.number in PARTLY else ""
    more = f" and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
    return f"- {item.number}{part}: {', '.join(f'`{test}`' for test in tests[:SHOWN])}{more}"


def main(arguments: list[str]) -> int:
    try:
        items, tests = read_items(), read_markers()
    except (Misplaced, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    problems = [f"{number} is not in the list of items" for number in unknown_numbers(items, tests)]
    problems += wrong_marks(items, tests)
    if not problems and "--check" not in arguments:
        PAGE.write_text(page(items, tests), "utf-8")
        print(f"docs/reference/{PAGE.name} written")
    elif not problems and (not PAGE.exists() or PAGE.read_text("utf-8") != page(items, tests)):
        problems.append(f"docs/reference/{PAGE.name} is not current: run python -m tools.conformance")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
