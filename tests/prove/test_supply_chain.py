"""The checks of the supply chain: what is right passes, and each planted fault is named."""

from __future__ import annotations

import io
import json
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from prove.supply_chain import licences, package
from prove.supply_chain.installation import LOADS, USED, first_example
from prove.supply_chain.lock import LOCK, PROJECT, ROOT, pins, problems
from prove.supply_chain.outside_audits import EXPLAINED, find_unexplained, sbom_problems, weigh_findings

HASH = "--hash=sha256:" + "a" * 64
ONE = f"apsw==3.54 \\\n    {HASH} \\\n    {HASH}\n    # via longmind\n"
ASKS = '[project]\ndependencies = ["apsw>=3.54"]\n[project.optional-dependencies]\naudit = ["bandit"]\n'


def test_the_lock_is_right() -> None:
    lock = LOCK.read_text("utf-8")
    assert problems(lock, PROJECT.read_text("utf-8")) == []
    assert len(pins(lock)) > 50
    assert all(pin.hashes for pin in pins(lock))


@pytest.mark.parametrize(
    ("lock", "project", "said"),
    [
        (ONE + "numpy==2.0\n", ASKS, "numpy has no checksum"),
        (ONE + f"numpy>=2.0 \\\n    {HASH}\n", ASKS, "this is no pin: numpy>=2.0"),
        (ONE + f"numpy==2.0 \\\n    {HASH[:-1]}\n", ASKS, "numpy has no checksum"),
        ("--index-url https://elsewhere.example/simple\n" + ONE, ASKS, "it names a place"),
        (ONE + f"numpy @ https://elsewhere.example/numpy.whl \\\n    {HASH}\n", ASKS, "this is no pin: numpy @"),
        (ONE, ASKS.replace("apsw>=3.54", "apsw>=3.55"), "the lock has apsw 3.54, and >=3.55 is asked for"),
        (ONE, ASKS.replace('"apsw>=3.54"', '"apsw", "rich"'), "rich is not in the lock"),
        (ONE, ASKS.replace("audit", "server"), "bandit is not in the lock"),
    ],
)
def test_a_wrong_lock_is_noticed(lock: str, project: str, said: str) -> None:
    assert problems(ONE, ASKS) == []
    assert any(each.startswith(said) for each in problems(lock, project)), problems(lock, project)


def test_licences_are_those_that_can_be_used() -> None:
    found, counts = licences.count_licences(pins(LOCK.read_text("utf-8")))
    assert licences.problems(found) == []
    assert sum(counts.values()) == len(found)


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "AGPL-3.0-or-later", "", "Proprietary", "MIT AND GPL-2.0", "MPL-2.0"]
)
def test_a_licence_that_asks_for_more_is_noticed(licence: str) -> None:
    assert licences.problems({"planted": licence}) == [f"planted: {licence or 'says nothing'}"]


@pytest.mark.parametrize(
    "licence", ["MIT", "Apache-2.0 OR GPL-2.0", "BSD-3-Clause AND MIT", "MIT License, BSD License"]
)
def test_a_licence_that_asks_for_no_more_than_its_notice_is_taken(licence: str) -> None:
    assert licences.problems({"planted": licence}) == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("built")
    return package.build(ROOT, "wheel", folder / "wheel"), package.build(ROOT, "sdist", folder / "sdist")


@pytest.fixture(scope="module")
def files() -> list[str]:
    found = package.list_tracked()
    if found is None:
        pytest.skip("this is no checkout")
    return found


def test_what_is_built_holds_the_package_and_nothing_else(built: tuple[Path, Path], files: list[str]) -> None:
    wheel, sdist = built
    assert package.wheel_problems(wheel, files) == []
    assert package.sdist_problems(sdist, files) == []
    version = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["version"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert package.metadata_problems(package.metadata_of(wheel), version, readme) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("longmind/cache.pyc", "", "longmind/cache.pyc does not belong there"),
        ("tests/test_planted.py", "", "tests/test_planted.py does not belong there"),
        ("longmind/planted.txt", "made in /home/ada/longmind/", "names a folder of a machine: b'/home/ada/'"),
        ("longmind-0.dist-info/planted", "", "beside the package it has"),
    ],
)
def test_what_does_not_belong_in_a_wheel_is_noticed(
    name: str, text: str, said: str, built: tuple[Path, Path], files: list[str], tmp_path: Path
) -> None:
    copy = tmp_path / built[0].name
    copy.write_bytes(built[0].read_bytes())
    with zipfile.ZipFile(copy, "a") as archive:
        archive.writestr(name, text)
    assert any(said in each for each in package.wheel_problems(copy, files))


def test_a_file_that_a_wheel_lacks_is_noticed(built: tuple[Path, Path], files: list[str]) -> None:
    more = [*files, "src/longmind/store/sql/migrations/sqlite/9999_new.sql"]
    assert package.wheel_problems(built[0], more) == ["longmind/store/sql/migrations/sqlite/9999_new.sql is missing"]


def test_what_does_not_belong_in_a_source_archive_is_noticed(
    built: tuple[Path, Path], files: list[str], tmp_path: Path
) -> None:
    planted = tmp_path / "planted.tar.gz"
    with tarfile.open(built[1]) as old, tarfile.open(planted, "w:gz") as new:
        for member in old.getmembers():
            new.addfile(member, old.extractfile(member))
        new.addfile(tarfile.TarInfo("longmind-0/prove/results/proof.json"), io.BytesIO(b""))
    assert package.sdist_problems(planted, files) == ["prove/results/proof.json does not belong there"]


def test_wrong_words_of_a_package_about_itself_are_noticed(built: tuple[Path, Path]) -> None:
    found = package.metadata_problems(package.metadata_of(built[0]), "99.0", "Another page")
    assert len(found) == 2
    assert found[1] == "its description is not the README"


def test_a_weakness_is_told_unless_it_is_explained() -> None:
    looked_up = [{"name": "a", "version": "1", "vulns": [{"id": "GHSA-1", "aliases": ["CVE-1"]}]}]
    assert find_unexplained(looked_up, {}) == ["a 1: GHSA-1"]
    assert find_unexplained(looked_up, {"CVE-1": "2026-11-16: not used"}) == []


def test_a_finding_is_told_unless_it_is_explained_and_so_is_an_explanation_of_nothing() -> None:
    found = [("src/a.py", "B1"), ("src/a.py", "B1"), ("src/b.py", "B2")]
    assert weigh_findings(found, {"B2": "why"}) == ["B1 src/a.py (2)"]
    assert weigh_findings(found, {"B1 src/a.py": "why", "B2": "why"}) == []
    assert weigh_findings(found, {"B1": "why", "B2": "why", "B3 src/c.py": "why"}) == [
        "explained and gone: B3 src/c.py"
    ]


def test_every_exception_has_its_reason() -> None:
    for kind in tomllib.loads(EXPLAINED.read_text("utf-8")).values():
        assert all(len(reason) > 20 for reason in kind.values())


def test_a_bill_of_materials_that_is_not_the_lock_is_noticed() -> None:
    sums = [{"type": "distribution", "url": "x", "hashes": [{"alg": "SHA-256", "content": "a" * 64}]}]
    right = {"components": [{"name": "APSW", "version": "3.54", "externalReferences": sums}]}
    assert sbom_problems(right, ONE) == ([], 1)
    wrong = json.loads(json.dumps(right))
    wrong["components"][0]["version"] = "3.55"
    wrong["components"][0]["externalReferences"] = []
    assert sbom_problems(wrong, ONE)[0] == ["apsw 3.54 is missing", "apsw 3.55 is not locked", "APSW has no checksum"]


def test_every_extra_for_users_is_tried_by_itself() -> None:
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(USED) == extras.keys() - {"dev", "audit"}
    assert LOADS.keys() == {"", *USED}


def test_the_quick_start_is_the_first_program_of_the_readme() -> None:
    assert "longmind.Memory(" in first_example((ROOT / "README.md").read_text("utf-8"))
