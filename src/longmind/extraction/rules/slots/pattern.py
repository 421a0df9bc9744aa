"""How a slot is found in a rewritten sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from longmind.language.calendar import MONTHS

SOON = (
    r"(?:(?:now|currently|actually|just|recently|also|still|finally|really|already|officially|"
    r"proudly|basically|been|has|is|was) )*"
)
STOP = (
    r"(?= (?:with|and|but|because|since|so|last|for|where|which|who|when|after|before|"
    r"now|these days|while|as of|right now|anymore|"
    r"any more|at the moment|instead|too|though|until|if|this|next|yesterday|today|in \d{4}|from|"
    rf"in (?:{'|'.join(month.title() for month in MONTHS)})|"
    r"\(|-)\b|[,.;!?()\u2014](?!\d)| - | \(|$)"
)
VALUE = rf"(?:the |a |an |about |around )?(?P<value>(?:[^,.;!?()]|[,.](?=\d))+?){STOP}"


@dataclass(frozen=True)
class SlotPattern:
    attribute: str | Callable[[re.Match[str], str], str]
    """Its name, or how it is named by what was found and what was said before."""
    needs: tuple[str, ...]
    """One of these is in every sentence that fits: looking for them first is what makes it quick."""
    pattern: re.Pattern[str]


def compile_pattern(attribute: str | Callable[[re.Match[str], str], str], needs: str, pattern: str) -> SlotPattern:
    return SlotPattern(attribute, tuple(needs.split("|")), re.compile(pattern))
