"""The prompts for summaries and distillates: one file for each version."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from longmind.extraction.model.prompt_versions import Prompt

NEWEST = "summary-v1"


@cache
def load_prompt(version: str = NEWEST) -> Prompt:
    return Prompt(version, (files("longmind.summaries") / "prompts" / f"{version}.md").read_text("utf-8"))
