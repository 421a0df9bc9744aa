"""A program that starts loads only what it uses: heavy packages wait until something needs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import longmind

COMPUTING = {"numpy", "Stemmer", "simsimd"}
VENDORS = {"psycopg", "psycopg_pool", "onnxruntime", "tokenizers", "pydantic_ai"}
TERMINAL = {"typer", "rich", "click"}

# Tells which modules there are after each step of a program's life.
WATCH = """
import json, sys

loaded = {}

def note(step):
    loaded[step] = sorted(name for name in sys.modules if "." not in name)

import longmind
note("import")
with longmind.open(sys.argv[1], embedder=EMBEDDER) as engine:
    note("open")
    ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    conversation = ada.conversations.create_conversation("daily-checkin")
    ada.conversations.append_turn(conversation.id, user_content="Hello.", assistant={"content": "Hello, Ada."})
    ada.jobs.enqueue("mail.send", {"to": "ada"})
    note("turn")
    space = ada.memory.create_memory_space("personal")
    ada.memory.create_entity(space.id, "PERSON", "Ada")
    ada.memory.list_atoms(space.id)
    note("space")
    ada.memory.add_atom(space.id, {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}})
    note("atom")
    [hit] = ada.memory.recall_by_topic(space.id, "Where does Ada live?").hits
    assert hit.atom.text == "Ada lives in Graz."
print(json.dumps(loaded))
"""


def life_of(folder: Path, *, embedder: str) -> dict[str, set[str]]:
    # In this home there is no model, and the log says so.
    log = "" if embedder == "None" else "recall goes by words alone, not by meaning: .*\n"
    answer = run(WATCH.replace("EMBEDDER", embedder), f"sqlite:///{folder}/memory.db", home=folder, log=log)
    return {step: set(names) for step, names in json.loads(answer).items()}


def run(code: str, *arguments: str, home: Path, log: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert re.fullmatch(log, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    return life_of(tmp_path_factory.mktemp("home"), embedder="None")


def test_importing_it_loads_nothing_heavy(loaded: dict[str, set[str]]) -> None:
    assert "longmind" in loaded["import"]
    assert not (COMPUTING | VENDORS | TERMINAL | {"asyncio", "subprocess"}) & loaded["import"]


@pytest.mark.parametrize("step", ["open", "turn", "space"])
def test_what_needs_no_search_index_loads_nothing_to_compute_with(loaded: dict[str, set[str]], step: str) -> None:
    assert not (COMPUTING | VENDORS | TERMINAL | {"asyncio"}) & loaded[step]


def test_the_search_index_is_loaded_with_the_first_atom(loaded: dict[str, set[str]]) -> None:
    assert {"numpy", "Stemmer"} <= loaded["atom"]
    assert not (VENDORS | TERMINAL | {"asyncio"}) & loaded["atom"]


def test_by_default_too_nothing_is_loaded_to_compute_with_before_the_first_atom(tmp_path: Path) -> None:
    loaded = life_of(tmp_path, embedder='"auto"')
    assert not (COMPUTING | VENDORS | TERMINAL) & loaded["turn"]
    assert "numpy" in loaded["atom"]


def test_asyncio_is_loaded_with_the_first_use_of_an_asynchronous_name(tmp_path: Path) -> None:
    code = (
        "import sys, longmind; before = 'asyncio' in sys.modules; "
        "from longmind import open_async; print(before, 'asyncio' in sys.modules)"
    )
    assert run(code, home=tmp_path) == "False True\n"


def test_the_runtime_of_local_models_reports_to_nobody(tmp_path: Path) -> None:
    # Its telemetry, where a version has one, begins by writing the id of the device into the home folder.
    code = "from longmind.providers.local.onnx import import_runtime; import_runtime()"
    assert run(code, home=tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_loaded_late_are_public_like_all_others(tmp_path: Path) -> None:
    code = "import longmind; print(sorted(set(longmind.__all__) - set(dir(longmind)))); from longmind import *"
    assert run(code, home=tmp_path) == "[]\n"
    assert longmind.AsyncEngine.__module__ == "longmind.aio.engine"


def test_a_name_that_is_not_there_is_missed_as_in_any_module() -> None:
    module: Any = longmind
    with pytest.raises(AttributeError, match="module 'longmind' has no attribute 'open_sesame'"):
        _ = module.open_sesame
