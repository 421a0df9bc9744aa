"""Prompts are files, one for each version, with places that are filled in when they are used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from longmind.errors import InvalidInput

_PROMPTS = files("longmind.extraction.model") / "prompts"
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_FAMILY = "extraction-"


@dataclass(frozen=True)
class Prompt:
    version: str
    text: str

    @property
    def placeholders(self) -> frozenset[str]:
        return frozenset(_PLACE.findall(self.text))

    def fill(self, **values: object) -> str:
        """The text with all places filled; a value too many or too few is a mistake of ours."""
        if values.keys() != self.placeholders:
            raise ValueError(f"{self.version} has the places {sorted(self.placeholders)}, not {sorted(values)}")
        return _PLACE.sub(lambda place: str(values[place[1]]), self.text)


def known_versions() -> list[str]:
    return sorted(file.name.removesuffix(".md") for file in _PROMPTS.iterdir() if file.name.endswith(".md"))


@lru_cache
def load_prompt(version: str) -> Prompt:
    """The prompt of a version; `v1` is short for `extraction-v1`."""
    full = version if version.startswith(_FAMILY) else f"{_FAMILY}{version}"
    if full not in known_versions():
        raise InvalidInput(
            f"There is no extraction version {version!r}.", hint=f"Known are {', '.join(known_versions())}."
        )
    return Prompt(full, (_PROMPTS / f"{full}.md").read_text("utf-8"))
