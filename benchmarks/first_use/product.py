"""The products that are compared, and the counting of lines and concepts in their programs."""

from __future__ import annotations

import ast
import shlex
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent


@dataclass(frozen=True)
class Product:
    """A product as a new user meets it."""

    name: str
    packages: tuple[str, ...]
    """The arguments of `pip install`; for Longmind the wheel takes their place."""
    module: str
    """The module that the program imports from."""
    program: str

    @property
    def path(self) -> Path:
        return PROGRAMS / self.program


PRODUCTS = (
    Product("Longmind", (), "longmind", "with_longmind.py"),
    Product("mem0", ("mem0ai",), "mem0", "with_mem0.py"),
    Product("LangGraph, in memory", ("langgraph",), "langgraph.store.memory", "with_langgraph_memory.py"),
    Product(
        "LangGraph, SQLite",
        ("langgraph", "langgraph-checkpoint-sqlite"),
        "langgraph.store.sqlite",
        "with_langgraph_sqlite.py",
    ),
    Product(
        "LangGraph, vectors",
        ("langgraph", "langchain", "langchain-openai"),
        "langgraph.store.memory",
        "with_langgraph_vectors.py",
    ),
    Product("basic-memory", ("basic-memory<0.23",), "basic_memory.cli.main", "with_basic_memory.sh"),
)


def count_lines(path: Path) -> int:
    """Return the lines of a program that are neither blank nor comments."""
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))


def list_concepts(path: Path) -> list[str]:
    """Return the names of the product that a reader of its program has to know.

    In Python: imported names, attributes, keywords, keys of dicts and texts that are no content. In a shell: commands,
    subcommands and options.
    """
    text = path.read_text("utf-8")
    return sorted(_list_words(text) if path.suffix == ".sh" else _list_names(ast.parse(text)))


def _list_words(text: str) -> set[str]:
    found: set[str] = set()
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["export"]:
            found.add(words[1].partition("=")[0])
            continue
        options = [place for place, word in enumerate(words) if word.startswith("--")]
        first = options[0] if options else len(words) - 1
        found.update(words[:first], (words[place] for place in options))
    # The name of the user.
    return found - {"ada"}


def _list_names(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.keyword):
            found.add(node.arg or "**")
        elif isinstance(node, ast.Dict):
            found.update(str(key.value) for key in node.keys if isinstance(key, ast.Constant))
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            found.add(str(node.slice.value))
    # The question comes from the command line.
    return found - {"sys", "argv", "1"}
