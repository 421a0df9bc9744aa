"""The proof of scale proves something: what grows with the store, is lost on the way or takes too much is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import longmind
from benchmarks.measure import Timing
from prove.scale import check_stored, latency, run, startup, stores, user_removal
from prove.scale.arithmetic import Assumed, Measured, page, results
from prove.scale.latency import OPERATIONS, compare_timings, person, steady
from prove.scale.population import ATOMS, EVENTS, context_of, fill, open_engine, select_measured
from prove.scale.sizes import sizes
from prove.scale.upkeep import check_plans
from prove.section import ENGINES, Plan

USERS = 12


@pytest.fixture(params=ENGINES)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[stores.StorePair]:
    with stores.filled_pair(request.param, tmp_path, USERS) as pair:
        yield pair


def test_everybody_has_as_much_memory_in_either_store(pair: stores.StorePair) -> None:
    for url, user in ((pair.big, 0), (pair.big, pair.measured[-1]), (pair.small, pair.measured[-1])):
        with open_engine(url) as engine:
            context = context_of(engine, user)
            assert len(context.admin.export_user_data()["atoms"]) == ATOMS
            assert sum(kind.events for kind in context.events.usage()) == EVENTS
    assert sizes(pair)["per atom"] > 500
    assert check_stored(pair, USERS).passed
    # What is not there is missed, whoever says that he has stored it.
    assert not check_stored(pair, USERS + 1).passed
    assert not check_stored(replace(pair, big=pair.small), USERS).passed
    assert [check for check in check_plans(pair) if not check.passed] == []
    # How long it took says nothing of so few; what was missing would be told in front of it.
    assert [check.detail for check in user_removal.check_removals(pair) if "times as long" not in check.detail] == []


def tries_of(*ratios: float) -> Iterator[latency.Timings]:
    for ratio in ratios:
        yield {name: Timing(10, each, each, each, 1 / each) for name, each in (("small", 1.0), ("big", ratio))}


def test_a_store_that_takes_longer_each_time_is_noticed() -> None:
    found = compare_timings("it takes no longer", steady(tries_of(1.7, 1.9, 1.6, 1.8).__next__))
    assert not found.passed
    assert found.figures["ratio"] == 1.6


@pytest.mark.parametrize("ratios", [(1.4,), (4.0, 1.1)])
def test_a_slow_try_that_does_not_come_again_does_not_count(ratios: tuple[float, ...]) -> None:
    assert compare_timings("it takes no longer", steady(tries_of(*ratios).__next__)).passed


def test_an_erasure_that_leaves_something_behind_is_noticed(engine: longmind.Engine) -> None:
    # Nobody was erased, whatever the receipt says.
    context_of(engine, 1).memory.create_memory_space("memory")
    nothing = {"deleted": {"events": EVENTS, "messages": 0, "atoms": ATOMS}}
    whole: dict[str, list[object]] = {"atoms": [{}] * ATOMS}
    assert list(user_removal._find_problems(engine, 1, whole, nothing)) == ["user 1 is still there"]
    assert list(user_removal._find_problems(engine, 2, whole, nothing)) == []
    assert list(user_removal._find_problems(engine, 2, {"atoms": []}, nothing)) == ["0 atoms were exported"]


@pytest.mark.parametrize(
    ("resident", "cached", "holds"), [(200.0, 60.0, True), (200.0, 70.0, False), (400.0, 60.0, False)]
)
def test_a_process_that_holds_too_much_is_noticed(resident: float, cached: float, holds: bool) -> None:
    first = {"resident MB": 80.0, "cached MB": 0.1}
    found = startup.check_bounds("sqlite", [1, 10_000], [first, {"resident MB": resident, "cached MB": cached}])
    assert found.passed is holds


def test_a_kept_store_is_filled_once_and_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv(stores.KEEP, str(kept))
    for _ in range(2):
        with stores.filled_pair("sqlite", folder, USERS) as pair, open_engine(pair.big) as engine:
            who = person(engine, pair.measured[0])
            assert len(who.context.memory.list_atoms(who.space, limit=500)) == ATOMS
            OPERATIONS["add_atom"](who)
        assert list(folder.iterdir()) == []
    assert sorted(path.name for path in kept.iterdir()) == ["scale.db", "sqlite.json"]


def test_the_measured_users_are_spread_and_different() -> None:
    for users in (USERS, 500, 10_000):
        chosen = select_measured(users)
        assert len(set(chosen)) == len(chosen)
        assert 0 <= min(chosen) < max(chosen) < users


def test_the_page_on_scale_has_the_arithmetic_as_it_is_computed() -> None:
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "scale.md").read_text("utf-8")
    for table in page(Measured(), Assumed()).strip().split("\n\n"):
        assert table in text, "run `python -m prove.scale.arithmetic` and put its tables on the page"


def test_twice_the_users_take_twice_the_disk() -> None:
    once, twice = (
        {name: value for name, value, _ in results(Measured(), Assumed(users=users))} for users in (10**8, 2 * 10**8)
    )
    assert twice["all of it in databases"] == pytest.approx(2 * once["all of it in databases"])
    assert twice["turns a second, peak"] == pytest.approx(2 * once["turns a second, peak"])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_the_section_runs_to_its_end(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in (("USERS", 40), ("JOBS", 200), ("PAGED", 200), ("APPENDS", 50)):
        monkeypatch.setattr(f"prove.scale.FEWER_{name}", few)
    checks = list(run(Plan(seconds=600, seed=1, engines=(engine,), folder=tmp_path)))
    # How long things take says nothing in so short a run; that all of it was done does.
    assert len(checks) > 20
    assert all(check.figures for check in checks)


def test_parts_for_which_there_is_no_time_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prove.scale.FEWER_USERS", USERS)
    plan = Plan(seconds=1, seed=1, engines=("sqlite",), folder=tmp_path, began=0.0)
    checks = list(run(plan))
    assert len(checks) == 10
    assert {(check.skipped, check.passed, check.detail) for check in checks} == {(True, False, "the time was over")}


def test_a_store_is_filled_through_the_public_operations(engine: longmind.Engine, database_url: str) -> None:
    filled = fill(database_url, range(2))
    assert filled.rows == {"users": 2, "atoms": 2 * ATOMS, "events": 2 * EVENTS}
    assert len(context_of(engine, 1).conversations.list_conversations()) == 2
