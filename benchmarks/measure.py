"""Shared parts of all benchmarks: interleaved timing, percentiles, plain tables and the file of results."""

from __future__ import annotations

import json
import os
import platform
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

RESULTS = Path(__file__).parent / "results"

Call = Callable[[], object]
Name = TypeVar("Name")


@dataclass(frozen=True)
class Timing:
    """Percentiles of the duration of a call, and the calls per second of all callers together."""

    calls: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    per_second: float


@dataclass
class Spent:
    """The seconds of each call, and of all calls together."""

    times: list[float] = field(default_factory=list)
    elapsed: float = 0.0

    def add(self, times: list[float], elapsed: float) -> None:
        self.times += times
        self.elapsed += elapsed

    def join(self, other: Spent) -> None:
        self.add(other.times, other.elapsed)

    @property
    def timing(self) -> Timing:
        p50, p95, p99 = (round(percentile(self.times, percent) * 1000, 4) for percent in (50, 95, 99))
        return Timing(len(self.times), p50, p95, p99, round(len(self.times) / self.elapsed, 1))


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that this percentage of the values does not exceed."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def interleave(
    contenders: Mapping[Name, Call],
    *,
    callers: int = 1,
    seconds: float,
    calls_per_round: int = 20,
    most_calls: int | None = None,
) -> dict[Name, Timing]:
    """Time each contender: see `time_in_turns`."""
    turns = time_in_turns(
        contenders, callers=callers, seconds=seconds, calls_per_round=calls_per_round, most_calls=most_calls
    )
    return {name: spent.timing for name, spent in turns.items()}


def time_in_turns(
    contenders: Mapping[Name, Call],
    *,
    callers: int = 1,
    seconds: float,
    calls_per_round: int = 20,
    most_calls: int | None = None,
) -> dict[Name, Spent]:
    """Time each contender in short rounds that take turns, so that the noise of a shared machine hits all of them.

    A round is `calls_per_round` calls by each of the `callers`, which are threads that start together. The first one
    warms up (connections, prepared statements) and is not counted. It ends after `seconds`, or before a contender
    would be called more than `most_calls` times.
    """
    names = list(contenders)
    spent = {name: Spent() for name in names}
    if most_calls is not None:
        calls_per_round = max(1, min(calls_per_round, most_calls // (2 * callers)))
    order = random.Random("order")
    deadline = time.perf_counter() + seconds
    with ThreadPoolExecutor(callers) as pool:
        for number in count():
            for name in names:
                times, duration = _round(pool, contenders[name], callers, calls_per_round)
                if number > 0:
                    spent[name].add(times, duration)
            # A contender finds the caches and a nearly full log as the one before left them, so the order changes.
            order.shuffle(names)
            called = (number + 1) * callers * calls_per_round
            used_up = most_calls is not None and called + callers * calls_per_round > most_calls
            if number > 0 and (used_up or time.perf_counter() >= deadline):
                break
    return {name: spent[name] for name in contenders}


def _round(pool: ThreadPoolExecutor, call: Call, callers: int, calls: int) -> tuple[list[float], float]:
    start = threading.Barrier(callers + 1)

    def caller() -> list[float]:
        start.wait()
        times = []
        for _ in range(calls):
            before = time.perf_counter()
            call()
            times.append(time.perf_counter() - before)
        return times

    futures = [pool.submit(caller) for _ in range(callers)]
    start.wait()
    began = time.perf_counter()
    times = [each for future in futures for each in future.result()]
    return times, time.perf_counter() - began


def sync_cost(folder: Path, writes: int = 100) -> float:
    """Measure the milliseconds in which this disk makes 4 KB durable: the floor under every durable write."""
    path = folder / "sync-cost"
    times = []
    with path.open("wb", buffering=0) as file:
        for _ in range(writes):
            before = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            times.append(time.perf_counter() - before)
    path.unlink()
    return round(percentile(times, 50) * 1000, 4)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format rows as aligned text: to the right, or to the left under a heading that begins with `<`."""
    cells = [[_format_cell(value) for value in row] for row in rows]
    titles = [heading.removeprefix("<") for heading in headings]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    sides = ["<" if heading.startswith("<") else ">" for heading in headings]
    lines = [titles, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)).rstrip()
        for line in lines
    )


def _format_cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}" if value < 10 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def environment(*packages: str) -> dict[str, Any]:
    """Describe the run: the date, the machine (never its name) and the versions of the packages that are installed."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _read_processor_name(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        },
        "versions": {"python": platform.python_version(), **_find_versions(packages)},
    }


def _find_versions(packages: Iterable[str]) -> dict[str, str]:
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def load() -> float:
    """Return the load of the last minute. A busy machine makes contenders look more alike."""
    return round(os.getloadavg()[0], 1)


def _read_processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def write_json(path: Path, results: Mapping[str, Any]) -> None:
    """Write results with one line per list entry, so that the differences between two runs can be read."""
    entries = ",\n".join(f"{json.dumps(name)}: {_format_json(value)}" for name, value in results.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written to another file first, so that an interruption cannot destroy the previous results.
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(f"{{\n{entries}\n}}\n", "utf-8")
    beside.replace(path)


def _format_json(value: object) -> str:
    if isinstance(value, list | tuple) and not all(isinstance(each, int | float) for each in value):
        lines = ",\n  ".join(map(_format_json, value))
        return f"[\n  {lines}\n]"
    return json.dumps(value, default=asdict, ensure_ascii=False)
