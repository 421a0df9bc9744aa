"""Writes the stub that tells type checkers what the awaitable services look like.

python -m tools.twins           write src/longmind/aio/services.pyi
python -m tools.twins --check   fail if it is not current
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from types import ModuleType

from longmind.admin import service as admin
from longmind.blocks import service as blocks
from longmind.conversations import service as conversations
from longmind.events import chat, introspection, reading, recording, states, tool_results
from longmind.jobs import service as jobs
from longmind.keys import service as keys
from longmind.memory import atoms, bindings, entities, spaces
from longmind.memory import grants as sharing
from longmind.memory import recall as recalls
from longmind.memory import recall_tools as agent_tools
from longmind.tools import service as tools
from longmind.working_context import service as working_context

STUB = Path(__file__).parent.parent / "src" / "longmind" / "aio" / "services.pyi"
# A service, the package it is imported from, and the classes that its methods are written in.
SERVICES: tuple[tuple[str, str, tuple[tuple[ModuleType, str], ...]], ...] = (
    ("Conversations", "longmind.conversations", ((conversations, "Conversations"),)),
    (
        "Memory",
        "longmind.memory",
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
    ("WorkingContexts", "longmind.working_context", ((working_context, "WorkingContexts"),)),
    ("Blocks", "longmind.blocks", ((blocks, "Blocks"),)),
    ("Tools", "longmind.tools", ((tools, "Tools"),)),
    (
        "Events",
        "longmind.events",
        (
            (recording, "Recording"),
            (chat, "Chat"),
            (tool_results, "ToolResults"),
            (states, "States"),
            (reading, "Reading"),
            (introspection, "Introspection"),
        ),
    ),
    ("Jobs", "longmind.jobs", ((jobs, "Jobs"),)),
    ("AccessKeys", "longmind.keys", ((keys, "AccessKeys"),)),
    ("Admin", "longmind.admin", ((admin, "Admin"),)),
)


def stub() -> str:
    """The services' own source with bodies left out and `async` put before each public method."""
    imports: set[str] = {"from longmind.runtime.thread_pool import Hop"}
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
