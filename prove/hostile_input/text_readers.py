"""Finds the modules of Longmind that make something of text, so that none is forgotten among the parsers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import longmind
from prove.hostile_input.parsers import modules_read

_ROOT = Path(longmind.__file__).parent
_CALLS = frozenset(
    "loads from_json fromisoformat strptime validate_json model_validate_json validate_python model_validate b64decode "
    "urlsplit urlparse parse_qsl ZipFile unpack_from frombuffer decode_json fullmatch compile".split()
)
"""Functions by which text becomes something else."""

NOT_FROM_OUTSIDE: dict[str, str] = {
    "admin.erasing": "reads the audit, which this engine has written and chained",
    "admin.importing": "gets rows that `exports` has read; forged ones are tried by themselves",
    "admin.log": "reads the audit, which this engine has written and chained",
    "admin.sections": "reads columns that were checked when they were written",
    "admin.shapes": "gets rows that `exports` has read; forged ones are tried by themselves",
    "blocks.merging": "gets lines of blocks; `calls` writes any text there",
    "cli": "gets arguments of a command; `commands` gives it any text, in processes of their own",
    "conversations.checks": "gets arguments of operations; `calls` gives it values of any shape",
    "events.elsewhere": "gets the name of a scope; `calls` gives it any text",
    "events.kept": "reads columns that were checked when they were written",
    "events.mirror_folder": "reads numbers and names that the mirror itself has written",
    "events.searching": "gets the arguments of a search; `calls` gives it any text",
    "jobs.handler_registry": "gets the kind of a job; `calls` gives it any text",
    "mcp.tools": "gets arguments of tools through the library of the protocol; `messages` sends any",
    "memory.bindings": "gets arguments of operations; `calls` gives it values of any shape",
    "memory.checks": "gets arguments of operations; `calls` gives it values of any shape",
    "memory.tool_definitions": "gets what a host defines; `calls` gives it values of any shape",
    "models.message": "reads columns that were checked when they were written",
    "providers": "reads files of models by their hashes, and answers of vendors through the vendors' libraries",
    "recall": "reads parts of the index that were checked when they were written, and words, which `words` reads",
    "server": "is compiled from the description, and reads what `headers` and `paths, queries and bodies` give it",
    "store": "reads columns and statements that this engine has written",
    "tools.briefs": "makes texts, of what was checked when it was written",
    "tools.entries": "makes values, of what was checked when it was written",
    "tools.tools": "gets arguments of operations; `calls` gives it values of any shape",
}
"""Modules, or folders of them, that read text and that no parser goes through, and why."""


@cache
def modules_that_read() -> tuple[str, ...]:
    """The modules, without the name of the package, that call a function by which text becomes something else."""
    return tuple(_modules())


def _modules() -> Iterator[str]:
    for file in sorted(_ROOT.rglob("*.py")):
        names = {
            _name(node.func) for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)
        }
        if names & _CALLS:
            yield ".".join(file.relative_to(_ROOT).with_suffix("").parts)


def forgotten() -> list[str]:
    """Modules that read text, and that are neither among the parsers nor told why not."""
    known = {*modules_read(), *NOT_FROM_OUTSIDE}
    return [module for module in modules_that_read() if not any(_is_in(module, each) for each in known)]


def _is_in(module: str, place: str) -> bool:
    return module == place or module.startswith(f"{place}.")


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
