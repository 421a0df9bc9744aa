"""Personal bests and the standings of teams, as slots."""

from __future__ import annotations

import re

from longmind.extraction.rules.slots.normalisation import OWNER, WHO, stem_phrase, stem_word
from longmind.extraction.rules.slots.slot_pattern import STOP, SlotPattern, compile_pattern


def _name_best(found: re.Match[str], earlier: str) -> str:
    """Return the attribute of a personal best, by the game or exercise in the sentence or before it."""
    game = found["what"] or _LEADING_TO_IT.sub("", found["of"] or "") or found.groupdict().get("lifted") or ""
    if not game or _ONE_OF_THEM.match(found.string):
        named = _IN_A_GAME.findall(found.string[: found.start("value")]) or _PERFORMED.findall(earlier)
        game = named[-1] if named else ""
    return f"personal best in {stem_phrase(game)}".removesuffix(" in ")


_IN_A_GAME = re.compile(r"\b(?:in|at|on) (?:the )?([A-Z][\w']*(?: (?:to|of|the|[A-Z][\w']*))*)")
_LEADING_TO_IT = re.compile(r".*\b(?:an?|the|another|last|first|second|third|'s) ")
_ONE_OF_THEM = re.compile(r"(?:the|that) one\b", re.IGNORECASE)
_PERFORMED = re.compile(
    r"(?:\b[Mm]y|'s|\bthe) (?:(?:previous|last|latest|recent|first) )?((?:[\w-]+ ){1,4}?)(?:performance|result|time|"
    r"score|attempt)s?\b"
)


def _name_standing(found: re.Match[str], earlier: str) -> str:
    """Return the attribute of a standing such as 7-2, by the sport in the sentence or before it."""
    named = _SPORT.findall(found.string) or _SPORT.findall(earlier)
    if named:
        return f"record in {stem_word(named[-1].lower())}"
    return "record" if "record" in found.string else ""


_SPORT = re.compile(
    r"\b(?!(?:the|this|that|last|next|his|her|our|their|my|new|old|first)\b)([a-z][\w-]+) (?:league|team|season|"
    r"tournament|club|squad|division)\b"
)


RECORDS: tuple[SlotPattern, ...] = (
    # "User's personal best in the marathon is 3:45".
    compile_pattern(
        _name_best,
        "personal best|personal record|highest|best time|best score|record|high score",
        rf"(?:(?P<of>[\w-]+(?: [\w-]+){{0,3}}) with )?(?:{OWNER}|\ban?) (?:new |current |previous )?(?:personal "
        r"(?:best|record)|highest score|high score|best (?:time|score)|record)(?: time| score)?(?: (?:in|"
        r"for|on|at) (?:the |an? )?(?P<what>[\w' -]+?))?(?: so far| ever| now)?(?: (?:is|"
        rf"was|of|at|stands at|to)| -|:) (?:now |about )?(?P<value>\d[^,.;!?()]*){STOP}",
    ),
    # "User's fastest mile is 6:30", "User's bench press max is 80 kg".
    compile_pattern(
        _name_best,
        "best|fastest|longest|highest| max|record",
        rf"(?:{OWNER}|\ban?) (?P<of>)(?:new |current )?(?:(?:personal )?(?:best|fastest|longest|highest) "
        rf"(?P<what>(?:[\w-]+ ){{0,3}}"
        r"?[\w-]+?)(?: time| score| distance)?|(?P<lifted>(?:[\w-]+ ){1,3})(?:max|record|best|personal best))(?: ever|"
        r" so far)?"
        r"(?: (?:is|was|of|at|to)| -|:|, (?:it's|it is|which is))(?: (?:now|about|at))* (?P<value>\d[^,.;!?()]*)"
        rf"{STOP}",
    ),
    # "User ran a 5K in 25:10, a new personal best".
    compile_pattern(
        _name_best,
        "personal best|personal record",
        rf"{WHO} (?:[\w']+ ){{0,4}}?(?:an?|the|another|{OWNER}) (?P<what>(?P<of>)[\w-]+(?: [\w-]+){{0,3}}?) (?:in|at|"
        rf"with) (?P<value>\d"
        r"[^,.;!?()]*?)(?:,| -|, which is|, setting)? (?:[A-Z]\w*'s|an?) (?:new )?personal (?:best|record)\b",
    ),
    # "User's team is 7-2 so far".
    compile_pattern(
        _name_standing,
        "-",
        r"\b(?:is|are|was|were|went|record (?:is|of|to|at)|with an?|stands?|sits?|sitting|up to|improved to)"
        r"(?: (?:now|currently|at|an?))* (?P<value>\d{1,3}-\d{1,3}(?:-\d{1,3})?)(?= record\b| so far\b| now\b| this "
        r"season\b|"
        r" in the\b|[,.;!?]| -|$)",
    ),
)
