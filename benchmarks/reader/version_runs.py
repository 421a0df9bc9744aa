"""What a version of the package remembers of labelled sets, each version in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.beside_commit import ROOT
from benchmarks.reader.labelled_sets import LabelledSet

EMBEDDER = "local:arctic-s"
_PREFIXES = ("LONGMIND_", "RECOLLECT_")


def run_version(
    tree: Path, python: str, sets: Sequence[LabelledSet], models: Path, report: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Return by set what the package in a tree remembers with its default settings.

    models: the folder of the local model, which versions look for in different places.
    """
    [package] = [each.parent.name for each in tree.glob("src/*/__init__.py")]
    systems = {}
    with tempfile.TemporaryDirectory() as folder:
        for labelled in sets:
            began = time.monotonic()
            systems[labelled.name] = _remember(tree, package, python, labelled, Path(folder), models)
            report(f"{package}: {labelled.name}, {time.monotonic() - began:.0f} s")
    return systems


def _remember(
    tree: Path, package: str, python: str, labelled: LabelledSet, folder: Path, models: Path
) -> dict[str, Any]:
    gold, output = folder / "gold.json", folder / "system.json"
    gold.write_text(json.dumps(labelled.users), "utf-8")
    settings = json.dumps({"embedder": EMBEDDER})
    command = [python, "-m", "benchmarks.reader.labelled_users", str(gold), str(output)]
    done = subprocess.run(
        [*command, "--package", package, "--settings", settings],
        cwd=folder,
        env=_make_environment(tree, package, models),
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{package} of {tree} failed at {labelled.name}; see its message above.")
    system: dict[str, Any] = json.loads(output.read_text("utf-8"))
    return system


def _make_environment(tree: Path, package: str, models: Path) -> dict[str, str]:
    """Return the environment of the process, without the settings of this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIXES)}
    return {
        **kept,
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{ROOT}",
        f"{package.upper()}_MODELS_FOLDER": str(models),
    }
