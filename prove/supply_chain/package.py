"""The built packages: the wheel and the source archive hold the right files alone, always with the same bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

from prove.supply_chain.lock import ROOT

EPOCH = "1767225600"
"""The time of all files in a built archive."""
SHIPPED = ("src/longmind/", "LICENSE", "README.md", "hatch_build.py", "pyproject.toml")
"""The files of the repository in the source archive, besides those that the builder adds."""
ADDED = {"PKG-INFO", ".gitignore"}
COMPILED = "longmind/recall/kernels/inner_loops.abi3.so"
"""The file of a wheel that is not in the repository, where there is a compiler."""
# Paths of a machine, which reveal where a package was built.
_MACHINE = re.compile(rb"/(?:home|root|Users|work)/[\w.-]+/|/tmp/[\w.-]+/")


def build(source: Path, kind: str, target: Path) -> Path:
    """Build a `wheel` or an `sdist` of a folder and return the file."""
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = (each for each in target.iterdir() if each.suffix == (".whl" if kind == "wheel" else ".gz"))
    return built


def list_tracked() -> list[str] | None:
    """Return the files of the repository according to git; None without git or a repository."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def wheel_problems(wheel: Path, files: list[str]) -> list[str]:
    """Return the superfluous and missing files of a wheel, for a repository of these files."""
    expected = {name.removeprefix("src/") for name in files if name.startswith("src/longmind/")}
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        texts = {name: archive.read(name) for name in names}
    packed = {name for name in names if ".dist-info/" not in name}
    about = sorted(name.partition(".dist-info/")[2] for name in names if ".dist-info/" in name)
    found = _compare_names(packed - {COMPILED}, expected)
    if ("-abi3-" in wheel.name) != (COMPILED in packed):
        found.append(f"its name is {wheel.name}, which does not say whether {COMPILED} is there")
    if about != ["METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"]:
        found.append(f"beside the package it has {about}")
    return found + _find_machine_paths(texts)


def sdist_problems(sdist: Path, files: list[str]) -> list[str]:
    """Return the superfluous and missing files of a source archive, for a repository of these files."""
    expected = {name for name in files if name.startswith(SHIPPED)} | ADDED
    with tarfile.open(sdist) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        texts = {member.name.partition("/")[2]: _read(archive, member) for member in members}
    return _compare_names(set(texts), expected) + _find_machine_paths(texts)


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def metadata_problems(metadata: Message, version: str, readme: str) -> list[str]:
    """Return the wrong and missing fields of the package's metadata."""
    expected = {
        "Name": "longmind",
        "Version": version,
        "License-Expression": "Apache-2.0",
        "Description-Content-Type": "text/markdown",
        "Requires-Python": ">=3.11",
    }
    found = [f"{name} is {metadata[name]!r}" for name, value in expected.items() if metadata[name] != value]
    if str(metadata.get_payload()).strip() != readme.strip():
        found.append("its description is not the README")
    if not {"postgres", "local", "models", "server", "telemetry"} <= set(metadata.get_all("Provides-Extra") or []):
        found.append("an extra is missing")
    if "Typing :: Typed" not in (metadata.get_all("Classifier") or []):
        found.append("it does not say that it is typed")
    return found


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None
    return file.read()


def _compare_names(packed: set[str], expected: set[str]) -> list[str]:
    return [f"{name} is missing" for name in sorted(expected - packed)] + [
        f"{name} does not belong there" for name in sorted(packed - expected)
    ]


def _find_machine_paths(texts: dict[str, bytes]) -> list[str]:
    found_paths = {name: _MACHINE.search(text) for name, text in texts.items()}
    return [f"{name} names a folder of a machine: {found[0]!r}" for name, found in found_paths.items() if found]
