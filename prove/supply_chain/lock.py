"""Check of the lock: it pins every package with checksums, and agrees with `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
PROJECT = ROOT / "pyproject.toml"

# Tools that the tests do not need are installed when they are used, from the index of that day.
NOT_LOCKED = {"audit"}

_PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[\w,-]+\])?==(?P<version>[^\s;\\]+)(?P<rest>.*)", re.DOTALL
)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?=\s|$)")


@dataclass(frozen=True)
class Pin:
    """A package of the lock."""

    name: str
    version: str
    hashes: int


def pins(text: str) -> list[Pin]:
    """Return the pinned packages of a lock; `problems` names every other line."""
    found = []
    for entry in _entries(text):
        if pinned := _PINNED.match(entry):
            name = canonicalize_name(pinned["name"])
            found.append(Pin(name, pinned["version"], len(_HASH.findall(pinned["rest"]))))
    return found


def problems(lock: str, project: str) -> list[str]:
    """Return the problems of a lock, in words."""
    found = [f"this is no pin: {entry.splitlines()[0]}" for entry in _entries(lock) if not _PINNED.match(entry)]
    found += [f"{pin.name} has no checksum" for pin in pins(lock) if not pin.hashes]
    if re.search(r"https?://|file:|^\s*-", _remove_hashes(lock), re.M):
        found.append("it names a place to take packages from, or an option")
    return found + _disagreements(lock, project)


def _disagreements(lock: str, project: str) -> list[str]:
    """Return the requirements of the project that the lock lacks, or has in an unfit version."""
    locked = {pin.name: pin.version for pin in pins(lock)}
    found = []
    for requirement in requirements(project):
        version = locked.get(canonicalize_name(requirement.name))
        if version is None:
            found.append(f"{requirement.name} is not in the lock")
        elif not requirement.specifier.contains(Version(version), prereleases=True):
            found.append(f"the lock has {requirement.name} {version}, and {requirement.specifier} is asked for")
    return found


def requirements(project: str) -> list[Requirement]:
    """Return the requirements of the project, with every extra whose packages are in the lock."""
    table = tomllib.loads(project)["project"]
    extras = table["optional-dependencies"]
    texts = [*table["dependencies"], *(each for name in extras if name not in NOT_LOCKED for each in extras[name])]
    return [Requirement(text) for text in texts]


def _entries(text: str) -> list[str]:
    """Return the logical lines: one for each package with its checksums."""
    joined = re.sub(r"\\\n", "\n", text)
    entries: list[str] = []
    for line in joined.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith(" ") and entries:
            entries[-1] += "\n" + line
        else:
            entries.append(line)
    return entries


def _remove_hashes(text: str) -> str:
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return "\n".join(re.sub(r"--hash=\S+", "", line).rstrip(" \\") for line in lines)
