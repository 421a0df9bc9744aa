"""The benchmarks run from end to end and report complete numbers; what the numbers are is not tested."""

from __future__ import annotations

import ast
import json
import os
import socket
import subprocess
import sys
import threading
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmarks import events, recall
from benchmarks._peers import PEERS
from benchmarks.conversations import read_arguments
from benchmarks.measure import interleave, percentile, table, write_json
from benchmarks.start import PROGRAMS

ROOT = Path(__file__).parent.parent


def printed_by(*arguments: str) -> str:
    """What a program of this repository prints, in a process of its own."""
    run = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The results of a quick run of the conversations benchmark on both engines, and what it printed."""
    output = tmp_path_factory.mktemp("benchmark") / "conversations.json"
    printed = printed_by("-m", "benchmarks.conversations", "--quick", "--output", str(output))
    return json.loads(output.read_text("utf-8")), printed


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
    printed = printed_by("-m", "benchmarks.start", "--runs", "1", "--output", str(output))
    results = json.loads(output.read_text("utf-8"))
    assert list(results["starts"]) == list(PROGRAMS)
    for name, start in results["starts"].items():
        assert start["runs"] == 1
        assert 0 < start["least"] == start["median"]
        assert name in printed
    for goal in results["goals"]:
        assert goal["goal"] in printed
    for secret in (socket.gethostname(), str(ROOT), str(tmp_path)):
        assert secret not in json.dumps(results)


def test_events_benchmark_times_every_operation_at_every_size_beside_raw(tmp_path: Path) -> None:
    output = tmp_path / "events.json"
    sizes = ("--store", "60", "--sizes", "10", "20", "--seconds", "0.1")
    printed = printed_by(
        "-m", "benchmarks.events", *sizes, "--no-peers", "--engines", "sqlite", "--output", str(output)
    )
    results = json.loads(output.read_text("utf-8"))
    contenders = {operation: set(sides) for operation, sides in results["sqlite"].items()}
    assert contenders == {
        "recent": {"ours", "raw"},
        "search lexical": {"ours"},
        "search hybrid": {"ours"},
        "record": {"ours", "mirror", "raw"},
        "record, recent": {"ours", "raw"},
        "record_many": {"ours", "mirror", "raw"},
    }
    for sides in results["sqlite"].values():
        for timings in sides.values():
            assert list(timings) == ["10", "20"]
            assert all(0 < each["p50_ms"] <= each["p95_ms"] for each in timings.values())
    for entry in (*results["goals"], *results["growth"]):
        assert entry.get("goal", entry.get("operation")) in printed
    for secret in (socket.gethostname(), str(ROOT), str(tmp_path)):
        assert secret not in json.dumps(results)


def test_recall_benchmark_counts_what_was_added_and_says_who_was_not_measured_and_why(tmp_path: Path) -> None:
    output = tmp_path / "recall.json"
    failing = tmp_path / "peers" / "chroma" / "bin" / "python"
    failing.parent.mkdir(parents=True)
    failing.write_text("#!/bin/sh\nexit 3\n", "utf-8")
    failing.chmod(0o755)
    options = ("--store", "10", "--sizes", "30", "4", "--seconds", "0.1", "--engines", "sqlite")
    printed = printed_by(
        "-m", "benchmarks.recall", *options, "--peers", str(tmp_path / "peers"), "--output", str(output)
    )
    results = json.loads(output.read_text("utf-8"))
    assert results["store"] == results["sqlite"]["filling"]["atoms"] == 34
    assert results["peers"] == {}
    skipped = results["peers skipped"]
    assert set(skipped) == set(recall.PEER_NAMES)
    assert skipped["chroma"] == "it failed with exit code 3"
    for name in ("langgraph_sqlite", "mem0"):
        assert f"benchmarks/peers/{name}.py" in skipped[name]
        assert f"{name}: left out: {skipped[name]}" in printed
    for secret in (socket.gethostname(), str(ROOT), str(tmp_path)):
        assert secret not in json.dumps(results)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--sizes", "0"), "argument --sizes: 0 is less than one atom"),
        (("--sizes", "100", "-5"), "argument --sizes: -5 is less than one atom"),
        (("--sizes", "100", "10", "100"), "argument --sizes: each size may be given only once"),
        (("--output", "."), "argument --output: . is a folder, not a file"),
    ],
)
def test_recall_benchmark_refuses_what_it_cannot_measure_or_write(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        recall.read_arguments(arguments)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


# A peer that keeps its facts in a list, as the real ones are written.
LIST_PEER = """
from benchmarks.peers._peer import TOP, run_without_bulk

class Facts:
    def __init__(self, folder):
        self._facts = []

    def add(self, user, text):
        self._facts.append((user, text))

    def search(self, user, question):
        return [text for owner, text in self._facts if owner == user][:TOP]

run_without_bulk(Facts, "numpy", notes=["It forgets."])
"""


def answer_of_peer(**order: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(printed_by("-c", LIST_PEER, json.dumps(order)))
    return answer


def test_a_peer_answers_with_its_versions_its_times_and_what_it_cannot_do() -> None:
    answer = answer_of_peer(folder="unused", sizes=[20, 5], others=2_000, seconds=0.1, fill_seconds=60)
    assert answer["versions"] == {"numpy": version("numpy")}
    assert list(answer["recall"]) == ["5", "20"]
    assert answer["facts_of_others"] == 2_000
    assert all(timing["calls"] > 0 for timing in (*answer["recall"].values(), answer["add"]))
    assert answer["left_out"] == {}
    assert answer["bulk_per_second"] == round(answer["add"]["per_second"])
    assert len(answer["notes"]) == 2
    assert answer["notes"][1] == "It forgets."


def test_a_peer_that_cannot_be_filled_in_time_says_which_sizes_it_leaves_out() -> None:
    answer = answer_of_peer(folder="unused", sizes=[10, 20], others=1_000, seconds=0.1, fill_seconds=0)
    assert answer["recall"] == {}
    assert list(answer["left_out"]) == ["10", "20"]
    assert "adding 20 takes longer than the 0 s" in answer["left_out"]["20"]


def test_every_peer_tells_how_its_environment_is_made() -> None:
    programs = {path.stem: path for path in PEERS.glob("[!_]*.py")}
    assert set(programs) == {*recall.PEER_NAMES, *events.PEER_NAMES}
    for path in programs.values():
        told = ast.get_docstring(ast.parse(path.read_text("utf-8")))
        assert told is not None
        assert "Its environment: pip install " in told


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
        most_calls=21,
    )
    one, other = ["first"] * 2, ["second"] * 2
    rounds = [calls[start : start + 4] for start in range(0, len(calls), 4)]
    assert len(rounds) == 10
    # None always comes after the other.
    assert {tuple(each) for each in rounds} == {(*one, *other), (*other, *one)}
    # The first round was there to warm up.
    assert [timing.calls for timing in timings.values()] == [18, 18]


def test_at_least_one_round_is_counted_however_little_time_there_is() -> None:
    assert interleave({"alone": lambda: None}, seconds=0, calls_per_round=3)["alone"].calls == 3


def test_callers_work_at_the_same_time() -> None:
    together = threading.Barrier(4, timeout=60)
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


def test_server_benchmark_counts_every_answer_and_loses_no_write(tmp_path: Path) -> None:
    output = tmp_path / "server.json"
    options = ("--seconds", "1", "--clients", "3", "--atoms", "10", "--engines", "sqlite", "--parts", "steady")
    printed = printed_by("-m", "benchmarks.server", *options, "--output", str(output))

    [steady] = json.loads(output.read_text("utf-8"))["steady"]
    assert steady["errors"] == steady["lost_writes"] == steady["doubled_writes"] == 0
    assert steady["requests"] > 0
    assert steady["acknowledged_writes"] > 0
    assert f"{steady['requests']:,} in all" in printed
