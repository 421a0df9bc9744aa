"""Writes the stub that shows type checkers the awaitable services.

python -m tools.twins           write src/longmind/aio/services.pyi
python -m tools.twins --check   fail if it is not current
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from longmind.aio import services

STUB = Path(__file__).parent.parent / "src" / "longmind" / "aio" / "services.pyi"


def make_stub() -> str:
    """Return the services' own source with bodies left out and `async` put before each awaitable method."""
    imports: defaultdict[str, set[str]] = defaultdict(set)
    imports["longmind.runtime.thread_pool"].add("Hop")
    classes: list[str] = []
    for name, twin in vars(services).items():
        if not (isinstance(twin, type) and twin.__module__ == services.__name__):
            continue
        service: type = twin.__wrapped__  # type: ignore[attr-defined]  # set by derive_async
        imports[service.__module__].add(service.__name__)
        methods: dict[str, str] = {}
        for base in reversed(service.__mro__[:-1]):
            for method in _find_methods(base, vars(twin).keys()):
                declared = _strip_body(method, inspect.iscoroutinefunction(vars(twin)[method.name]))
                used = {node.id for node in ast.walk(declared) if isinstance(node, ast.Name)}
                for module, names in _find_imports(base, used):
                    imports[module] |= names
                methods[method.name] = ast.unparse(declared)
        body = "\n".join(f"    {line}".rstrip() for method in methods.values() for line in method.splitlines())
        classes.append(
            f"class {name}:\n    def __init__(self, original: {service.__name__}, hop: Hop) -> None: ...\n{body}\n"
        )
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    return "\n".join([*lines, "", *classes])


def _parse_module(of: type) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[of.__module__]))


def _find_methods(of: type, names: Collection[str]) -> Iterator[ast.FunctionDef]:
    for node in _parse_module(of).body:
        if isinstance(node, ast.ClassDef) and node.name == of.__name__:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name in names and not method.name.startswith("_"):
                    yield method


def _strip_body(method: ast.FunctionDef, is_async: bool) -> ast.stmt:
    kind = ast.AsyncFunctionDef if is_async else ast.FunctionDef
    # Only the docstring stays of the body: an editor shows it.
    words = (ast.get_docstring(method) or "").replace("\n", "\n    ").replace("    \n", "\n")
    docstring = ast.Expr(ast.Constant(words))
    return ast.fix_missing_locations(kind(method.name, method.args, [docstring], [], method.returns))


def _find_imports(of: type, used: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield the modules and names that annotations of a class refer to, its own module among them."""
    for node in _parse_module(of).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names if alias.name in used}
            if names:
                yield node.module, names
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {each.id for each in targets if isinstance(each, ast.Name)} & used
            if names:
                yield of.__module__, names
        elif isinstance(node, ast.ClassDef) and node.name in used:
            yield of.__module__, {node.name}


def main(arguments: list[str]) -> int:
    stub = make_stub()
    if "--check" in arguments:
        if STUB.read_text("utf-8") == stub:
            return 0
        print(f"{STUB.name} is not current: run python -m tools.twins", file=sys.stderr)
        return 1
    STUB.write_text(stub, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
