"""The results of the proof: stored as JSON by section, printed as lines, formatted as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import write_json
from prove.section import ENGINES, Check

RESULTS = Path(__file__).parent / "results" / "proof.json"

Result = dict[str, Any]


def read(path: Path) -> dict[str, Result]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def save(path: Path, results: Mapping[str, Result], order: Sequence[str]) -> None:
    """Replace the earlier results of the sections that were run; the others stay as they were."""
    kept = {**read(path), **results}
    write_json(path, {name: kept[name] for name in sorted(kept, key=lambda name: (*order, name).index(name))})


def has_passed(result: Result) -> bool:
    return all(check["passed"] or check["skipped"] for check in result["checks"])


def count_tried(result: Result) -> int:
    """Return the number of claims that were tested."""
    return sum(_verdict(check) in ("held", "FAILED") for check in result["checks"])


def format_line(check: Check) -> str:
    figures = ", ".join(f"{name} {_figure(value)}" for name, value in check.figures.items())
    parts = [f"  {_verdict(vars(check))}  {check.claim}", figures, "" if check.passed else check.detail]
    return "\n          ".join(part for part in parts if part)


def format_page(results: Mapping[str, Result]) -> str:
    """Return the report as Markdown: a row of counts for each section, then every claim that did not hold."""
    parts = [_HEAD, "| section | held | failed | skipped | measured | run |\n| --- | --: | --: | --: | --: | --- |"]
    parts += [_section_row(name, result) for name, result in results.items()]
    exceptions = [
        _row(_short_title(result), _verdict(check), check["claim"], f"{_figures(check)} {check['detail']}".strip())
        for result in results.values()
        for check in result["checks"]
        if _verdict(check) in ("FAILED", "skipped")
    ]
    parts.append("\n## Failed or skipped\n")
    parts += (
        ["| section | verdict | claim | why |\n| --- | --- | --- | --- |", *exceptions] if exceptions else ["None."]
    )
    summaries = [
        f"- **{_short_title(result)}.** {_SUMMARIES[name]}" for name, result in results.items() if name in _SUMMARIES
    ]
    if summaries:
        parts += ["\n## The sections\n", *summaries]
    return "\n".join(parts) + "\n"


def _short_title(result: Result) -> str:
    return str(result["title"]).partition(":")[0]


def _figures(check: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} {_figure(value)}" for name, value in check["figures"].items())


def _section_row(name: str, result: Result) -> str:
    verdicts = Counter(_verdict(check) for check in result["checks"])
    counts = [str(verdicts[verdict]) for verdict in ("held", "FAILED", "skipped", "measured")]
    environment = result["environment"]
    run = f"`./dev prove {name}{_options(result)}`, seed {result['seed']}, {result['seconds']:,.0f} s on "
    return _row(
        _short_title(result), *counts, f"{run}{environment['machine']['cores']} cores, {environment['date'][:10]}"
    )


def _options(result: Result) -> str:
    """Return the options of a run besides its section, since a restricted run proves less."""
    # Results that were kept by an earlier version do not say all of it.
    engines, limit = result.get("engines", ENGINES), result.get("limit")
    options = [f"--engine {engines[0]}"] if len(engines) < len(ENGINES) else []
    options += ["--full"] if result["full"] else [f"--seconds {limit:g}"] if limit else []
    return "".join(f" {option}" for option in options)


def _row(*cells: str) -> str:
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

`./dev prove` attacks Longmind on both engines with real processes, a real PostgreSQL and real networks, and independent
checkers compare what is left with what was acknowledged. Run one section with `./dev prove NAME`, bound it with
`--seconds`, or use `--full` to continue until every count is reached; `--seed` determines the points of attack.

Every claim with its figures is in [proof.json](../../prove/results/proof.json). `./dev prove --report
docs/reference/proof.md` writes this page from that file. A claim `held` or `FAILED`; `skipped` means that this machine
could not try it; `measured` records a figure and claims nothing.
"""

_SUMMARIES: Mapping[str, str] = {
    "kills": "SIGKILL hits writers, workers and servers in the middle of operations of some forty kinds. Acknowledged"
    " writes exist exactly once; all others exist completely or not at all.",
    "power_loss": "A recorded workload is cut at every sync, with unsynced writes lost, kept, torn or reordered. The"
    " file is undamaged, and with `durability=full` every acknowledged operation is present.",
    "disk": "Disks fill up, turn read-only or run out of file handles. Errors name the cause, nothing is half written,"
    " reads continue, and work resumes without a restart.",
    "concurrency": "Sixteen clients in four processes, some of them killed. Blocks, appends, quotas, spend caps and"
    " unique jobs are linearizable; followers miss nothing.",
    "postgres_faults": "Restarts, crashes, cut and silent connections, failovers, held locks, changed passwords. Each"
    " operation is stored once, refused, or reported as unknown; no call exceeds its limits.",
    "machines": "Two API nodes and three workers in network namespaces, with skewed clocks and lossy lines. Each job"
    " has one effect; a worker that returns late is refused.",
    "scale": "A million atoms and a million events of 10,000 users. No statement of a user reads a whole table, and"
    " operations take no longer than in a small store. See [scale](../explanation/scale.md).",
    "hostile_input": "Made-up texts, arguments, archives, requests and commands. Memory stays data in prompts, logs"
    " hold nothing that users said, and no input causes a fault.",
    "supply_chain": "Pinned checksums, licences, known weaknesses, reproducible builds, and the wheel with each extra"
    " in an empty environment.",
    "upgrades": "Databases of earlier versions open, keep their data and work; a kill during the upgrade leaves a"
    " database that opens; a database of a later version is refused unchanged.",
}
"""One sentence or two for each section: the attack, and what its claims say."""
