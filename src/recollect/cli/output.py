"""Where commands write: answers to standard output, everything else to standard error."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

answers = Console()
problems = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Answer with JSON.")]


def answer_json(value: object) -> None:
    # Not through rich, which would wrap and colour it.
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def progress(line: str) -> None:
    problems.print(line, markup=False, highlight=False, soft_wrap=True)
