"""Search for the modules of Longmind that parse text, so that the list of parsers misses none."""

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
"""Functions that turn text into something else."""

NOT_FROM_OUTSIDE: dict[str, str] = {
    "assembly.byte_pairs": "compiles patterns of vocabularies that are named in this package",
    "assembly.stated_lines": "compares lines that the assembly has written; `calls` builds contexts of any text",
    "agents.definition": "receives definitions from an administrator; `calls` passes values of any shape",
    "client.archive_file": "reads an archive of the server that its user has chosen, and only counts lines",
    "client.memory_requests": "reads answers of the server that its user has chosen, as values",
    "client.server_connection": "receives the arguments of a client; answers of servers are tried as such",
    "admin.export_sections": "reads columns that were validated when they were written; `exports` reads its archives",
    "admin.import_rows": "receives rows that `exports` reads; the section forges such rows and imports them",
    "admin.user_import": "receives rows that `exports` reads; the section forges such rows and imports them",
    "audit.app_log": "reads lines of the audit that this engine has written and chained",
    "blocks.fact_merge": "receives lines of blocks; `calls` writes any text there",
    "cli": "receives arguments of commands; `commands` passes any text, in separate processes",
    "compat.aethergraph": "reads the text of an event as JSON, and returns what is none as it is",
    "compat.mem0_validation": "reads days that a program passes; `instants` tries longer forms of the same notation",
    "conversations.validation": "receives arguments of operations; `calls` passes values of any shape",
    "events.event_builder": "parses JSON that it has just encoded itself",
    "events.hot_log": "reads columns that were validated when they were written",
    "events.mirror.folder": "reads numbers and names that the mirror itself has written",
    "events.search": "receives the arguments of a search; `calls` passes any text",
    "events.timeline": "receives the name of a scope; `calls` passes any text",
    "events.validation": "receives arguments of operations; `calls` passes values of any shape",
    "extraction.consolidation": "reads stored atoms, whose texts were validated when they were written",
    "extraction.extraction_versions": "matches the name of a version with one pattern; `calls` passes any text",
    "extraction.forgotten": "compares facts from an extractor, which `rules` and `answers of models` produce",
    "extraction.model.prompt_versions": "reads prompts that belong to the package",
    "extraction.patterns.detection": "compares stored atoms, whose texts were validated when they were written",
    "extraction.reader.local_reader": "receives messages; `rules` and `statements of the reader` try its parts",
    "extraction.reconcile": "compares facts from an extractor; the attacks of `prompts` pass through it",
    "front_door.memory": "reads the result of an erasure that this engine has made",
    "front_door.shared_engines": "splits an address; `addresses of databases` tries any text as one",
    "jobs.handler_registry": "receives the kind of a job; `calls` passes any text",
    "mcp.tools": "receives arguments of tools through the library of the protocol; `messages` sends any text",
    "memory.decision_history": "receives a cursor, which `calls` passes in any shape",
    "memory.recall_tool_schema": "receives definitions from a host; `calls` passes values of any shape",
    "memory.validation": "receives arguments of operations; `calls` passes values of any shape",
    "models.message": "reads columns that were validated when they were written",
    "providers.local.word_pieces": "splits questions and facts into words with one pattern; `calls` passes any text",
    "providers.model_download": "opens archives whose checksums are known",
    "providers.pydantic_ai.vendor_packages": "finds the name of a variable in an error of a library",
    "recall.entity_names": "compares questions with names of entities; `calls` passes any text",
    "recall.index.atom_cache": "reads columns that were validated when they were written",
    "recall.index.metadata_marks": "reads columns that were validated when they were written",
    "recall.index.atom_columns": "reads parts of the index that were validated when they were written",
    "recall.index.timeline_index": "reads columns that were validated when they were written",
    "server.openapi.parameter_notes": "reads docstrings of this package",
    "server.reference": "reads the document of this server, and matches the Host header with one pattern",
    "server.http.preconditions": "receives a header; `headers` tries the pattern that it uses",
    "store": "reads columns and statements that this engine has written",
    "summaries.distiller": "receives answers of models; `prompts` scripts hostile ones",
    "tools.memory_brief": "formats entries that were validated when they were written",
    "tools.entry_views": "formats entries that were validated when they were written",
    "tools.tool_group": "matches the group of a context with one pattern; `calls` passes any text",
    "tools.service": "receives arguments of operations; `calls` passes values of any shape",
}
"""Modules, or packages, that parse text without being reached by a parser of this section, each with the reason."""


@cache
def list_readers() -> tuple[str, ...]:
    """Return the modules, without the name of the package, that call a function that parses text."""
    return tuple(_find_readers())


def _find_readers() -> Iterator[str]:
    for file in sorted(_ROOT.rglob("*.py")):
        names = {
            _name(node.func) for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)
        }
        if names & _CALLS:
            yield ".".join(file.relative_to(_ROOT).with_suffix("").parts)


def find_forgotten() -> list[str]:
    """Return the modules that parse text but are neither reached by a parser nor excused."""
    known = {*modules_read(), *NOT_FROM_OUTSIDE}
    return [module for module in list_readers() if not any(is_in(module, each) for each in known)]


def find_missing() -> list[str]:
    """Return the names in both lists that belong to no module or package, as after a rename."""
    places = (_ROOT.joinpath(*name.split(".")) for name in (*modules_read(), *NOT_FROM_OUTSIDE))
    return [
        ".".join(place.relative_to(_ROOT).parts)
        for place in places
        if not (place.with_suffix(".py").is_file() or (place / "__init__.py").is_file())
    ]


def is_in(module: str, place: str) -> bool:
    """Return whether a module is the given one, or stands in the given package."""
    return module == place or module.startswith(f"{place}.")


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
