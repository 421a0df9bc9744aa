"""Writes the stub that tells type checkers what the awaitable services look like.

python -m tools.twins           write src/recollect/twins.pyi
python -m tools.twins --check   fail if it is not current
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from types import ModuleType

from recollect.admin import admin
from recollect.blocks import blocks
from recollect.conversations import conversations
from recollect.events import chat, introspection, reading, recording, states, tool_results
from recollect.jobs import jobs
from recollect.keys import keys
from recollect.memory import agent_tools, atoms, bindings, entities, recalls, sharing, spaces
from recollect.tools import tools
from recollect.working_context import working_context

STUB = Path(__file__).parent.parent / "src" / "recollect" / "twins.pyi"
# A service, the package it is imported from, and the classes that its methods are written in.
SERVICES: tuple[tuple[str, str, tuple[tuple[ModuleType, str], ...]], ...] = (
    ("Conversations", "recollect.conversations", ((conversations, "Conversations"),)),
    (
        "Memory",
        "recollect.memory",
        (
            (spaces, "Spaces"),
            (sharing, "Sharing"),
            (atoms, "Atoms"),
            (entities, "Entities"),
            (bindings, "Bindings"),
            (recalls, "Recalls"),
            (agent_tools, "AgentTools"),
        ),
    ),
    ("WorkingContexts", "recollect.working_context", ((working_context, "WorkingContexts"),)),
    ("Blocks", "recollect.blocks", ((blocks, "Blocks"),)),
    ("Tools", "recollect.tools", ((tools, "Tools"),)),
    (
        "Events",
        "recollect.events",
        (
            (recording, "Recording"),
            (chat, "Chat"),
            (tool_results, "ToolResults"),
            (states, "States"),
            (reading, "Reading"),
            (introspection, "Introspection"),
        ),
    ),
    ("Jobs", "recollect.jobs", ((jobs, "Jobs"),)),
    ("AccessKeys", "recollect.keys", ((keys, "AccessKeys"),)),
    ("Admin", "recollect.admin", ((admin, "Admin"),)),
)


def stub() -> str:
    """The services' own source with bodies left out and `async` put before each public method."""
    imports: set[str] = {"from recollect.hop import Hop"}
    services: list[str] = []
    for service, package, parts in SERVICES:
        imports.add(f"from {package} import {service}")
        methods: list[ast.stmt] = []
        for module, name in parts:
            tree = ast.parse(inspect.getsource(module))
            written = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
            plain: frozenset[str] = getattr(getattr(module, name), "plain", frozenset())
            own = [_plain_or_awaitable(node, plain) for node in written.body if _is_public(node)]
            used = {node.id for method in own for node in ast.walk(method) if isinstance(node, ast.Name)}
            imports |= {line for node in tree.body for line in _imports_of(node, used)}
            methods += own
        body = "\n".join(f"    {line}" for method in methods for line in ast.unparse(method).splitlines())
        services.append(
            f"class Async{service}:\n    def __init__(self, original: {service}, hop: Hop) -> None: ...\n{body}\n"
        )
    return "\n".join([*sorted(imports), "", *services])


def _is_public(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")


def _plain_or_awaitable(node: ast.stmt, plain: frozenset[str]) -> ast.stmt:
    assert isinstance(node, ast.FunctionDef)
    kind = ast.FunctionDef if node.name in plain else ast.AsyncFunctionDef
    # The docstring is all that stays of the body: an editor shows it.
    return ast.fix_missing_locations(kind(node.name, node.args, node.body[:1], [], node.returns))


def _imports_of(node: ast.stmt, used: set[str]) -> list[str]:
    if not isinstance(node, ast.ImportFrom):
        return []
    names = [alias.name for alias in node.names if alias.name in used]
    return [f"from {node.module} import {', '.join(names)}"] if names else []


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        if STUB.read_text("utf-8") == stub():
            return 0
        print(f"{STUB.name} is not current: run python -m tools.twins", file=sys.stderr)
        return 1
    STUB.write_text(stub(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
