"""The form of a slot pattern, and the pieces that many patterns share.

A pattern has the groups `who`, `owner`, `has` or `having` for the subject and `value` for the value, and further ones
that name the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from longmind.language.calendar import MONTHS

# Words between a subject and its verb.
SOON = (
    r"(?:(?:now|currently|actually|just|recently|also|still|finally|really|already|officially|"
    r"proudly|basically|been|has|is|was) )*"
)
# The end of a value.
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
    """One way in which a sentence fills a slot."""

    attribute: str | Callable[[re.Match[str], str], str]
    """The name of the attribute, or a function that names it by the match and the sentences before."""
    needs: tuple[str, ...]
    """Substrings of which every fitting sentence has one. Looking for them first makes the search quick."""
    pattern: re.Pattern[str]


def compile_pattern(attribute: str | Callable[[re.Match[str], str], str], needs: str, pattern: str) -> SlotPattern:
    """Compile a slot pattern.

    attribute: its name, or a function of the match and the sentences before it.
    needs: substrings in lower case, separated by bars; every sentence that fits has one of them.
    pattern: the regular expression, matched against the rewritten sentence.
    """
    return SlotPattern(attribute, tuple(needs.split("|")), re.compile(pattern))
