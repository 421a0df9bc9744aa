"""The demonstration behind `./dev demo`: a memory at work, from the first word to its erasure.

It needs no key, no network and no server. It works in a temporary SQLite file and removes it; with --url it works in
the database you name, under a tenant of its own, and erases what it wrote.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

import longmind
from examples.demo.stage import Stage
from examples.demo.story import Story, TravellingClock
from longmind.providers.model_files import get_weights, is_present
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings


def main() -> int:
    """Tell the story and return the exit code: 1 if a check failed or the database cannot be used."""
    parser = argparse.ArgumentParser(
        prog="./dev demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="the database to use; a temporary SQLite file by default")
    parser.add_argument("--json", action="store_true", help="print the result of each check as JSON instead")
    options = parser.parse_args()
    try:
        failures = _tell_story(options.url, as_json=options.json)
    except longmind.LongmindError as error:
        print(f"Error: {error.message}" + (f"\nHint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return 1
    if failures:
        print(f"{failures} of the checks above failed.", file=sys.stderr)
    return 1 if failures else 0


def _tell_story(url: str | None, *, as_json: bool) -> int:
    """Play all scenes and return the number of checks that failed."""
    stage = Stage(Console(quiet=as_json))
    stage.open(
        f"Longmind {longmind.__version__}. All of this happens as you read it; [ok] marks each check that holds."
    )
    with ExitStack() as stack:
        file = None
        if url is None:
            file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="longmind-demo-"))) / "memory.db"
            url = f"sqlite:///{file}"
        clock = TravellingClock()
        engine = stack.enter_context(
            longmind.open(url, clock=clock, embedder=_local_embedder(), extractor="rules", summariser="extractive")
        )
        Story(stage, engine, clock, f"demo-{secrets.token_hex(4)}", file).tell()
    if as_json:
        print(json.dumps([{"check": sentence, "holds": holds} for sentence, holds in stage.checks], indent=2))
    return stage.failures


def _local_embedder() -> str | None:
    """Name the local model if it is installed; an embedder from the settings might need a key."""
    installed = is_present(get_weights(DEFAULT_MODEL), Path(load_settings({}).models_folder))
    return f"local:{DEFAULT_MODEL}" if installed else None


if __name__ == "__main__":
    sys.exit(main())
