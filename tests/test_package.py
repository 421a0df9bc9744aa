"""The package as it is installed: its public names, what is in the wheel, and what importing it does not do."""

from __future__ import annotations

import ast
import inspect
import json
import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

import longmind

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "longmind"

PUBLIC_NAMES = [
    "AccessKey",
    "Agent",
    "AgentDefinition",
    "AgentMemory",
    "AppendedMessages",
    "AssistantTurn",
    "AsyncClient",
    "AsyncContext",
    "AsyncEngine",
    "AsyncMemory",
    "Atom",
    "AtomDecision",
    "AuditEntry",
    "Binding",
    "Block",
    "BlockConflict",
    "BlockLine",
    "BlockRevision",
    "BoundTool",
    "Brief",
    "BriefEntry",
    "Cancel",
    "Category",
    "Change",
    "Client",
    "Clock",
    "Conflict",
    "Context",
    "ContextSection",
    "Conversation",
    "ConversationClosed",
    "ConversationScope",
    "DeletedEntry",
    "Effect",
    "Embedder",
    "EmbedderFailed",
    "Engine",
    "EngineClosed",
    "Entity",
    "Event",
    "EventSearchResult",
    "EventUsage",
    "Explanation",
    "ExtensionMissing",
    "ExtractionFailed",
    "ExtractionPolicy",
    "ExtractionPreview",
    "Extractor",
    "Forbidden",
    "FoundEntries",
    "FoundEntry",
    "GivenMessage",
    "Hit",
    "IdempotencyMismatch",
    "ImageBlock",
    "InvalidIdentity",
    "InvalidInput",
    "InvalidUrl",
    "Job",
    "JobRun",
    "LanguageModel",
    "LeaseLost",
    "LeftOut",
    "LimitExceeded",
    "LongmindError",
    "MadeKey",
    "Measures",
    "Memory",
    "MemoryPolicy",
    "MemorySpace",
    "Message",
    "ModelCancelled",
    "ModelFailed",
    "ModelMissing",
    "ModelNotChosen",
    "ModelTimedOut",
    "NewAtom",
    "NotADatabase",
    "NotFound",
    "OutcomeUnknown",
    "Page",
    "Profile",
    "ProfileLine",
    "RateLimited",
    "Recall",
    "Reranker",
    "RerankerFailed",
    "RollingSummary",
    "SchemaTooNew",
    "Scope",
    "SearchItem",
    "ServerFailed",
    "ServerUnavailable",
    "Settings",
    "SleepTime",
    "SpaceGrant",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "StoredEntry",
    "Summariser",
    "SummariserFailed",
    "TextBlock",
    "Tool",
    "ToolError",
    "ToolInvocation",
    "ToolResultBlock",
    "ToolUseBlock",
    "Turn",
    "TurnOptions",
    "TurnResult",
    "Unauthenticated",
    "Usage",
    "UserErased",
    "WhyNot",
    "WorkReport",
    "WorkingContext",
    "open",
    "open_async",
]


def test_the_public_names_are_these() -> None:
    # Whoever changes this list changes what others have built upon.
    assert longmind.__all__ == PUBLIC_NAMES


def test_every_public_name_is_there_and_no_other_looks_public() -> None:
    there = {name: getattr(longmind, name) for name in dir(longmind) if not name.startswith("_")}
    assert {name for name, value in there.items() if not inspect.ismodule(value)} == set(longmind.__all__)


def test_every_error_is_public() -> None:
    from longmind import errors

    defined = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert defined <= set(longmind.__all__)
    assert all(issubclass(getattr(errors, name), longmind.LongmindError) for name in defined)


COMPILED = "longmind/recall/kernels/inner_loops.abi3.so"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the repository has."""
    copy = tmp_path_factory.mktemp("wheel") / "source"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "*.so")
    return Path(shutil.copytree(ROOT, copy, ignore=ignored))


def built_from(source: Path, folder: Path, **environment: str) -> Path:
    """The wheel of it, built without a network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=source,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(built_from(source, tmp_path_factory.mktemp("built")))


def test_the_wheel_has_the_whole_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    expected = {f"longmind/{path.relative_to(PACKAGE).as_posix()}" for path in files} - {COMPILED}
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed - {COMPILED} == expected
    assert "longmind/py.typed" in packed
    assert len([name for name in packed if name.endswith(".sql")]) >= 7


def test_a_wheel_with_compiled_parts_can_be_installed_here_and_says_so(wheel: zipfile.ZipFile) -> None:
    assert wheel.filename is not None
    *_, tags = parse_wheel_filename(Path(wheel.filename).name)
    if COMPILED not in wheel.namelist():
        assert {str(tag) for tag in tags} == {"py3-none-any"}
        pytest.skip("there is no compiler here")
    assert {tag.abi for tag in tags} == {"abi3"}
    assert tags <= set(sys_tags())


def test_the_wheel_says_what_it_is_and_what_it_needs(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(wheel.read(name).decode())
    assert metadata["Name"] == "longmind"
    assert metadata["Version"] == longmind.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    needed = metadata.get_all("Requires-Dist") or []
    always = {each.partition(">")[0] for each in needed if "extra ==" not in each}
    assert always == {
        "apsw",
        "combustache",
        "numpy",
        "onnxruntime",
        "pydantic",
        "pystemmer",
        "rich",
        "sentencex",
        "simsimd",
        "typer",
    }
    assert any(each.startswith("psycopg[") and "extra == 'postgres'" in each for each in needed)
    assert any(each.startswith("pydantic-ai-slim>") and "extra == 'models'" in each for each in needed)
    assert any(each.endswith("/LICENSE") for each in wheel.namelist())


USE_IT = """
import sys
import longmind
assert longmind.__file__.startswith(sys.argv[1]), longmind.__file__
with longmind.open("sqlite:///:memory:") as engine:
    ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    conversation = ada.conversations.create_conversation("daily-checkin")
    ada.conversations.append_user_message(conversation.id, "Hello.")
    space = ada.memory.create_memory_space("personal")
    ada.memory.add_atom(space.id, {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}})
    assert [hit.atom.text for hit in ada.memory.recall_by_topic(space.id, "Graz").hits] == ["Ada lives in Graz."]
    print(ada.conversations.get_messages(conversation.id)[0].text)
"""


def used(wheel: zipfile.ZipFile, folder: Path) -> str:
    """What a program prints that uses what is in a wheel and nothing of the repository."""
    wheel.extractall(folder / "installed")
    return subprocess.run(
        [sys.executable, "-c", USE_IT, str(folder / "installed")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "installed")},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout


def test_what_is_in_the_wheel_works(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    assert used(wheel, tmp_path) == "Hello.\n"


@pytest.mark.parametrize(
    "environment",
    [{"HATCH_BUILD_NO_HOOKS": "true"}, {"CC": "no-such-compiler"}, {"CC": "false"}, {"CC": "true"}, {"CC": "'"}],
    ids=str,
)
def test_without_a_compiler_the_package_is_of_python_alone(
    environment: dict[str, str], source: Path, tmp_path: Path
) -> None:
    # One that was compiled at another time must not be taken for the package's own.
    left_over = source / "src" / COMPILED
    left_over.write_bytes(b"compiled long ago")
    try:
        built = built_from(source, tmp_path / "built", TMPDIR=str(tmp_path), **environment)
    finally:
        left_over.unlink()
    assert not list(tmp_path.glob("longmind-build-*"))
    assert built.name.endswith("-py3-none-any.whl")
    wheel = zipfile.ZipFile(built)
    assert not [name for name in wheel.namelist() if name.endswith(".so")]
    assert used(wheel, tmp_path) == "Hello.\n"


# What Python tells of itself while the package is imported, and of nothing before.
WATCH_THE_IMPORT = """
import collections, json, os, sys, threading

asked, touched = [], []

class Watched(collections.ChainMap):
    def __contains__(self, name):
        asked.append(name)
        return super().__contains__(name)

    def __getitem__(self, name):
        asked.append(name)
        return super().__getitem__(name)

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if (mode and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            touched.append([event, str(path)])
    elif event in ("os.mkdir", "os.remove", "os.rename", "os.fork", "subprocess.Popen", "socket.connect"):
        touched.append([event, repr(arguments)])

os.environ = Watched(os.environ)
sys.addaudithook(watch)
threads = threading.active_count()
import longmind
print(json.dumps({
    "asked": [name for name in asked if isinstance(name, str) and name.startswith("LONGMIND")],
    "touched": touched,
    "threads": threading.active_count() - threads,
    "modules": sorted(name for name in sys.modules if "." not in name),
}))
"""


def test_importing_it_does_nothing_but_import(tmp_path: Path) -> None:
    answer = subprocess.run(
        # Without -B Python itself would write what it has compiled.
        [sys.executable, "-B", "-c", WATCH_THE_IMPORT],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "LONGMIND_URL": "nonsense", "LONGMIND_POOL_SIZE": "nonsense"},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    seen = json.loads(answer.stdout)
    assert "longmind" in seen["modules"]
    heavy = {"psycopg", "psycopg_pool", "onnxruntime", "tokenizers", "pydantic_ai", "typer", "rich"}
    assert not (heavy | {"sqlglot", "pytest"}) & set(seen["modules"])
    assert seen["touched"] == []
    assert seen["asked"] == []
    assert seen["threads"] == 0
    assert list(tmp_path.iterdir()) == []
    assert answer.stderr == ""


def test_only_the_settings_read_the_environment() -> None:
    readers = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb"):
                readers.add(path.name)
    assert readers == {"settings.py"}
