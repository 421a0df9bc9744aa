"""The supply chain: the packages that Longmind uses, and the packages that are built from it."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import longmind
from prove.section import Check, Plan, Section, skip_check
from prove.supply_chain import installation, licences, outside_audits, package
from prove.supply_chain.lock import LOCK, PROJECT, ROOT, pins, problems
from tools import security


def run(plan: Plan) -> Iterator[Check]:
    yield from check_lock(plan.folder)
    yield from check_own_code()
    yield from check_audits(plan.folder)
    yield from check_build(plan.folder)


def check_lock(folder: Path) -> Iterator[Check]:
    lock = LOCK.read_text("utf-8")
    packages = pins(lock)
    wrong = problems(lock, PROJECT.read_text("utf-8"))
    figures = {"packages": len(packages), "checksums": sum(pin.hashes for pin in packages)}
    yield _check(
        "every package is pinned with checksums, from no named place, for all that is asked for", wrong, figures
    )
    claim = "pip takes the whole lock by its checksums"
    refusal = installation.resolve_lock(folder)
    if refusal and (why := outside_audits.no_index(folder)):
        yield skip_check(claim, f"no index answers here: {why}")
    else:
        yield _check(claim, [refusal] if refusal else [])
    found, counts = licences.count_licences(packages)
    claim = "every licence of a package that is installed here may be used together with Apache-2.0"
    yield _check(claim, licences.problems(found), counts)


def check_own_code() -> Iterator[Check]:
    found = [str(each) for each in security.of_package()]
    figures = {"files": len(list(security.PACKAGE.rglob("*.py"))), "rules": len(security.RULES)}
    yield _check("the package has nothing that its own rules forbid", found, figures)


def check_audits(folder: Path) -> Iterator[Check]:
    claims = (
        "no locked package has a known weakness that is not explained",
        "the bill of materials names every locked package with its checksums",
        "bandit finds nothing that is not explained",
    )
    try:
        tools = outside_audits.audit_tools(folder / "audit")
    except outside_audits.NoTools as error:
        why = outside_audits.no_index(folder)
        for claim in claims:
            yield skip_check(claim, f"no index answers here: {why}") if why else _check(claim, [str(error)])
        return
    weak, looked_up, why = outside_audits.vulnerabilities(tools)
    if looked_up:
        locked = len(pins(LOCK.read_text("utf-8")))
        weak += [] if looked_up == locked else [f"{looked_up} of {locked} packages were looked up"]
        yield _check(claims[0], weak, {"packages looked up": looked_up})
    else:
        yield skip_check(claims[0], f"no service of advisories answers here: {why}")
    wrong, listed = outside_audits.bill_of_materials(tools, folder / "sbom.json")
    yield _check(claims[1], wrong, {"packages": listed})
    found, count = outside_audits.bandit(tools)
    yield _check(claims[2], found, {"explained": count})


def check_build(folder: Path) -> Iterator[Check]:
    claims = ("the wheel holds the package and nothing else", "the source archive holds the package and nothing else")
    files = package.list_tracked()
    wheel = package.build(ROOT, "wheel", folder / "wheel")
    sdist = package.build(ROOT, "sdist", folder / "sdist")
    if files is None:
        yield from (skip_check(claim, "git does not say here what belongs to the package") for claim in claims)
    else:
        for claim, archive, look in zip(
            claims, (wheel, sdist), (package.wheel_problems, package.sdist_problems), strict=True
        ):
            figures = {"bytes": archive.stat().st_size, "files of the repository": len(files)}
            yield _check(claim, look(archive, files), figures)
    readme = (ROOT / "README.md").read_text("utf-8")
    wrong = package.metadata_problems(package.metadata_of(wheel), longmind.__version__, readme)
    yield _check("the wheel says what it is", wrong)
    same = compare_builds(wheel, sdist, folder)
    yield _check("what is built from the source archive, and built again, is the same byte for byte", same)
    for extra in ("", *installation.USED):
        claim = f"the wheel works in an empty environment {f'with the extra {extra}' if extra else 'by itself'}"
        try:
            yield _check(claim, installation.try_wheel(wheel, folder, extra))
        except outside_audits.NoTools as error:
            # If there is an index, a failed installation is the fault of the wheel.
            why = outside_audits.no_index(folder)
            yield skip_check(claim, f"no index answers here: {why}") if why else _check(claim, [str(error)])


def compare_builds(wheel: Path, sdist: Path, folder: Path) -> list[str]:
    """Build the wheel and the source archive again, the wheel also from the archive, and return the differences."""
    unpacked = folder / "unpacked"
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    again = {
        "the wheel": (wheel, package.build(ROOT, "wheel", folder / "again")),
        "the source archive": (sdist, package.build(ROOT, "sdist", folder / "again-sdist")),
        "the wheel of the source archive": (wheel, package.build(source, "wheel", folder / "from-sdist")),
    }
    return [f"{name} differs" for name, (one, other) in again.items() if one.read_bytes() != other.read_bytes()]


def _check(claim: str, found: list[str], figures: Mapping[str, object] | None = None) -> Check:
    return Check(claim, not found, dict(figures or {}), "; ".join(found[:10]))


SECTION = Section(name="supply_chain", title="Supply chain: what it is made of", seconds=180, run=run)
