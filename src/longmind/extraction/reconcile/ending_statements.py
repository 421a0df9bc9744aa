"""Endings: what a sentence says is over, because it was sold, given up, cancelled, finished, exchanged or moved.

`find_endings` reads them from the words alone. Whether an ending applies to a known fact is decided in `ending_match`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from longmind.language.statement import find_topic_stems
from longmind.language.vocabulary import DENIALS, HEDGES

EndingKind = Literal[
    "having", "doing", "being", "place", "plan", "work", "job", "search", "life", "bond", "exchange", "value", "time"
]
"""The kind of thing that is over.

having: owning something. doing: a habit. being: an office. place: living or being somewhere. work: working for or on
something. job: any job there is. bond: a couple. exchange: what was used until something else was. value: the value of
something that belongs to somebody. time: its time or place.
"""


@dataclass(frozen=True)
class Ending:
    """Something that a sentence says is over."""

    kind: EndingKind
    stems: frozenset[str]
    """Stems of the words for the thing that is over."""
    head: str
    """The last of the stems, which the others only describe."""
    owner: str
    """The person it belonged to, in lower case."""
    moved_to: str = ""
    """The new time or place of an appointment; empty for a person that moved."""


# "Anna says: …", as the extractor begins a text that does not name its speaker.
_SPEAKER = re.compile(r"^[A-Z]\w* says: ")
_PERSON = r"[A-Z]\w*(?:'s (?:\w+ ){0,2}?[a-z]\w+)?(?: [A-Z]\w*)?"
# The subject, at the beginning of the sentence or of a clause.
_WHO = (
    rf"(?:^(?:{_PERSON}(?: and (?:others|[A-Z]\w*(?:'s \w+)?))?|They)"
    r"|(?:,|;|,? (?:and|so|but))(?: then)?(?: [A-Z]\w*)?)"
    r"(?: (?:has|have|had|just|finally|recently|also|actually|already|even|eventually|now|sadly|officially|ended up|is|"
    r"was|been|got|unfortunately))*"
)
# A possessive or an article before the thing.
_OF = r"(?:(?P<owner>[A-Z]\w*)'s? |the |an? |all |both |his |her |their |its )?(?:old |own |entire |whole |current )*"
_WHAT = r"(?P<what>(?!\d)[\w&+][\w'&+.-]*(?: [\w'&+-]+){0,4}?)"
# The end of the words for the thing.
_STOP = (
    r"(?=(?:'s)? (?:and|but|because|since|so|for|with|to|in|on|at|last|this|next|yesterday|today|when|after|before|as|"
    r"due|from|earlier|recently|again|completely|entirely|altogether|now|it|which|that|who|by|a (?:few|couple|while|"
    r"week|month|year)|two|three|until|till|about|while|if|once|instead|though|already|forever|early|back|up|months?|"
    r"weeks?|years?|\d|\()|[,.;:!?()\u2014]|$)"
)
_DOING = r"(?:(?P<doing>\w+ing) (?:to |for |at |with |on |in )?)?"
_IS = r"(?:is|are|was|were|got|gets|has been|have been|had to be|will be|is being)"
_MOVED = (
    r"(?:moved|pushed|rescheduled|postponed|delayed|extended|shifted|bumped|slipped|changed|brought|put|deferred|"
    r"relocated|switched)(?: back| up| forward| out)?"
)
_TO = r"(?: by [^,.;]+?)?(?: from [^,.;]+?)?,? (?:to|until|till|for) (?P<to>.*)"
_BROKE_UP = rf"(?:broke up|broken up|split up|split|separated|parted ways|{_IS} no longer together)"

_PATTERNS: tuple[tuple[EndingKind, str], ...] = (
    # "User replaced the laptop with a tablet".
    (
        "exchange",
        rf"{_WHO} (?:replaced|swapped(?: out)?|traded(?: in)?|exchanged) {_OF}{_WHAT} (?:in |out )?(?:with|for|by) ",
    ),
    # "User switched from Gmail to Proton".
    (
        "exchange",
        rf"{_WHO} (?:switched|changed|moved|converted|transferred|migrated|upgraded|downgraded)(?: [\w']+){{0,4}}? "
        rf"from {_OF}{_WHAT} (?:over )?to ",
    ),
    # "User now cycles instead of driving".
    ("exchange", rf"^.*?\b(?:instead of|rather than) {_DOING}{_OF}{_WHAT}{_STOP}"),
    # "User sold the Civic".
    (
        "having",
        rf"{_WHO} (?:sold|donated|ditched|scrapped|totall?ed|pawned|gave away|given away|(?:got |gotten )?rid of|"
        rf"threw out|threw away|parted with|traded in) {_OF}{_WHAT}{_STOP}",
    ),
    # "User got User's braces off".
    ("having", rf"{_WHO} got {_OF}{_WHAT} (?:off(?! to\b)|removed|taken (?:out|off))\b"),
    # "User let the gym membership expire".
    ("having", rf"{_WHO} let {_OF}{_WHAT} (?:expire|lapse|run out)\b"),
    # "User stepped down as chair".
    ("being", rf"{_WHO} (?:stepped down|resigned|retired|quit) as {_OF}{_WHAT}{_STOP}"),
    # "User found a flat": the search is over.
    (
        "search",
        rf"{_WHO} (?:found|bought|adopted|hired|chose|picked|ordered|rented|booked|accepted|into|landed) "
        rf"{_OF}(?:new )?{_WHAT}{_STOP}",
    ),
    # "User changed User's password to …".
    ("value", rf"{_WHO} (?:changed|updated|reset|renamed|switched) {_OF}{_WHAT} (?:from [^,.;]+? )?to "),
    # "User gave the piano away".
    ("having", rf"{_WHO} (?:gave|given|threw|thrown|sold|sent) {_OF}{_WHAT} (?:away|back|off)\b"),
    # "User's bike was stolen".
    ("having", rf"^{_OF}{_WHAT} {_IS} (?:stolen|totall?ed|sold|wrecked)\b"),
    # "User quit smoking", "User no longer plays the ukulele".
    (
        "doing",
        rf"{_WHO} (?:quit|gave up|given up|stopped|no longer|dropped(?: out of)?|withdrew from|abandoned|ditched|"
        rf"stepped (?:away|back) from|burned out on|done with|through with|cut out)(?: on)? "
        rf"{_DOING}{_OF}{_WHAT}{_STOP}",
    ),
    # "User left Nokia".
    ("work", rf"{_WHO} (?:left|resigned from|retired from|quit|fired from|laid off from) {_OF}{_WHAT}{_STOP}"),
    # "User finished the book".
    (
        "work",
        rf"{_WHO} (?:finished|completed|passed|graduated from|wrapped up|done with) {_DOING}{_OF}{_WHAT}{_STOP}",
    ),
    # "User quit User's job", "User was laid off".
    (
        "job",
        rf"{_WHO} (?:(?:quit|lost|left|resigned from) (?:[A-Z]\w*'s|the) (?:old |current )?(?P<what>job|position)"
        r"|(?P<out>laid off|fired|let go|made redundant|retired))\b",
    ),
    # "User moved out of the flat", "User is back from Rome".
    (
        "place",
        rf"{_WHO} (?:moved out of|moved away from|left|came (?:home|back) from|out of|back from|released from|"
        rf"discharged from|returned from) {_OF}{_WHAT}{_STOP}",
    ),
    # "User cancelled the trip".
    (
        "plan",
        rf"{_WHO} (?:cancell?ed|called off|backed out of|pulled out of|unsubscribed from|skipping|scrapped) "
        rf"{_OF}{_WHAT}{_STOP}",
    ),
    # "The concert was called off".
    ("plan", rf"^{_OF}{_WHAT} {_IS} (?:cancell?ed|called off|scrapped)\b"),
    # "User's dog died".
    (
        "life",
        rf"^{_OF}{_WHAT} (?:has |just |sadly |suddenly )*"
        rf"(?:died|passed away|quit|resigned|{_IS} put (?:down|to sleep))\b",
    ),
    # "User and Tom have broken up".
    (
        "bond",
        rf"^(?:User and {_WHAT}|(?P<whom>[A-Z]\w*(?: [A-Z]\w*)?) and User) (?:has |have |just |finally |recently |"
        rf"sadly |officially )*{_BROKE_UP}\b",
    ),
    # "User split up with Tom".
    ("bond", rf"{_WHO} (?:broke up|broken up|split up|split|dumped|parted ways)(?: with)? {_OF}{_WHAT}{_STOP}"),
    # "The meeting has been moved".
    ("time", rf"^{_OF}{_WHAT} (?:has |have |just )*{_MOVED}{_TO.replace('(?P<to>.*)', '')}"),
    # "The meeting was moved to Thursday".
    ("time", rf"^{_OF}{_WHAT} (?:just )?{_IS} (?:just )?{_MOVED}{_TO}"),
    # "User pushed the interview to Monday".
    ("time", rf"{_WHO} {_MOVED} {_OF}{_WHAT}{_TO}"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_ANY = re.compile(
    r"\b(?:replaced|swapped|traded|exchanged|switched|converted|transferred|migrated|upgraded|downgraded|instead|rather|"
    r"sold|donated|lost|ditched|scrapped|total+ed|pawned|gave|given|rid|threw|thrown|parted|sent|stolen|wrecked|quit|"
    r"stopped|longer|dropped|withdrew|abandoned|stepped|burned|done|through|cut|left|resigned|retired|fired|laid|let|made|"
    r"moved|cancell?ed|called|backed|pulled|unsubscribed|skipping|finished|completed|passed|graduated|wrapped|died|put|"
    r"broke|broken|split|separated|dumped|pushed|rescheduled|postponed|delayed|extended|shifted|bumped|slipped|changed|"
    r"brought|deferred|relocated|off|removed|taken|expire|lapse|run|found|bought|adopted|hired|chose|picked|ordered|"
    r"rented|booked|accepted|into|landed|updated|reset|renamed|came|out|back|released|discharged|returned)\b"
)
"""One of these words is in every sentence that fits: a quick test before the patterns."""
# Words before the end of a match that make it no ending: denied, planned, or another's doing.
_DOUBTS = ((DENIALS | HEDGES) - {"no"}) | {"ever", "helped", "told", "asked", "used"}
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")


def strip_speaker(text: str) -> str:
    """Return a text without the name of its speaker before it."""
    return _SPEAKER.sub("", text)


@lru_cache(maxsize=4096)
def find_endings(text: str) -> Sequence[Ending]:
    """Return all that a text says is over. Results are cached, since facts are compared again and again."""
    text = strip_speaker(text)
    if not _ANY.search(text):
        return ()
    found = ((kind, pattern.search(text)) for kind, pattern in _COMPILED)
    return [ending for kind, match in found if match is not None and (ending := _read_ending(kind, match)) is not None]


def _read_ending(kind: EndingKind, match: re.Match[str]) -> Ending | None:
    """Return the ending of a match, or None where it is another person's, denied, or only planned."""
    groups = match.groupdict()
    owner = groups.get("owner")
    owner_is_subject = match.start() == match.start("owner") if owner is not None else False
    if owner not in (None, "User") and not owner_is_subject:
        # "User sold Anna's car" ends nothing of the user's.
        return None
    thing = groups["what"] or groups.get("whom") or groups.get("out") or ""
    stated = match.string[: match.start("to") if groups.get("to") else match.end()]
    if not _DOUBTS.isdisjoint(word.lower().replace("'", "") for word in _WORD.findall(stated)):
        return None
    stems = find_topic_stems(" ".join(filter(None, (groups.get("doing"), thing))))
    owner = (owner or "user").lower()
    return Ending(kind, frozenset(stems), stems[-1], owner, groups.get("to") or "") if stems else None
