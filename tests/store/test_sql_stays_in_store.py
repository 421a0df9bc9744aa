"""SQL stands in the store alone: no other module sends a query or writes one.

The rule has no list of exceptions. What needs a new query gets a function in `longmind.store.tables`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import longmind
from longmind.store.database import Transaction

PACKAGE = Path(longmind.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "store"))
QUERY_METHODS = frozenset(
    name for name, method in vars(Transaction).items() if "query" in getattr(method, "__annotations__", {})
)
"""The methods of a transaction that take the name of a query."""
DRIVER_METHODS = frozenset(("execute", "executemany", "executescript", "copy_expert"))
DRIVERS = frozenset(("apsw", "psycopg", "psycopg_pool", "sqlite3"))
SQL = re.compile(
    r"\s*(WITH\s+(RECURSIVE\s+)?\w+\s*(\(|AS\b)|SELECT\s.+\sFROM\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s"
    r"|(CREATE|ALTER|DROP)\s+(TABLE|INDEX|SCHEMA|ROLE|POLICY)\s|PRAGMA\s+\w|TRUNCATE\s|VACUUM\b|BEGIN\s+IMMEDIATE)",
    re.DOTALL,
)


def test_every_query_method_is_known() -> None:
    assert {"one", "all", "ask", "send", "each", "insert_each", "number_each"} == QUERY_METHODS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_outside_the_store_has_sql(path: Path) -> None:
    assert list(find_sql(ast.parse(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "source",
    [
        'def get(run):\n    return run.one("get_atom", id="a")',
        'def get(work):\n    work.send(f"take_{table}")',
        "def get(run: Transaction, query):\n    return run.all(query)",
        "def get(run: Transaction, query):\n    with run.bind_scope(None) as every:\n        every.each(query)",
        "class Reader:\n    def __init__(self, run: Transaction):\n        self._run = run\n\n"
        "    def get(self, query):\n        return self._run.one(query)",
        "def get(run: Transaction):\n    read = run.one\n    return read",
        "connection.execute(text)",
        "import apsw",
        "def connect():\n    from psycopg import connect",
        "from longmind.store.queries import load_queries",
        'QUERY = "SELECT id FROM atoms"',
        'QUERY = f"DELETE FROM {table}"',
    ],
)
def test_the_rule_finds(source: str) -> None:
    assert list(find_sql(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "mask.all()",
        "reply = model.ask(request)",
        "async def reply(send):\n    await send(message)",
        '"""Select rows from the index with this module."""',
        'TEXT = "Update your settings"',
        "def get(run: Transaction):\n    return atoms.get(run, 'a')",
    ],
)
def test_the_rule_leaves_alone(source: str) -> None:
    assert not list(find_sql(ast.parse(source)))


def find_sql(tree: ast.Module) -> Iterator[str]:
    """Yield each place where a module sends a query, has SQL text, or loads what does either."""
    transactions = names_of_transactions(tree)
    documentation = docstrings_in(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method)) if method in DRIVER_METHODS:
                yield f"line {node.lineno}: {method}()"
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str()) | ast.JoinedStr(), *_]) if (
                method in QUERY_METHODS
            ):
                yield f"line {node.lineno}: {method}() of a named query"
            case ast.Attribute(attr=method, value=owner) if (
                method in QUERY_METHODS and ast.unparse(owner) in transactions
            ):
                yield f"line {node.lineno}: {method} of a transaction"
            case ast.Constant(value=str(text)) if SQL.match(text) and id(node) not in documentation:
                yield f"line {node.lineno}: SQL text"
            case ast.Import(names=names) if any(each.name.split(".")[0] in DRIVERS for each in names):
                yield f"line {node.lineno}: a driver"
            case ast.ImportFrom(module=str(module)) if (
                module.split(".")[0] in DRIVERS or module == "longmind.store.queries"
            ):
                yield f"line {node.lineno}: {module}"


def names_of_transactions(tree: ast.Module) -> set[str]:
    """Return the names and attributes of a module that hold a transaction, by its annotations and assignments."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name, annotation=ast.expr() as kind) if "Transaction" in ast.unparse(kind).split():
                names.add(name)
            case ast.withitem(
                context_expr=ast.Call(func=ast.Attribute(attr="bind_scope")), optional_vars=ast.Name(id=name)
            ):
                names.add(name)
            case ast.AnnAssign(target=target, annotation=kind) if "Transaction" in ast.unparse(kind).split():
                names.add(ast.unparse(target))
    assigned = {
        ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in names
        for target in node.targets
    }
    # Fields of a dataclass are read through an instance.
    return names | assigned | {f"self.{name}" for name in names}


def docstrings_in(tree: ast.Module) -> set[int]:
    """Return the identities of the nodes that are documentation: strings that stand as statements."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
