"""The results of the proof: kept as JSON section by section, printed as lines, told as a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import write_json
from prove.section import ENGINES, Check

RESULTS = Path(__file__).parent / "results" / "proof.json"

Result = dict[str, Any]


def read(path: Path) -> dict[str, Result]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def keep(path: Path, results: Mapping[str, Result], order: Sequence[str]) -> None:
    """Put the sections that were run in the place of their earlier results; the others stay as they were."""
    kept = {**read(path), **results}
    write_json(path, {name: kept[name] for name in sorted(kept, key=lambda name: (*order, name).index(name))})


def passed(result: Result) -> bool:
    return all(check["passed"] or check["skipped"] for check in result["checks"])


def tried(result: Result) -> int:
    """How many claims were put to the test."""
    return sum(_verdict(check) in ("held", "FAILED") for check in result["checks"])


def line(check: Check) -> str:
    figures = ", ".join(f"{name} {_figure(value)}" for name, value in check.figures.items())
    parts = [f"  {_verdict(vars(check))}  {check.claim}", figures, "" if check.passed else check.detail]
    return "\n          ".join(part for part in parts if part)


def page(results: Mapping[str, Result]) -> str:
    """The whole report as Markdown."""
    parts = [_HEAD]
    for name, result in results.items():
        machine = result["environment"]["machine"]
        parts.append(
            f"## {result['title']}\n\n`./dev prove {name}{_options(result)}`, "
            f"seed {result['seed']}, {result['seconds']:,.0f} seconds on {machine['cores']} cores "
            f"({result['environment']['date'][:10]}).\n"
        )
        parts.append("| | claim | figures |\n|---|---|---|")
        parts += [_row(check) for check in result["checks"]]
        parts.append("")
    return "\n".join(parts)


def _options(result: Result) -> str:
    """What was asked for beside the section: with less than is usual, less was shown."""
    # Results that were kept by an earlier version do not say all of it.
    engines, limit = result.get("engines", ENGINES), result.get("limit")
    options = [f"--engine {engines[0]}"] if len(engines) < len(ENGINES) else []
    options += ["--full"] if result["full"] else [f"--seconds {limit:g}"] if limit else []
    return "".join(f" {option}" for option in options)


def _row(check: dict[str, Any]) -> str:
    figures = "; ".join(f"{name} {_figure(value)}" for name, value in check["figures"].items())
    if not check["passed"]:
        figures = f"{figures} {check['detail']}".strip()
    cells = (_verdict(check), check["claim"], figures)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _verdict(check: Mapping[str, Any]) -> str:
    if check["skipped"]:
        return "skipped"
    if not check["passed"]:
        return "FAILED"
    return "measured" if check.get("measured") else "held"


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_figure(each)}" for name, each in value.items()) + ")"
    if isinstance(value, list | tuple):
        return "/".join(map(_figure, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


_HEAD = """\
# Proof

What `./dev prove` has shown: Longmind attacked on purpose, on both engines, with real processes, a real PostgreSQL and
real networks. Each section can be run by itself (`./dev prove NAME`), stops at its time (`--seconds`), or goes on until
every count that is claimed here is reached (`--full`). The points of attack are drawn from `--seed`. The results are
kept in `prove/results/proof.json`, and this page is written from them:
`./dev prove … --report docs/reference/proof.md`.

A claim has `held` or `FAILED`. What could not be tried is `skipped` and says why; what is `measured` claims nothing.

"""
