"""`longmind demo`: the whole story in a few seconds, with no key, no network and no server."""

from __future__ import annotations

import secrets
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from longmind import __version__
from longmind.cli.exit_codes import Exit
from longmind.cli.output import AsJson, answer_json, answers, problems
from longmind.cli.stage import Stage
from longmind.cli.story import Story, TravellingClock
from longmind.engine import open
from longmind.providers.registry import DEFAULT_MODEL
from longmind.providers.weights import is_present, known_weights
from longmind.settings import load_settings

Url = Annotated[str | None, typer.Option(help="A database to work in, instead of a temporary file.")]


def demo(url: Url = None, as_json: AsJson = False) -> None:
    """Watch a memory at work: learned, changed, recalled, asked about the past, put into a prompt, and erased.

    It works in a temporary file and removes it; with --url it works under a tenant of its own, and erases that.
    """
    # The story is for people; a program wants to know what was checked.
    stage = Stage(Console(quiet=True) if as_json else answers)
    stage.open(f"Longmind {__version__}. All of this happens as you read it; what says [ok] was checked.")
    with ExitStack() as stack:
        file = None
        if url is None:
            file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="longmind-demo-"))) / "memory.db"
            url = f"sqlite:///{file}"
        clock = TravellingClock()
        engine = stack.enter_context(
            open(url, clock=clock, embedder=_embedder(), extractor="rules", summariser="extractive")
        )
        Story(stage, engine, clock, f"demo-{secrets.token_hex(4)}", file).tell()
    if as_json:
        answer_json([{"check": sentence, "holds": holds} for sentence, holds in stage.checks])
    if stage.failures:
        problems.print(f"{stage.failures} of the above are not as they should be.", style="red", highlight=False)
        raise typer.Exit(Exit.FAILED)


def _embedder() -> str | None:
    """The local model where it is here: whatever is set for other programs, this one needs no key."""
    here = is_present(known_weights(DEFAULT_MODEL), Path(load_settings({}).models_folder))
    return f"local:{DEFAULT_MODEL}" if here else None
