"""The benchmarks run from end to end and report complete numbers; what the numbers are is not tested."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conversations import read_arguments
from benchmarks.measure import interleave, percentile, table, write_json
from benchmarks.start import PROGRAMS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The results of a quick run of the conversations benchmark on both engines, and what it printed."""
    output = tmp_path_factory.mktemp("benchmark") / "conversations.json"
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.conversations", "--quick", "--output", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(output.read_text("utf-8")), run.stdout


def test_conversations_benchmark_measures_every_combination_once(quick_run: tuple[dict[str, Any], str]) -> None:
    results, _ = quick_run
    measured = [
        (each["engine"], each["operation"], each["conversations"], each["callers"], each["turns"])
        for each in results["results"]
    ]
    expected = product(("sqlite", "postgres"), ("append_turn", "get_messages"), (1, 5), (1, 4), (20, 40))
    assert sorted(measured) == sorted(expected)


def test_conversations_benchmark_reports_sane_numbers_for_both_sides(quick_run: tuple[dict[str, Any], str]) -> None:
    results, _ = quick_run
    for each in results["results"]:
        for side in (each["ours"], each["raw"]):
            assert side["calls"] >= each["callers"]
            assert 0 < side["p50_ms"] <= side["p95_ms"] <= side["p99_ms"]
            assert side["per_second"] > 0
        assert each["ours"]["calls"] == each["raw"]["calls"]
        assert each["ratio_p50"] == pytest.approx(each["ours"]["p50_ms"] / each["raw"]["p50_ms"], abs=0.001)
        if each["operation"] == "append_turn":
            assert each["ours"]["calls"] <= 10
    for each in results["growth"]:
        assert (each["from_turns"], each["to_turns"]) == (20, 40)
        assert each["ours_p50"] > 0 < each["raw_p50"]


def test_conversations_benchmark_says_how_durable_the_peers_were(quick_run: tuple[dict[str, Any], str]) -> None:
    results, _ = quick_run
    assert results["durability"]["sqlite"] == "journal_mode=wal, synchronous=2"
    assert results["durability"]["postgres"].endswith("fsync=on, synchronous_commit=on")


def test_conversations_benchmark_prints_every_result_and_its_verdict(quick_run: tuple[dict[str, Any], str]) -> None:
    results, printed = quick_run
    lines = [line for line in printed.splitlines() if line.startswith(("sqlite ", "postgres "))]
    assert len(lines) == len(results["results"]) + len(results["growth"])
    for line in results["verdict"]:
        assert line in printed


def test_results_name_neither_the_machine_nor_its_folders(quick_run: tuple[dict[str, Any], str]) -> None:
    results, _ = quick_run
    text = json.dumps(results)
    for secret in (socket.gethostname(), str(ROOT), str(Path.home()), os.sep + "tmp"):
        assert secret not in text


def test_only_a_run_of_the_defaults_overwrites_the_committed_results() -> None:
    _, output = read_arguments([])
    assert output is not None
    assert output.parts[-3:] == ("benchmarks", "results", "conversations.json")
    for partial in (["--quick"], ["--engine", "sqlite"], ["--sizes", "10,20"], ["--seconds", "1"]):
        assert read_arguments(partial)[1] is None


@pytest.mark.parametrize("sizes", ["1000,1000", "100,10", "1", "ten"])
def test_sizes_that_cannot_show_growth_are_refused(sizes: str) -> None:
    with pytest.raises(SystemExit):
        read_arguments(["--sizes", sizes])


def test_start_benchmark_times_every_program_and_its_goals(tmp_path: Path) -> None:
    output = tmp_path / "start.json"
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.start", "--runs", "1", "--output", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    results = json.loads(output.read_text("utf-8"))
    assert list(results["starts"]) == list(PROGRAMS)
    for name, start in results["starts"].items():
        assert start["runs"] == 1
        assert 0 < start["least"] == start["median"]
        assert name in run.stdout
    for goal in results["goals"]:
        assert goal["goal"] in run.stdout
    for secret in (socket.gethostname(), str(ROOT), str(tmp_path)):
        assert secret not in json.dumps(results)


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [percentile(values, percent) for percent in (50, 95, 99, 100)] == [50.0, 95.0, 99.0, 100.0]
    assert percentile([7.0], 99) == 7.0


def test_contenders_take_turns_and_are_called_equally_often() -> None:
    calls: list[str] = []
    timings = interleave(
        {"first": lambda: calls.append("first"), "second": lambda: calls.append("second")},
        seconds=60,
        calls_per_round=2,
        most_calls=7,
    )
    one, other = ["first"] * 2, ["second"] * 2
    assert calls == [*one, *other, *other, *one, *one, *other]
    # The first round was there to warm up.
    assert [timing.calls for timing in timings.values()] == [4, 4]


def test_at_least_one_round_is_counted_however_little_time_there_is() -> None:
    assert interleave({"alone": lambda: None}, seconds=0, calls_per_round=3)["alone"].calls == 3


def test_callers_work_at_the_same_time() -> None:
    together = threading.Barrier(4, timeout=30)
    timings = interleave({"meeting": together.wait}, callers=4, seconds=60, calls_per_round=3, most_calls=24)
    assert timings["meeting"].calls == 12


def test_a_table_is_aligned_text() -> None:
    assert table(("<what", "ms", "calls"), [("read", 0.0512, 12), ("append", 12.34, 1200)]).splitlines() == [
        "what       ms  calls",
        "------  -----  -----",
        "read    0.051     12",
        "append   12.3  1,200",
    ]


def test_the_file_of_results_is_json_with_one_line_for_each_entry(tmp_path: Path) -> None:
    results = {"machine": {"cores": 2}, "results": [{"p50_ms": 0.1}, {"p50_ms": 0.2}], "notes": []}
    path = tmp_path / "results" / "some.json"
    write_json(path, results)
    assert json.loads(path.read_text()) == results
    assert len(path.read_text().splitlines()) == 8
