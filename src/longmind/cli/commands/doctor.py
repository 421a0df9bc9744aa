"""`longmind doctor`: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from longmind.cli.doctor_checks import Finding, examine
from longmind.cli.options import Url
from longmind.cli.output import AsJson, answer_json, answers

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "trouble": ("✗", "red")}


def doctor(
    url: Url = None,
    ask_models: Annotated[bool, typer.Option("--ask-models", help="Ask an embedder of a vendor, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look at the installation, the settings, the database, the models and the keys; nothing is changed.

    It ends with 1 when something is in trouble. What is only a warning ends with 0.
    """
    findings = list(examine(url, ask_models=ask_models))
    troubles = sum(finding.state == "trouble" for finding in findings)
    if as_json:
        answer_json({"healthy": not troubles, "findings": [finding.as_json() for finding in findings]})
    else:
        for finding in findings:
            _show(finding)
        warnings = sum(finding.state == "warning" for finding in findings)
        answers.print(f"\n{troubles} in trouble, {warnings} to look at, of {len(findings)}.", highlight=False)
    if troubles:
        raise typer.Exit(1)


def _show(finding: Finding) -> None:
    mark, colour = _MARKS[finding.state]
    answers.print(Text.assemble((mark, colour), f" {finding.name}: {finding.says}"), soft_wrap=True)
    if finding.todo:
        answers.print(Text(f"    {finding.todo}"), soft_wrap=True)
