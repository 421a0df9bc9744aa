"""The wheel in an empty environment, as users install it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from prove.supply_chain.lock import PROJECT, ROOT
from prove.supply_chain.outside_audits import Tools, environment

USED = ("postgres", "local", "models", "server", "client", "telemetry")
"""The extras for users; each is tried alone."""

# The module that an extra is for must load with it, and the library itself without it.
LOADS = {
    "": "longmind",
    "postgres": "longmind.store.postgres.database",
    "local": "onnxruntime",
    "models": "pydantic_ai",
    "server": "longmind.server",
    "client": "longmind.client.transports",
    "telemetry": "opentelemetry.sdk",
}


def try_wheel(wheel: Path, folder: Path, extra: str) -> list[str]:
    """Install the wheel with one extra or none, use it and remove it; return what went wrong."""
    named = f"{wheel}[{extra}]" if extra else str(wheel)
    place = environment(folder / f"environment-{extra or 'plain'}", [named])
    home = folder / f"home-{extra or 'plain'}"
    home.mkdir()
    problems = []
    for arguments, expected in _steps(extra, home):
        done = _run(place, arguments, home)
        if done.returncode or not re.search(expected, done.stdout):
            output = (done.stderr or done.stdout).strip()[-300:]
            problems.append(f"{' '.join(arguments)[:60]} ended with {done.returncode}: {output}")
    return problems + _find_leftovers(place)


def _steps(extra: str, home: Path) -> list[tuple[list[str], str]]:
    version = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["version"]
    loads = [(["python", "-c", f"import {LOADS[extra]}; print('loaded')"], "loaded")]
    if extra:
        return loads
    shutil.copytree(ROOT / "examples" / "demo", home / "examples" / "demo")
    quick_start = home / "quick_start.py"
    quick_start.write_text(first_example((ROOT / "README.md").read_text("utf-8")), "utf-8")
    return [
        *loads,
        (["longmind", "--version"], re.escape(version)),
        (["python", "-m", "examples.demo"], "the receipt stands in the chained log"),
        (["python", str(quick_start)], "User's sister Anna moved to Oslo in May 2025"),
        (["longmind", "doctor", "--url", f"sqlite:///{home}/memory.db"], "."),
    ]


def first_example(readme: str) -> str:
    """Return the first Python program of a page."""
    found = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert found is not None
    return found[1]


def _run(place: Tools, arguments: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    # A minimal environment, so that nothing of this project is found by chance.
    return subprocess.run(
        [str(place.folder / "bin" / arguments[0]), *arguments[1:]],
        cwd=home,
        env={"HOME": str(home), "PATH": f"{place.folder / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def _find_leftovers(place: Tools) -> list[str]:
    python = str(place.folder / "bin" / "python")
    command = ["uv", "pip", "uninstall", "--quiet", "--python", python, "longmind"]
    if (place.folder / "bin" / "pip").exists():
        command = [python, "-m", "pip", "uninstall", "--quiet", "--yes", "longmind"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    # Files that Python compiled are not part of the package, and both installers remove them.
    left = [path for path in place.folder.rglob("*longmind*") if "__pycache__" not in path.parts]
    return [f"{path.relative_to(place.folder)} is left after removal" for path in left]


def resolve_lock(folder: Path) -> str:
    """Return an empty text if pip accepts the whole lock by its checksums, otherwise its error."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps",
         "--require-hashes", "-r", str(ROOT / "requirements.lock")],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return "" if done.returncode == 0 else done.stderr.strip()[-500:]
