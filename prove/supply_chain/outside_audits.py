"""Audits of the packages and the code by third-party programs, in a separate environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prove.supply_chain.lock import LOCK, PROJECT, ROOT, pins

EXPLAINED = Path(__file__).with_name("explained.toml")
PATIENCE = 300.0
_SURELY_THERE = "packaging"
"""A package that every index has."""


class NoTools(RuntimeError):
    """The programs could not be installed."""


@dataclass(frozen=True)
class Tools:
    """An environment with the packages of the extra `audit`."""

    folder: Path

    def run(self, program: str, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )


def environment(folder: Path, packages: list[str]) -> Tools:
    """Create an environment with some packages; raise `NoTools` if they cannot be installed."""
    if shutil.which("uv"):
        steps = [["uv", "venv", "--quiet", "--no-project", "--python", sys.executable, str(folder)]]
        install = ["uv", "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    else:
        steps = [[sys.executable, "-m", "venv", str(folder)]]
        install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    if packages:
        steps.append([*install, *packages])
    # The packages of this process must not be found there.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for step in steps:
        done = subprocess.run(step, cwd=folder.parent, env=clean, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise NoTools(done.stderr.strip()[-500:])
    return Tools(folder)


def no_index(folder: Path) -> str:
    """Return why no package can be installed here; empty if one can."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            environment(Path(place) / "probe", [_SURELY_THERE])
        except NoTools as error:
            return str(error)
    return ""


def audit_tools(folder: Path) -> Tools:
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    return environment(folder, extras["audit"])


def vulnerabilities(tools: Tools) -> tuple[list[str], int, str]:
    """Return the unexplained weaknesses of locked packages, the number looked up, and why there were not more."""
    report: dict[str, Any] = {"dependencies": []}
    why = ""
    for service in ("osv", "pypi"):
        done = tools.run(
            "pip-audit", "-r", str(LOCK), "--disable-pip", "--require-hashes", "-f", "json", "--vulnerability-service",
            service, "--timeout", "10", "--progress-spinner", "off",
        )  # fmt: skip
        try:
            report = json.loads(done.stdout)
        except ValueError:
            why = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
            continue
        looked = [each for each in report["dependencies"] if "vulns" in each]
        if looked:
            return find_unexplained(looked, _read_explained("vulnerability")), len(looked), ""
        why = f"{service} knows none of the packages"
    return [], 0, why


def find_unexplained(looked_up: list[dict[str, Any]], explained: dict[str, str]) -> list[str]:
    return [
        f"{each['name']} {each['version']}: {weakness['id']}"
        for each in looked_up
        for weakness in each["vulns"]
        if not {weakness["id"], *weakness.get("aliases", ())} & explained.keys()
    ]


def bill_of_materials(tools: Tools, target: Path) -> tuple[list[str], int]:
    """Write the SBOM of the lock as CycloneDX; return its problems, and the number of packages in it."""
    done = tools.run(
        "cyclonedx-py", "requirements", str(LOCK), "--pyproject", str(PROJECT), "--of", "JSON", "--output-reproducible",
        "--validate", "-o", str(target),
    )  # fmt: skip
    if done.returncode:
        return [done.stderr.strip()[-500:]], 0
    return sbom_problems(json.loads(target.read_text("utf-8")), LOCK.read_text("utf-8"))


def sbom_problems(bill: dict[str, Any], lock: str) -> tuple[list[str], int]:
    """Check that the bill has each locked package with its version and checksums, and nothing else."""
    locked = {(pin.name, pin.version) for pin in pins(lock)}
    listed = {
        (each["name"].lower().replace("_", "-").replace(".", "-"), each["version"]) for each in bill["components"]
    }
    problems = [f"{name} {version} is missing" for name, version in sorted(locked - listed)]
    problems += [f"{name} {version} is not locked" for name, version in sorted(listed - locked)]
    problems += [f"{each['name']} has no checksum" for each in bill["components"] if not _checksums(each)]
    return problems, len(listed)


def _checksums(component: dict[str, Any]) -> list[Any]:
    return [each for reference in component.get("externalReferences", ()) for each in reference.get("hashes", ())]


def bandit(tools: Tools) -> tuple[list[str], int]:
    """Return unexplained findings of bandit in the package, and explanations without a finding."""
    done = tools.run("bandit", "-q", "-r", "src/longmind", "-f", "json")
    report = json.loads(done.stdout)
    found = [(each["filename"], each["test_id"]) for each in report["results"]]
    unread = [f"{each['filename']}: {each['reason']}" for each in report["errors"]]
    return unread + weigh_findings(found, _read_explained("bandit")), len(found)


def weigh_findings(found: list[tuple[str, str]], explained: dict[str, str]) -> list[str]:
    """Compare findings by file and rule with explanations of `rule file`, or of `rule` for all files."""
    counts = Counter(f"{rule} {path.removeprefix('./')}" for path, rule in found)
    rules = {rule for _, rule in found}
    problems = [
        f"{place} ({times})" for place, times in counts.items() if not {place, place.split()[0]} & explained.keys()
    ]
    return problems + [f"explained and gone: {each}" for each in explained if each not in counts and each not in rules]


def _read_explained(kind: str) -> dict[str, str]:
    table: dict[str, str] = tomllib.loads(EXPLAINED.read_text("utf-8")).get(kind, {})
    return table
