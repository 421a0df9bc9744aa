"""What somebody does again and again, found in the events that are remembered.

`mine` reads events and finds what recurs; `settle` says what becomes of each find. Neither writes anything: a job reads
the newest valid EPISODE atoms of a space and its PATTERN atoms, mines, settles, and carries the decisions out in the
same transaction. A pattern keeps its slot, so that mining again leaves it or gives it a new version, and never makes
a second one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Candidate, Slot
from longmind.extraction.reconcile.decisions import Add, KnownAtom, Skip, Supersede
from longmind.language.measures import DAYS
from longmind.language.statement import Statement, parse_statement
from longmind.models.atom import Atom, Trust

FEWEST = 3
"""How many different days make a pattern."""
ATTRIBUTE = "pattern"
CATEGORY = "pattern"
_ALIKE = 2 / 3
_DAY = 24 * 3600 * 1_000_000
_MOST_SURE = 0.95
_WEEKDAY = "|".join(DAYS)
_WHEN = re.compile(
    rf"\s*\([^)]*\)|\b(?:on|last|this|next|every) (?:{_WEEKDAY})\b|\b(?:yesterday|today|tonight|again|once more|just|"
    r"(?:this|last) (?:morning|afternoon|evening|night|week|weekend|month|year))\b|"
    r"\bon \d{1,2} [A-Z][a-z]+(?: \d{4})?\b",
    re.IGNORECASE,
)
"""What says when something happened, and not what."""
_HAS = re.compile(r" (?:has|have)(?= )")
_FIRST_SENTENCE = re.compile(r".*?[.!?](?=\s|$)|.+", re.DOTALL)


@dataclass(frozen=True)
class Pattern:
    """Something that recurs, with the events that show it."""

    text: str
    slot: Slot
    """Its identity: whose, `pattern`, and what recurs."""
    trust: Trust
    episode_ids: tuple[str, ...]
    source_message_ids: tuple[str, ...]
    grounds: tuple[str, ...]
    """The messages that tell of the events, and the events that no message tells of."""
    entity_ids: tuple[str, ...]
    importance: int
    confidence: float
    valid_from: Micros
    """When it happened last, which is when it became known in this form."""

    @property
    def candidate(self) -> Candidate:
        """The pattern as a candidate, to be written like any other."""
        return Candidate(
            self.text,
            CATEGORY,
            "PATTERN",
            self.trust,
            self.source_message_ids,
            self.importance,
            self.confidence,
            self.valid_from,
            slot=self.slot,
        )


def mine(episodes: Sequence[Atom]) -> list[Pattern]:
    """Find what happened on three or more different days, said of the same person with the same trust."""
    groups: list[_Group] = []
    seeds: dict[tuple[str, Trust, str], list[_Group]] = {}
    for event in sorted(filter(None, map(_event, episodes)), key=lambda event: (event.at, event.atom.id)):
        near = [group for stem in event.topic for group in seeds.get((event.subject, event.atom.trust, stem), ())]
        group = next((group for group in dict.fromkeys(near) if group.fits(event)), None)
        if group is None:
            group = _Group(event)
            groups.append(group)
            for stem in event.topic:
                seeds.setdefault((event.subject, event.atom.trust, stem), []).append(group)
        group.events.append(event)
    return [group.pattern() for group in groups if len({event.day for event in group.events}) >= FEWEST]


def settle(pattern: Pattern, known: Sequence[KnownAtom]) -> Add | Supersede | Skip:
    """Say what becomes of a pattern, given the PATTERN atoms of the space that are still valid.

    One that was found before is known by its slot, or by its evidence, in case the first event of it was deleted since.
    """
    same = [
        each
        for each in known
        if each.atom.category.kind == "PATTERN" and each.atom.superseded_by is None and each.atom.trust == pattern.trust
    ]
    before = next((each for each in same if each.slot == pattern.slot), None) or next(
        (each for each in same if _rests_on_same(pattern, each.atom)), None
    )
    if before is None:
        return Add(f"It happened {len(pattern.episode_ids)} times.")
    if set(pattern.episode_ids) == set(before.atom.evidence) and pattern.text != before.atom.text:
        # It was found in more, of which something was deleted since.
        return Supersede(before.atom.id, "An event of it was deleted.", to_micros(before.atom.valid_from))
    rests_on = {*before.atom.source_message_ids, *before.atom.evidence}
    if set(pattern.grounds) <= rests_on or pattern.text == before.atom.text:
        return Skip("The pattern is known, and nothing like it has happened since.", before.atom.id)
    closes_at = max(pattern.valid_from, to_micros(before.atom.valid_from))
    return Supersede(before.atom.id, "It has happened again.", closes_at)


def day_of(event: Atom) -> int:
    """On which day an event happened, counted from long ago."""
    return to_micros(event.valid_from) // _DAY


def _rests_on_same(pattern: Pattern, atom: Atom) -> bool:
    before = set(atom.source_message_ids or atom.evidence)
    return 2 * len(before & set(pattern.grounds)) > len(before)


@dataclass(frozen=True)
class _Event:
    atom: Atom
    at: Micros
    subject: str
    topic: frozenset[str]
    """What was done, to what, and on which day of the week if that names it ("the Tuesday meeting")."""
    denied: bool
    text: str

    @property
    def day(self) -> int:
        return self.at // _DAY


def _event(atom: Atom) -> _Event | None:
    if atom.category.kind != "EPISODE" or atom.status != "ACTIVE" or atom.superseded_by is not None:
        return None
    found = _FIRST_SENTENCE.match(atom.text)
    text = " ".join(_WHEN.sub(" ", found[0] if found else atom.text).split()).rstrip(" .!,")
    statement = parse_statement(text)
    if statement.subject is None or not _happened(statement):
        return None
    days = {measure.value for measure in statement.measures if measure.kind == "day"}
    return _Event(
        atom,
        to_micros(atom.valid_from),
        statement.subject,
        statement.main.topic | days,
        statement.main.denied,
        text,
    )


def _happened(statement: Statement) -> bool:
    main = statement.main
    told = statement.is_event and bool(main.topic) and statement.subject != "assistant"
    return told and not (main.hedged or main.planned or statement.begins_with_question)


class _Group:
    """Events that are alike. The first one stays the measure of the others, so that its slot does not change."""

    def __init__(self, first: _Event) -> None:
        self.first = first
        self.events: list[_Event] = []

    def fits(self, event: _Event) -> bool:
        if event.denied != self.first.denied:
            return False
        mine, theirs = self.first.topic, event.topic
        if mine == theirs:
            return True
        shared = len(mine & theirs)
        return shared > 1 and shared / len(mine | theirs) >= _ALIKE

    def pattern(self) -> Pattern:
        atoms = [event.atom for event in self.events]
        count = len(atoms)
        what = " ".join(sorted(self.first.topic))
        return Pattern(
            text=self._text(),
            slot=Slot(self.first.subject, ATTRIBUTE, f"not {what}" if self.first.denied else what),
            trust=self.first.atom.trust,
            episode_ids=tuple(atom.id for atom in atoms),
            source_message_ids=tuple(dict.fromkeys(each for atom in atoms for each in atom.source_message_ids)),
            grounds=tuple(dict.fromkeys(each for atom in atoms for each in atom.source_message_ids or [atom.id])),
            entity_ids=tuple(dict.fromkeys(each for atom in atoms for each in atom.entity_ids)),
            importance=min(3 + count // 5, 5),
            confidence=min(1 - 0.5 ** (count - 1), _MOST_SURE),
            valid_from=self.events[-1].at,
        )

    def _text(self) -> str:
        told = min((event.text for event in self.events), key=lambda text: (len(text), text))
        who = re.match(rf"(?:the )?{re.escape(self.first.subject)}\b(?!')", told, re.IGNORECASE)
        has = _HAS.match(told, who.end()) if who else None
        at = has.end() if has else who.end() if who else 0
        repeated = f"{told[:at]} repeatedly{told[at:]}" if who else f"Repeatedly: {told}"
        first, last = _date(self.events[0].at), _date(self.events[-1].at)
        begin = f"{first.day} {first:%B %Y}" if first.year != last.year else f"{first.day} {first:%B}"
        times = f"{len(self.events)} times between {begin} and {last.day} {last:%B %Y}"
        return f"{repeated} ({times}{self._rhythm()})"

    def _rhythm(self) -> str:
        """On which day of the week, or how often, where that can be seen."""
        days = sorted({event.day for event in self.events})
        weekday, times = Counter(_date(event.at).strftime("%A") for event in self.events).most_common(1)[0]
        mostly = f", mostly on {weekday}s" if times * 4 >= len(self.events) * 3 else ""
        gaps = [later - earlier for earlier, later in pairwise(days)]
        usual = median(gaps)
        if all(abs(gap - usual) <= usual / 5 for gap in gaps):
            every = "day" if usual == 1 else f"{round(usual)} days"
            return f"{mostly}, about every {every}"
        return mostly


def _date(instant: Micros) -> datetime:
    return datetime.fromtimestamp(instant // 1_000_000, UTC)
