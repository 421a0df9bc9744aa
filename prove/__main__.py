"""Run the proof, or sections of it: `./dev prove [SECTION ...]`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
import traceback
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


def main(arguments: list[str] | None = None) -> int:
    options = _read(arguments)
    sections = [_section(name) for name in options.sections or MODULES]
    results = {}
    for section in sections:
        results[section.name] = _run(section, options)
        # Written after each section, so that what was shown stays when a later one is interrupted.
        report.keep(options.json, results)
    if options.report is not None:
        options.report.write_text(report.page(report.read(options.json)), "utf-8")
    failed = [name for name, result in results.items() if not report.passed(result)]
    skipped = sum(check["skipped"] for result in results.values() for check in result["checks"])
    print(f"\nfailed: {', '.join(failed)}" if failed else "\neverything that was tried held", end="")
    print(f"; {skipped} skipped" if skipped else "")
    return 1 if failed else 0


def _read(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev prove", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"some of: {', '.join(MODULES)}; else all")
    parser.add_argument("--engine", choices=ENGINES, help="only this engine")
    parser.add_argument("--seconds", type=float, help="about how long each section may take; each has its own default")
    parser.add_argument("--full", action="store_true", help="reach every count that is claimed, however long it takes")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PROGRAM", help="do as if this were not installed: strace"
    )
    parser.add_argument("--seed", type=int, default=1, help="what chooses the points of attack; the default is 1")
    parser.add_argument("--json", type=Path, default=report.RESULTS, help="where results are kept")
    parser.add_argument("--report", type=Path, help="also write the readable report to this file")
    options = parser.parse_args(arguments)
    for name in options.sections:
        if name not in MODULES:
            parser.error(f"there is no section called {name}; there are: {', '.join(MODULES)}")
    return options


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
                print(report.line(check), flush=True)
        except Exception:
            # An attack that breaks the attacker proves nothing, and the other sections still can.
            traceback.print_exc()
            checks.append(Check("the section runs to its end", passed=False, detail=traceback.format_exc(limit=-3)))
            print(report.line(checks[-1]), flush=True)
    return {
        "title": section.title,
        "environment": environment("recollect", "apsw", "psycopg"),
        "loads": [before, load()],
        "seconds": round(time.monotonic() - began, 1),
        "seed": options.seed,
        "full": options.full,
        "checks": [vars(check) for check in checks],
    }


if __name__ == "__main__":
    # As Ctrl-C does: what was started and set up is ended and removed on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
