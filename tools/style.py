"""Check names, prose and sizes of the source against the rules in CONTRIBUTING.md.

python -m tools.style [PATH …]        report every breach in src/longmind, or only those in the given files and folders
python -m tools.style --measure DIR   print the figures behind the rules for any package folder, as one line each
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "longmind"

LONGEST_FILE = 500
DOCSTRING_SHARE = (11, 24)
COMMENT_SHARE = (2, 5)
"""Lines per hundred lines of source, in each package: the range of the libraries that this one learned from."""
SMALLEST_PACKAGE = 300
"""A package with fewer lines is measured with the rest, since one table or one list decides its share."""

GERUND_NOUNS = frozenset("ranking tracing streaming testing binding wording wiring grouping string".split())
"""Module names that end in -ing and are nouns of the domain."""
SHARED_CLASS_NAMES = {"Memory"}
"""Class names that several packages may have: users meet both `ctx.memory` and `longmind.Memory` under this name."""
SHARED_MODULE_NAMES = frozenset(
    # One role in several packages.
    "service validation tools prompts app server extractor summariser embedder reranker models database migrations"
    " writer engine context registry model job"
    # One noun on several floors: its values, its table, its operations, its command.
    " atoms atom blocks bindings conversations entities events grants jobs keys recall spaces audit memory summaries"
    " prompt_versions metrics tokens doctor mcp users cache tense messages passages".split()
)

CONVERSIONS_AND_HOOKS = frozenset("to from as on with".split())
PUBLIC_NAMES = frozenset("at bound following why_not working_context".split())
"""Public names that stay: `events.at`, `tools.bound`, `engine.following`, `memory.why_not`, `ctx.working_context`."""
PREPOSITIONS = frozenset(
    "about above across after against along among around at before behind below beneath beside between beyond by"
    " despite down during except for in inside into like near of off onto out outside over past per since than through"
    " till toward under until unto up upon via within without".split()
)
QUESTION_WORDS = frozenset(
    "what who whom whose which how where when why whether that so still also only rather".split()
)
IRREGULAR_PARTICIPLES = frozenset(
    "told shown kept written said given made known found taken left seen held built brought bought caught chosen drawn"
    " driven done gone grown heard hidden hit laid learnt led lent lost meant met paid proven risen sent"
    " sold sought spent spoken stood stuck sunk taught thought thrown torn understood won worn begun born bound broken"
    " drunk eaten fallen felt forgotten forgiven frozen got gotten hung lain lit mistaken overdone overtaken"
    " overwritten ridden rung sewn shaken slain slept slid sung sworn swum swept withdrawn woken woven wound".split()
)
VERBS_LIKE_PARTICIPLES = frozenset(
    "embed need feed seed speed exceed proceed succeed read spread shed heed weed bleed breed bring ring string ping"
    " sing spring swing wring fling cling sting".split()
)

WEAK_OPENINGS = frozenset("what who whom whose which how whether where when why that all from".split())
FOREIGN_WORDS = re.compile(
    r"\b(anew|so many|none that|none of theirs|meanwhile|tells? of|told|tells|who has|who is|whoever|whatever is"
    r"|lets? .{1,20} be known)\b",
    re.IGNORECASE,
)
"""Words that make a reader stop: each has a plainer one."""


@dataclass(frozen=True)
class Finding:
    """One breach of a rule, at a place that an editor can open."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.text}"


class Module:
    """One source file, parsed once."""

    def __init__(self, path: Path, package: Path) -> None:
        self.path = path
        self.name = path.stem
        parts = path.relative_to(package).parts
        self.room = parts[0] if len(parts) > 1 else "."
        self.source = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.source)
        self.lines = self.source.count("\n")

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        tokens = tokenize.generate_tokens(io.StringIO(self.source).readline)
        return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]

    @cached_property
    def docstrings(self) -> list[tuple[int, int, str]]:
        """First line, number of lines and text of the docstrings of the module, its classes and its functions."""
        found = []
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            text = ast.get_docstring(node)
            if text is not None:
                stated = node.body[0]
                found.append((stated.lineno, (stated.end_lineno or stated.lineno) - stated.lineno + 1, text))
        return found

    @cached_property
    def notes(self) -> list[tuple[int, str]]:
        """The texts under constants and fields, which say what these hold."""
        docstrings = {line for line, _, _ in self.docstrings}
        stated = (node for node in ast.walk(self.tree) if isinstance(node, ast.Expr) and node.lineno not in docstrings)
        return [text for node in stated if isinstance(node.value, ast.Constant) for text in _find_texts(node)]

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        return [node for node in nodes if not node.name.startswith("__") and not _is_property(node)]

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.tree.body if isinstance(node, ast.ClassDef)]

    @cached_property
    def messages(self) -> list[tuple[int, str]]:
        """Texts that are raised, logged or shown as help, which are prose for a person."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                found += _find_texts(node.exc)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id in ("_log", "log", "logger", "logging"):
                    found += _find_texts(node)
            elif isinstance(node, ast.keyword) and node.arg in ("help", "hint", "message"):
                found += _find_texts(node.value)
        return found


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = (ast.unparse(each).split("(")[0].rpartition(".")[2] for each in node.decorator_list)
    return any(name in ("property", "cached_property", "setter", "overload", "contextmanager") for name in names)


def _find_texts(node: ast.AST) -> list[tuple[int, str]]:
    constants = (each for each in ast.walk(node) if isinstance(each, ast.Constant))
    return [(each.lineno, each.value) for each in constants if isinstance(each.value, str)]


def read_modules(package: Path) -> list[Module]:
    return [Module(path, package) for path in sorted(package.rglob("*.py"))]


# --- rules ------------------------------------------------------------------------------------------------------------


def has_weak_name(name: str) -> bool:
    """Return whether a function's name begins with a participle, a preposition, a gerund or a question word."""
    first = name.strip("_").split("_")[0].lower()
    if name in PUBLIC_NAMES:
        return False
    if first in CONVERSIONS_AND_HOOKS or first in VERBS_LIKE_PARTICIPLES:
        return False
    if first in PREPOSITIONS or first in QUESTION_WORDS or first in IRREGULAR_PARTICIPLES:
        return True
    return len(first) > 4 and first.endswith(("ed", "ing"))


def find_gerund_modules(modules: Iterable[Module]) -> Iterator[Finding]:
    for module in modules:
        if module.name.endswith("ing") and module.name not in GERUND_NOUNS:
            yield Finding(module.path, 1, f"the module name '{module.name}' is a gerund; use a noun for what it holds")


def find_repeated_modules(modules: Iterable[Module]) -> Iterator[Finding]:
    named = defaultdict(list)
    for module in modules:
        if not module.name.startswith("__"):
            named[module.name].append(module)
    for name, owners in named.items():
        if len(owners) > 1 and name not in SHARED_MODULE_NAMES:
            for module in owners:
                yield Finding(module.path, 1, f"{len(owners)} modules are called '{name}'; say which one this is")


def find_weak_functions(modules: Iterable[Module]) -> Iterator[Finding]:
    for module in modules:
        for node in module.functions:
            if has_weak_name(node.name):
                yield Finding(module.path, node.lineno, f"function '{node.name}' does not begin with a verb")


def find_repeated_classes(modules: Iterable[Module]) -> Iterator[Finding]:
    named = defaultdict(list)
    for module in modules:
        for node in module.classes:
            named[node.name.strip("_")].append((module, node))
    for name, owners in named.items():
        if len(owners) > 1 and name not in SHARED_CLASS_NAMES:
            for module, node in owners:
                yield Finding(
                    module.path, node.lineno, f"{len(owners)} classes are called '{name}'; say which one this is"
                )


def find_weak_prose(modules: Iterable[Module]) -> Iterator[Finding]:
    for module in modules:
        stated = [(line, text) for line, _, text in module.docstrings] + module.notes
        for line, text in stated:
            if opens_weakly(text):
                opening = " ".join(text.split()[:4])
                yield Finding(module.path, line, f"docstring opens with '{opening} …'; use an imperative or a noun")
        for line, text in stated + module.comments + module.messages:
            for match in FOREIGN_WORDS.finditer(text):
                yield Finding(module.path, line, f"'{match[0]}' has a plainer word")


def opens_weakly(docstring: str) -> bool:
    words = docstring.split()
    return not words or words[0].lower().strip(",.:") in WEAK_OPENINGS or docstring.startswith("The same")


def find_long_files(modules: Iterable[Module]) -> Iterator[Finding]:
    for module in modules:
        if module.lines > LONGEST_FILE:
            yield Finding(module.path, 1, f"{module.lines} lines; split what has more than {LONGEST_FILE}")


def find_wrong_shares(modules: Iterable[Module], package: Path) -> Iterator[Finding]:
    """Compare the shares of docstrings and comments in each large enough package with the range."""
    rooms: dict[str, list[Module]] = defaultdict(list)
    for module in modules:
        rooms[module.room].append(module)
    for room, members in sorted(rooms.items()):
        total = sum(module.lines for module in members)
        if total < SMALLEST_PACKAGE:
            continue
        for what, share, (least, most) in (
            ("docstrings", docstring_share(members), DOCSTRING_SHARE),
            ("comments", comment_share(members), COMMENT_SHARE),
        ):
            if not least <= round(share, 1) <= most:
                text = f"{share:.1f} lines of {what} per 100 in '{room}'; the range is {least} to {most}"
                yield Finding(package if room == "." else package / room, 1, text)


def docstring_share(modules: Iterable[Module]) -> float:
    pairs = [(sum(lines for _, lines, _ in module.docstrings), module.lines) for module in modules]
    return 100 * sum(own for own, _ in pairs) / max(1, sum(total for _, total in pairs))


def comment_share(modules: Iterable[Module]) -> float:
    pairs = [(len(module.comments), module.lines) for module in modules]
    return 100 * sum(own for own, _ in pairs) / max(1, sum(total for _, total in pairs))


# --- reports ----------------------------------------------------------------------------------------------------------


def find_breaches(package: Path) -> list[Finding]:
    modules = read_modules(package)
    return [
        *find_gerund_modules(modules),
        *find_repeated_modules(modules),
        *find_repeated_classes(modules),
        *find_weak_functions(modules),
        *find_weak_prose(modules),
        *find_long_files(modules),
        *find_wrong_shares(modules, package),
    ]


def measure(package: Path) -> dict[str, str]:
    """Return the figures behind the rules, so that two versions of a tree can be compared."""
    modules = read_modules(package)
    named = [module for module in modules if not module.name.startswith("__")]
    functions = [node for module in modules for node in module.functions]
    weak = sum(has_weak_name(node.name) for node in functions)
    names = Counter(module.name for module in named)
    classes = Counter(node.name.strip("_") for module in modules for node in module.classes)
    docstrings = [text for module in modules for _, _, text in module.docstrings]
    return {
        "files": str(len(modules)),
        "lines": str(sum(module.lines for module in modules)),
        "longest file": str(max(module.lines for module in modules)),
        "gerund modules": str(len(list(find_gerund_modules(modules)))),
        "module names that occur more than once": str(sum(count > 1 for count in names.values())),
        "of these, with different roles": str(
            sum(count > 1 and name not in SHARED_MODULE_NAMES for name, count in names.items())
        ),
        "class names that occur more than once": str(sum(count > 1 for count in classes.values())),
        "functions that do not begin with a verb": f"{weak} of {len(functions)} ({100 * weak / len(functions):.1f} %)",
        "docstrings that open weakly": f"{sum(map(opens_weakly, docstrings))} of {len(docstrings)}",
        "docstring lines per 100": f"{docstring_share(modules):.1f}",
        "comments per 100": f"{comment_share(modules):.1f}",
        "one-importer cupboards": str(len(find_cupboards(modules, package))),
        "SQL calls outside the store": str(sum(1 for _ in find_statements(modules, package))),
    }


def find_cupboards(modules: list[Module], package: Path) -> list[Module]:
    """Return the modules under 60 lines that only one module, of the same package, imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    dotted = {_dotted(module.path, package): module for module in modules}
    for name, module in dotted.items():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for target in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    if target in dotted:
                        importers[target].add(name)
    found = []
    for name, owners in importers.items():
        module = dotted[name]
        inside = all(owner.rpartition(".")[0] == name.rpartition(".")[0] for owner in owners)
        if len(owners) == 1 and inside and module.lines < 60 and not module.name.startswith("__"):
            found.append(module)
    return found


def find_statements(modules: Iterable[Module], package: Path) -> Iterator[Finding]:
    """Find named queries that are sent outside the store."""
    for module in modules:
        if module.room == "store":
            continue
        for node in ast.walk(module.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("one", "all", "send", "each", "ask", "many", "execute")
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[0].value, str)
            ):
                yield Finding(module.path, node.lineno, f"sends '{node.args[0].value}'")


def _dotted(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--measure"]:
        for name, figure in measure(Path(arguments[1])).items():
            print(f"{name}: {figure}")
        return 0
    chosen = [Path(argument).resolve() for argument in arguments] or [SOURCE]
    findings = [each for each in find_breaches(SOURCE) if any(each.path.is_relative_to(path) for path in chosen)]
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
