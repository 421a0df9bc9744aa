"""Run the proof, or sections of it: `./dev prove [SECTION ...]`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from benchmarks.measure import environment, load
from prove import report
from prove.section import ENGINES, Check, Plan, Section

# In the order of the report. Each is a module of this package that holds a `SECTION`.
MODULES = (
    "kills",
    "power_loss",
    "disk",
    "concurrency",
    "postgres_faults",
    "machines",
    "scale",
    "hostile_input",
    "supply_chain",
    "upgrades",
)

NOTHING = "nothing could be tried, so nothing was proved"
EXIT_CODES = "The exit code is 0 if every tested claim held, 1 if one failed, 3 if none could be tested."


def main(arguments: list[str] | None = None) -> int:
    options = _read(arguments)
    # The stories count the jobs and blocks that they cause, and these would come besides.
    os.environ.setdefault("LONGMIND_SLEEP_TIME", "off")
    sections = [_section(name) for name in options.sections or MODULES]
    results = {}
    for section in sections:
        results[section.name] = _run(section, options)
        # Written after each section, so that an interrupt loses no earlier result.
        report.save(options.json, results, MODULES)
    if options.report is not None:
        options.report.write_text(report.format_page(report.read(options.json)), "utf-8")
    return _end(results)


def _end(results: Mapping[str, report.Result]) -> int:
    """Print one line about the outcome and return the exit code."""
    failed = [name for name, result in results.items() if not report.has_passed(result)]
    tried = sum(map(report.count_tried, results.values()))
    skipped = sum(check["skipped"] for result in results.values() for check in result["checks"])
    verdict = f"failed: {', '.join(failed)}" if failed else "every tested claim held" if tried else NOTHING
    print(f"\n{verdict}{f'; {skipped} skipped' if skipped else ''}")
    return 1 if failed else 0 if tried else 3


def _read(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev prove", description=__doc__, epilog=EXIT_CODES)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"some of: {', '.join(MODULES)}; all by default")
    parser.add_argument("--engine", choices=ENGINES, help="only this engine")
    parser.add_argument("--seconds", type=_seconds, help="approximate limit for each section; each has its own default")
    parser.add_argument("--full", action="store_true", help="continue until every claimed count is reached")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PROGRAM",
        help="act as if this program were not installed, such as strace",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed for the points of attack; the default is 1")
    parser.add_argument("--json", type=Path, default=report.RESULTS, help="file for the results")
    parser.add_argument("--report", type=Path, help="also write a readable report to this file")
    options = parser.parse_args(arguments)
    for name in options.sections:
        if name not in MODULES:
            parser.error(f"unknown section {name}; the sections are: {', '.join(MODULES)}")
    options.sections = list(dict.fromkeys(options.sections))
    # Checked before minutes of attacks, and not after them.
    for option, path in (("--json", options.json), ("--report", options.report)):
        if path is not None and (why := _unwritable(path)):
            parser.error(f"argument {option}: {path} cannot be written: {why}")
    try:
        report.read(options.json)
    except ValueError as error:
        parser.error(f"argument --json: {options.json} exists but holds no results: {error}")
    return options


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return seconds


def _unwritable(path: Path) -> str | None:
    """Return why a file cannot be written; None when it can."""
    there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        return error.strerror or str(error)
    if not there:
        path.unlink()
    return None


def _section(name: str) -> Section:
    section: Section = import_module(f"prove.{name}").SECTION
    assert section.name == name, f"{section.name} is not the name of its module"
    return section


def _run(section: Section, options: argparse.Namespace) -> report.Result:
    print(f"\n{section.title}", flush=True)
    began, before, checks = time.monotonic(), load(), []
    with tempfile.TemporaryDirectory(prefix="prove-") as folder:
        plan = Plan(
            seconds=options.seconds or section.seconds,
            seed=options.seed,
            engines=(options.engine,) if options.engine else ENGINES,
            folder=Path(folder),
            full=options.full,
            without=tuple(options.without),
        )
        try:
            for check in section.run(plan):
                checks.append(check)
                print(report.format_line(check), flush=True)
        except Exception:
            # A section that breaks proves nothing, but the other sections can still run.
            traceback.print_exc()
            checks.append(Check("the section runs to its end", passed=False, detail=traceback.format_exc(limit=-3)))
            print(report.format_line(checks[-1]), flush=True)
    if not checks:
        checks.append(Check("the section puts something to the test", passed=False, detail="it made no check"))
        print(report.format_line(checks[-1]), flush=True)
    return {
        "title": section.title,
        "environment": environment("longmind", "apsw", "psycopg"),
        "loads": [before, load()],
        "seconds": round(time.monotonic() - began, 1),
        "seed": options.seed,
        "full": options.full,
        "engines": [options.engine] if options.engine else list(ENGINES),
        "limit": options.seconds,
        "checks": [vars(check) for check in checks],
    }


if __name__ == "__main__":
    # As with Ctrl-C, so that every process is ended and every folder removed on the way out.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted; the results of the finished sections are stored", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
