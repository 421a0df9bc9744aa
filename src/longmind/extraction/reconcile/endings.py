"""Sentences that say that something is over: sold, given up, cancelled, finished, exchanged, moved, or dead."""

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
"""What is over: to have something, to do it as a rule, to be in an office, to live or be somewhere, a plan, to work on
or for something, any job there is, a search, a life, a bond between two, what was used until something else was, the
value of something that belongs to somebody, or its time or place."""


@dataclass(frozen=True)
class Ending:
    sort: EndingKind
    what: frozenset[str]
    """Stems of the words for what is over."""
    head: str
    """The last of them, which the others only describe."""
    owner: str
    """Whose it was, in lower case."""
    moved_to: str = ""
    """When or where it takes place from now on; of what was moved, not of who has moved somewhere."""


_SAID = re.compile(r"^[A-Z]\w* says: ")
_PERSON = r"[A-Z]\w*(?:'s (?:\w+ ){0,2}?[a-z]\w+)?(?: [A-Z]\w*)?"
_WHO = (
    rf"(?:^(?:{_PERSON}(?: and (?:others|[A-Z]\w*(?:'s \w+)?))?|They)"
    r"|(?:,|;|,? (?:and|so|but))(?: then)?(?: [A-Z]\w*)?)"
    r"(?: (?:has|have|had|just|finally|recently|also|actually|already|even|eventually|now|sadly|officially|ended up|is|"
    r"was|been|got|unfortunately))*"
)
_OF = r"(?:(?P<owner>[A-Z]\w*)'s? |the |an? |all |both |his |her |their |its )?(?:old |own |entire |whole |current )*"
_WHAT = r"(?P<what>(?!\d)[\w&+][\w'&+.-]*(?: [\w'&+-]+){0,4}?)"
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
    (
        "exchange",
        rf"{_WHO} (?:replaced|swapped(?: out)?|traded(?: in)?|exchanged) {_OF}{_WHAT} (?:in |out )?(?:with|for|by) ",
    ),
    (
        "exchange",
        rf"{_WHO} (?:switched|changed|moved|converted|transferred|migrated|upgraded|downgraded)(?: [\w']+){{0,4}}? "
        rf"from {_OF}{_WHAT} (?:over )?to ",
    ),
    ("exchange", rf"^.*?\b(?:instead of|rather than) {_DOING}{_OF}{_WHAT}{_STOP}"),
    (
        "having",
        rf"{_WHO} (?:sold|donated|ditched|scrapped|totall?ed|pawned|gave away|given away|(?:got |gotten )?rid of|"
        rf"threw out|threw away|parted with|traded in) {_OF}{_WHAT}{_STOP}",
    ),
    ("having", rf"{_WHO} got {_OF}{_WHAT} (?:off(?! to\b)|removed|taken (?:out|off))\b"),
    ("having", rf"{_WHO} let {_OF}{_WHAT} (?:expire|lapse|run out)\b"),
    ("being", rf"{_WHO} (?:stepped down|resigned|retired|quit) as {_OF}{_WHAT}{_STOP}"),
    (
        "search",
        rf"{_WHO} (?:found|bought|adopted|hired|chose|picked|ordered|rented|booked|accepted|into|landed) "
        rf"{_OF}(?:new )?{_WHAT}{_STOP}",
    ),
    ("value", rf"{_WHO} (?:changed|updated|reset|renamed|switched) {_OF}{_WHAT} (?:from [^,.;]+? )?to "),
    ("having", rf"{_WHO} (?:gave|given|threw|thrown|sold|sent) {_OF}{_WHAT} (?:away|back|off)\b"),
    ("having", rf"^{_OF}{_WHAT} {_IS} (?:stolen|totall?ed|sold|wrecked)\b"),
    (
        "doing",
        rf"{_WHO} (?:quit|gave up|given up|stopped|no longer|dropped(?: out of)?|withdrew from|abandoned|ditched|"
        rf"stepped (?:away|back) from|burned out on|done with|through with|cut out)(?: on)? "
        rf"{_DOING}{_OF}{_WHAT}{_STOP}",
    ),
    ("work", rf"{_WHO} (?:left|resigned from|retired from|quit|fired from|laid off from) {_OF}{_WHAT}{_STOP}"),
    (
        "work",
        rf"{_WHO} (?:finished|completed|passed|graduated from|wrapped up|done with) {_DOING}{_OF}{_WHAT}{_STOP}",
    ),
    (
        "job",
        rf"{_WHO} (?:(?:quit|lost|left|resigned from) (?:[A-Z]\w*'s|the) (?:old |current )?(?P<what>job|position)"
        r"|(?P<out>laid off|fired|let go|made redundant|retired))\b",
    ),
    (
        "place",
        rf"{_WHO} (?:moved out of|moved away from|left|came (?:home|back) from|out of|back from|released from|"
        rf"discharged from|returned from) {_OF}{_WHAT}{_STOP}",
    ),
    (
        "plan",
        rf"{_WHO} (?:cancell?ed|called off|backed out of|pulled out of|unsubscribed from|skipping|scrapped) "
        rf"{_OF}{_WHAT}{_STOP}",
    ),
    ("plan", rf"^{_OF}{_WHAT} {_IS} (?:cancell?ed|called off|scrapped)\b"),
    (
        "life",
        rf"^{_OF}{_WHAT} (?:has |just |sadly |suddenly )*"
        rf"(?:died|passed away|quit|resigned|{_IS} put (?:down|to sleep))\b",
    ),
    (
        "bond",
        rf"^(?:User and {_WHAT}|(?P<whom>[A-Z]\w*(?: [A-Z]\w*)?) and User) (?:has |have |just |finally |recently |"
        rf"sadly |officially )*{_BROKE_UP}\b",
    ),
    ("bond", rf"{_WHO} (?:broke up|broken up|split up|split|dumped|parted ways)(?: with)? {_OF}{_WHAT}{_STOP}"),
    ("time", rf"^{_OF}{_WHAT} (?:has |have |just )*{_MOVED}{_TO.replace('(?P<to>.*)', '')}"),
    ("time", rf"^{_OF}{_WHAT} (?:just )?{_IS} (?:just )?{_MOVED}{_TO}"),
    ("time", rf"{_WHO} {_MOVED} {_OF}{_WHAT}{_TO}"),
)
_READ = tuple((sort, re.compile(pattern)) for sort, pattern in _PATTERNS)
_ANY = re.compile(
    r"\b(?:replaced|swapped|traded|exchanged|switched|converted|transferred|migrated|upgraded|downgraded|instead|rather|"
    r"sold|donated|lost|ditched|scrapped|total+ed|pawned|gave|given|rid|threw|thrown|parted|sent|stolen|wrecked|quit|"
    r"stopped|longer|dropped|withdrew|abandoned|stepped|burned|done|through|cut|left|resigned|retired|fired|laid|let|made|"
    r"moved|cancell?ed|called|backed|pulled|unsubscribed|skipping|finished|completed|passed|graduated|wrapped|died|put|"
    r"broke|broken|split|separated|dumped|pushed|rescheduled|postponed|delayed|extended|shifted|bumped|slipped|changed|"
    r"brought|deferred|relocated|off|removed|taken|expire|lapse|run|found|bought|adopted|hired|chose|picked|ordered|"
    r"rented|booked|accepted|into|landed|updated|reset|renamed|came|out|back|released|discharged|returned)\b"
)
"""One of these is in every sentence that fits."""
_DOUBTS = ((DENIALS | HEDGES) - {"no"}) | {"ever", "helped", "told", "asked", "used"}
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")


def strip_speaker(text: str) -> str:
    """A text without the words that only say whose it is."""
    return _SAID.sub("", text)


@lru_cache(maxsize=4096)
def find_endings(text: str) -> Sequence[Ending]:
    """All that a text says is over."""
    text = strip_speaker(text)
    if not _ANY.search(text):
        return ()
    found = ((sort, pattern.search(text)) for sort, pattern in _READ)
    return [ending for sort, match in found if match is not None and (ending := _ending(sort, match)) is not None]


def _ending(sort: EndingKind, match: re.Match[str]) -> Ending | None:
    groups = match.groupdict()
    owner = groups.get("owner")
    begins_with_it = match.start() == match.start("owner") if owner is not None else False
    if owner not in (None, "User") and not begins_with_it:
        return None  # what was sold, or given up, was somebody else's
    named = groups["what"] or groups.get("whom") or groups.get("out") or ""
    told = match.string[: match.start("to") if groups.get("to") else match.end()]
    if not _DOUBTS.isdisjoint(word.lower().replace("'", "") for word in _WORD.findall(told)):
        return None
    stems = find_topic_stems(" ".join(filter(None, (groups.get("doing"), named))))
    whose = (owner or "user").lower()
    return Ending(sort, frozenset(stems), stems[-1], whose, groups.get("to") or "") if stems else None
