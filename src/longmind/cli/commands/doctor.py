"""`longmind doctor`: check the installation and say what to do about each problem.

The checks themselves are in doctor_checks.py; this module prints their findings.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from longmind.cli.doctor_checks import Finding, run_checks
from longmind.cli.options import Url
from longmind.cli.output import AsJson, print_json, stdout

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "trouble": ("✗", "red")}


def doctor(
    url: Url = None,
    ask_models: Annotated[bool, typer.Option("--ask-models", help="Also call the vendor's embedder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the installation, the settings, the database, the models and the keys; nothing is changed.

    The exit code is 1 if something is in trouble, and 0 if there are only warnings.
    """
    findings = list(run_checks(url, ask_models=ask_models))
    troubles = sum(finding.state == "trouble" for finding in findings)
    if as_json:
        print_json({"healthy": not troubles, "findings": [finding.as_json() for finding in findings]})
    else:
        for finding in findings:
            _print_finding(finding)
        warnings = sum(finding.state == "warning" for finding in findings)
        stdout.print(f"\n{len(findings)} checks: {troubles} in trouble, {warnings} with a warning.", highlight=False)
    if troubles:
        raise typer.Exit(1)


def _print_finding(finding: Finding) -> None:
    """Print one finding, and below it what to do."""
    mark, colour = _MARKS[finding.state]
    stdout.print(Text.assemble((mark, colour), f" {finding.name}: {finding.says}"), soft_wrap=True)
    if finding.todo:
        stdout.print(Text(f"    {finding.todo}"), soft_wrap=True)
