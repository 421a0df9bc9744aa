"""Upgrades: a database of every earlier version opens, keeps its data and works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import longmind
from harness.postgres import PostgresServer
from prove.section import Check, Plan, Section, skip_check
from prove.upgrades import attacks, checks
from prove.upgrades.recorder import VERSIONS, check_out, fill_with, is_here
from prove.upgrades.recordings import RecordedDatabase, list_applied
from prove.upgrades.schema import unlike

# In the order of the trials on one database; the last leaves little of it.
CLAIMS: dict[str, Callable[[longmind.Engine, checks.Manifest], checks.Problems]] = {
    "everything an earlier version kept is found by this one, and its audit is whole": checks.find_lost,
    "conversations, memory, blocks, quotas and keys go on where it left them": checks.find_unwritable,
    "jobs that it queued are done": checks.find_undone,
    "its data can be exported, and brought in elsewhere": checks.find_unmoved,
    "an export that it made can be imported": checks.find_unimported,
    "its data can be erased, with a receipt, and nobody else's is touched": checks.find_unerased,
}
ATTACKS: dict[str, Callable[[str], list[str]]] = {
    "a kill in the middle of upgrading leaves a database that opens": attacks.kill_upgrade,
    "who opens it while it is being upgraded waits, and finds it done": attacks.open_during_upgrade,
    "a database of a later version is refused, and not a byte of it is changed": attacks.open_newer_schema,
}
GROWN = "its schema becomes that of a database that is made today"


@dataclass
class NewDatabases:
    """New databases of one engine."""

    engine: str
    folder: Path
    _stack: ExitStack
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _server: PostgresServer | None = None

    def new(self) -> str:
        name = f"{self.engine}_{next(self._numbers)}"
        if self.engine == "sqlite":
            return f"sqlite:///{self.folder}/{name}.db"
        if self._server is None:
            self._server = self._stack.enter_context(PostgresServer())
        return self._server.create_database(name)


def run(plan: Plan) -> Iterator[Check]:
    for nth, engine in enumerate(plan.engines, 1):
        # Each engine has its share of the time, so that a slow one leaves something to the next.
        left_at_its_end = plan.seconds * (1 - nth / len(plan.engines))
        with ExitStack() as stack:
            places = NewDatabases(engine, plan.folder, stack)
            yield from check_recorded_versions(places)
            yield from attack_versions(places, plan, left_at_its_end)
            yield check_versions_at_work(places, plan, left_at_its_end)


def check_recorded_versions(places: NewDatabases) -> Iterator[Check]:
    """Open and use each recorded database."""
    problems: dict[str, list[str]] = {claim: [] for claim in (GROWN, *CLAIMS)}
    fresh = places.new()
    longmind.open(fresh).close()
    oldest = set()
    for version in VERSIONS:
        recording, url = RecordedDatabase(version, places.engine), places.new()
        recording.put_into(url)
        oldest.add(len(list_applied(url)))
        for claim, found in find_problems(url, recording.manifest, fresh).items():
            problems[claim] += [f"{version}: {each}" for each in found]
    for claim, found in problems.items():
        figures = {"databases": len(VERSIONS), "schemas": sorted(oldest)}
        yield Check(f"{places.engine}: {claim}", not found, figures, "; ".join(found[:5]))


def find_problems(url: str, manifest: checks.Manifest, fresh: str) -> dict[str, list[str]]:
    """Return the problems of one old database, for each claim."""
    problems = {}
    with checks.open_now(url) as engine:
        problems[GROWN] = unlike(url, fresh)
        for claim, check in CLAIMS.items():
            problems[claim] = _problems(check, engine, manifest)
    return problems


def _problems(
    check: Callable[[longmind.Engine, checks.Manifest], checks.Problems],
    engine: longmind.Engine,
    manifest: checks.Manifest,
) -> list[str]:
    try:
        return check(engine, manifest)
    except longmind.LongmindError as error:
        return [f"{type(error).__name__}: {error}"]


def attack_versions(places: NewDatabases, plan: Plan, to_leave: float) -> Iterator[Check]:
    """Attack the moment of upgrading on copies of the recorded databases, the newest always among them."""
    found: dict[str, list[str]] = {claim: [] for claim in ATTACKS}
    attacked: list[str] = []
    for version in reversed(VERSIONS):
        if attacked and plan.seconds_left() < to_leave:
            break
        attacked.append(version)
        for claim, attack in ATTACKS.items():
            url = places.new()
            RecordedDatabase(version, places.engine).put_into(url)
            found[claim] += [f"{version}: {each}" for each in attack(url)]
    for claim, problems in found.items():
        yield Check(f"{places.engine}: {claim}", not problems, {"databases": len(attacked)}, "; ".join(problems[:5]))


def check_versions_at_work(places: NewDatabases, plan: Plan, to_leave: float) -> Check:
    """Check databases that the code of the versions creates now, instead of recorded ones."""
    claim = f"{places.engine}: a database made this moment by the code of an earlier version opens and works"
    if lacking := [version for version, commit in VERSIONS.items() if not is_here(commit)]:
        return skip_check(claim, f"the history is not here: {', '.join(lacking)}")
    fresh = places.new()
    found: list[str] = []
    made: list[str] = []
    longmind.open(fresh).close()
    for version in reversed(VERSIONS):
        if made and plan.seconds_left() < to_leave:
            break
        url = places.new()
        manifest = fill_with(check_out(VERSIONS[version], places.folder / f"{places.engine}-{version}"), url)
        for claims in find_problems(url, manifest, fresh).values():
            found += [f"{version}: {each}" for each in claims]
        made.append(version)
    return Check(claim, not found, {"versions": made}, "; ".join(found[:5]))


SECTION = Section(name="upgrades", title="Upgrades: databases of earlier versions", seconds=120, run=run)
