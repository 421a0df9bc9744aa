"""Looks through the package for what must not be in it: `python -m tools.security`.

Linters know what is dangerous everywhere. These rules know this package: what it never needs, and where the words of
a caller must not go. That no SQL is built from them is a test of the store.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "longmind"

# What is right although a rule objects: the file, the rule, and why.
EXPLAINED = {
    ("extraction/rules/slots/slot_pattern.py", "pattern"): "the patterns of the package's own tables, at import",
    ("language/dates/time_words.py", "pattern"): "the patterns of the package's own tables, at import",
}

_NEVER = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "tempfile.mktemp", "yaml.load",
    "yaml.unsafe_load", "pickle.load", "pickle.loads", "marshal.load", "marshal.loads", "shelve.open",
    "ssl._create_unverified_context",
    "hashlib.md5", "hashlib.sha1", "subprocess.getoutput", "subprocess.getstatusoutput",
}  # fmt: skip
_NEVER_IMPORTED = {"pickle", "marshal", "shelve", "xml", "telnetlib", "ftplib", "requests"}
_ASKS_OTHERS = re.compile(
    r"(urllib\.request\.)?urlopen|httpx2?\.(get|post|request|stream|Client|AsyncClient)|socket\.create_connection"
)
_SECRET = re.compile(r"(^|_)(digest|secret|signature|seal|mac|password|api_key)$")
_PATTERN = re.compile(r"re\.(compile|search|match|fullmatch|sub|subn|split|findall|finditer)")
_LOGS = re.compile(r"(log|_log|logger|_logger|logging)\.(debug|info|warning|error|exception|critical|log)")
_OPENS = re.compile(r"(io\.)?open|Path|os\.(open|remove|unlink|rename|replace)|shutil\.\w+")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.what}"


Rule = Callable[[ast.AST, "Surroundings"], str | None]


@dataclass(frozen=True)
class Surroundings:
    """Where a node stands."""

    path: str
    given: frozenset[str]
    """What the functions around it were given, and what was made of that."""


def findings(text: str, path: str) -> list[Finding]:
    """What is wrong in one file of the package, named by its path there."""
    found = []
    for node, around in _walk(ast.parse(text), Surroundings(path, frozenset())):
        for rule, check in RULES.items():
            if (path, rule) not in EXPLAINED and (what := check(node, around)):
                found.append(Finding(path, getattr(node, "lineno", 0), rule, what))
    return found


def _walk(node: ast.AST, around: Surroundings) -> Iterator[tuple[ast.AST, Surroundings]]:
    yield node, around
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        around = Surroundings(around.path, around.given | _given(node))
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, around)


def _given(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The parameters of a function, and every name in it that gets its value from one of them."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    names = {each.arg for each in every if each is not None} - {"self", "cls"}
    while True:
        more = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and _mentions(node.value, names)
            for target in node.targets
            if isinstance(target, ast.Name)
        } - names
        if not more:
            return frozenset(names)
        names |= more


def _mentions(expression: ast.AST, names: set[str] | frozenset[str]) -> bool:
    """Whether something comes from one of these names, not made harmless on the way."""
    if isinstance(expression, ast.Call) and ast.unparse(expression.func) == "re.escape":
        return False
    if isinstance(expression, ast.Name):
        return expression.id in names
    return any(_mentions(child, names) for child in ast.iter_child_nodes(expression))


def _called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _keywords(node: ast.AST) -> dict[str | None, str]:
    return {each.arg: ast.unparse(each.value) for each in node.keywords} if isinstance(node, ast.Call) else {}


def never(node: ast.AST, around: Surroundings) -> str | None:
    if _called(node) in _NEVER and _keywords(node).get("usedforsecurity") != "False":
        return f"{_called(node)} must not be used in this package"
    if isinstance(node, ast.Import) and (bad := {each.name.partition(".")[0] for each in node.names} & _NEVER_IMPORTED):
        return f"{', '.join(bad)} must not be used in this package"
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _NEVER_IMPORTED and not node.level:
        return f"{node.module} must not be used in this package"
    return None


def shell(node: ast.AST, around: Surroundings) -> str | None:
    if _keywords(node).get("shell", "False") != "False":
        return "a program is started through a shell"
    if re.fullmatch(r"subprocess\.(run|Popen|call|check_call|check_output)", _called(node)):
        assert isinstance(node, ast.Call)
        if not node.args or not isinstance(node.args[0], ast.List | ast.Tuple):
            return "a program is started without a list of arguments"
    return None


def unverified(node: ast.AST, around: Surroundings) -> str | None:
    return "a certificate is not checked" if _keywords(node).get("verify") == "False" else None


def endless(node: ast.AST, around: Surroundings) -> str | None:
    if _ASKS_OTHERS.fullmatch(_called(node)) and "timeout" not in _keywords(node):
        return f"{_called(node)} has no timeout and may wait for ever"
    return None


def secret(node: ast.AST, around: Surroundings) -> str | None:
    """Secrets that come from outside are compared in constant time; both sides of a hash chain are our own."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return None
    if not around.path.startswith(("keys/", "server/", "mcp/")):
        return None
    sides = [node.left, *node.comparators]
    names = [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in sides]
    if any(_SECRET.search(name) for name in names):
        return f"{ast.unparse(node)} takes longer the more of the secret matches; compare in constant time"
    return None


def asserted(node: ast.AST, around: Surroundings) -> str | None:
    """An assert may tell the type checker what is known. What came from outside is refused with an error instead."""
    if not isinstance(node, ast.Assert):
        return None
    parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    for part in parts:
        narrows = isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Is | ast.IsNot)
        if not narrows and _called(part) != "isinstance" and _mentions(part, around.given):
            return f"{ast.unparse(node.test)} is not checked under python -O"
    return None


def pattern(node: ast.AST, around: Surroundings) -> str | None:
    if isinstance(node, ast.Call) and _PATTERN.fullmatch(_called(node)) and _mentions(node.args[0], around.given):
        return f"{ast.unparse(node.args[0])} comes from outside and becomes a pattern"
    return None


def logged(node: ast.AST, around: Surroundings) -> str | None:
    if isinstance(node, ast.Call) and _LOGS.fullmatch(_called(node)):
        message = node.args[1 if _called(node).endswith(".log") else 0]
        if not isinstance(message, ast.Constant):
            return f"{ast.unparse(message)} is not a constant, so the log may quote user content"
    return None


def opened(node: ast.AST, around: Surroundings) -> str | None:
    """Servers know no path but those of the settings."""
    if isinstance(node, ast.Call) and around.path.startswith(("server/", "mcp/")) and _OPENS.fullmatch(_called(node)):
        given = around.given - {"settings"}
        if node.args and _mentions(node.args[0], given):
            return f"{ast.unparse(node.args[0])} comes from outside and becomes a path"
    return None


RULES: dict[str, Rule] = {
    "never": never,
    "shell": shell,
    "unverified": unverified,
    "endless": endless,
    "secret": secret,
    "assert": asserted,
    "pattern": pattern,
    "logged": logged,
    "opened": opened,
}


def of_package(package: Path = PACKAGE) -> list[Finding]:
    return [
        finding
        for path in sorted(package.rglob("*.py"))
        for finding in findings(path.read_text("utf-8"), path.relative_to(package).as_posix())
    ]


if __name__ == "__main__":
    problems = of_package()
    print("\n".join(map(str, problems)) or "no problems found")
    sys.exit(1 if problems else 0)
