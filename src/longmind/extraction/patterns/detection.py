"""Patterns: what somebody does again and again, found among remembered events.

`find_patterns` groups events that are alike, and `decide_pattern` says what becomes of each pattern. Neither writes: a
job reads the newest valid EPISODE atoms of a space and its PATTERN atoms, runs both, and carries the decisions out in
one transaction. A pattern keeps its slot, so that running the job again leaves it or gives it a new version, and never
makes a second one.
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
"""Different days on which something must have happened to be a pattern."""
ATTRIBUTE = "pattern"
CATEGORY = "pattern"
_ALIKE = 2 / 3
"""The share of topic words that two events of one pattern have in common."""
_DAY = 24 * 3600 * 1_000_000
_MOST_SURE = 0.95
_WEEKDAY = "|".join(DAYS)
_WHEN = re.compile(
    rf"\s*\([^)]*\)|\b(?:on|last|this|next|every) (?:{_WEEKDAY})\b|\b(?:yesterday|today|tonight|again|once more|just|"
    r"(?:this|last) (?:morning|afternoon|evening|night|week|weekend|month|year))\b|"
    r"\bon \d{1,2} [A-Z][a-z]+(?: \d{4})?\b",
    re.IGNORECASE,
)
"""Words that say when something happened, not what."""
_HAS = re.compile(r" (?:has|have)(?= )")
_FIRST_SENTENCE = re.compile(r".*?[.!?](?=\s|$)|.+", re.DOTALL)


@dataclass(frozen=True)
class Pattern:
    """Something that recurs, with the events that show it."""

    text: str
    slot: Slot
    """Its identity: the subject, `pattern`, and the words for what recurs."""
    trust: Trust
    episode_ids: tuple[str, ...]
    source_message_ids: tuple[str, ...]
    grounds: tuple[str, ...]
    """The messages that the events come from, and the events that come from no message."""
    entity_ids: tuple[str, ...]
    importance: int
    confidence: float
    valid_from: Micros
    """The time when it happened last, at which it became known in this form."""

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


def find_patterns(episodes: Sequence[Atom]) -> list[Pattern]:
    """Return what happened on three or more different days, said of one person with one trust.

    Events are read in the order of their time. Each joins the first group that it fits, or begins a new one.
    """
    groups: list[_EventGroup] = []
    # Groups by the words of their first event, so that an event is compared only with those that share a word.
    by_stem: dict[tuple[str, Trust, str], list[_EventGroup]] = {}
    for event in sorted(filter(None, map(_read_event, episodes)), key=lambda event: (event.at, event.atom.id)):
        near = [group for stem in event.topic for group in by_stem.get((event.subject, event.atom.trust, stem), ())]
        group = next((group for group in dict.fromkeys(near) if group.fits(event)), None)
        if group is None:
            group = _EventGroup(event)
            groups.append(group)
            for stem in event.topic:
                by_stem.setdefault((event.subject, event.atom.trust, stem), []).append(group)
        group.events.append(event)
    return [group.to_pattern() for group in groups if len({event.day for event in group.events}) >= FEWEST]


def decide_pattern(pattern: Pattern, known: Sequence[KnownAtom]) -> Add | Supersede | Skip:
    """Decide what becomes of a pattern, given the PATTERN atoms of the space that are still valid.

    A pattern that was found before is recognised by its slot, or by its evidence if its first event was deleted since.
    """
    comparable = [
        each
        for each in known
        if each.atom.category.kind == "PATTERN" and each.atom.superseded_by is None and each.atom.trust == pattern.trust
    ]
    before = next((each for each in comparable if each.slot == pattern.slot), None) or next(
        (each for each in comparable if _has_same_evidence(pattern, each.atom)), None
    )
    if before is None:
        return Add(f"It happened {len(pattern.episode_ids)} times.")
    if set(pattern.episode_ids) == set(before.atom.evidence) and pattern.text != before.atom.text:
        # The known text counts events of which one was deleted since.
        return Supersede(before.atom.id, "One of its events was deleted.", to_micros(before.atom.valid_from))
    known_grounds = {*before.atom.source_message_ids, *before.atom.evidence}
    if set(pattern.grounds) <= known_grounds or pattern.text == before.atom.text:
        return Skip("The pattern is known, and nothing like it has happened since.", before.atom.id)
    closes_at = max(pattern.valid_from, to_micros(before.atom.valid_from))
    return Supersede(before.atom.id, "It has happened again.", closes_at)


def day_of(event: Atom) -> int:
    """Return the day on which an event happened, as a number that grows by one each day."""
    return to_micros(event.valid_from) // _DAY


def _has_same_evidence(pattern: Pattern, atom: Atom) -> bool:
    """Return whether a pattern has more than half of a known one's evidence."""
    before = set(atom.source_message_ids or atom.evidence)
    return 2 * len(before & set(pattern.grounds)) > len(before)


@dataclass(frozen=True)
class _PatternEvent:
    """An event in the form in which events are compared."""

    atom: Atom
    at: Micros
    subject: str
    topic: frozenset[str]
    """Stems of what was done, and the day of the week where that is a part of it ("the Tuesday meeting")."""
    denied: bool
    text: str

    @property
    def day(self) -> int:
        """The day of the event, as a number that grows by one each day."""
        return self.at // _DAY


def _read_event(atom: Atom) -> _PatternEvent | None:
    """Return the event in the first sentence of an atom, or None where it has no event that may recur."""
    if atom.category.kind != "EPISODE" or atom.status != "ACTIVE" or atom.superseded_by is not None:
        return None
    found = _FIRST_SENTENCE.match(atom.text)
    text = " ".join(_WHEN.sub(" ", found[0] if found else atom.text).split()).rstrip(" .!,")
    statement = parse_statement(text)
    if statement.subject is None or not _reports_real_event(statement):
        return None
    days = {measure.value for measure in statement.measures if measure.kind == "day"}
    return _PatternEvent(
        atom,
        to_micros(atom.valid_from),
        statement.subject,
        statement.main.topic | days,
        statement.main.denied,
        text,
    )


def _reports_real_event(statement: Statement) -> bool:
    """Return whether something happened to a person: planned, supposed and asked events do not count."""
    main = statement.main
    is_event = statement.is_event and bool(main.topic) and statement.subject != "assistant"
    return is_event and not (main.hedged or main.planned or statement.begins_with_question)


class _EventGroup:
    """Events that are alike. All are compared with the first one, so that the slot of the group does not change."""

    def __init__(self, first: _PatternEvent) -> None:
        self.first = first
        self.events: list[_PatternEvent] = []

    def fits(self, event: _PatternEvent) -> bool:
        """Return whether an event is like the first one."""
        if event.denied != self.first.denied:
            return False
        topic, other = self.first.topic, event.topic
        if topic == other:
            return True
        shared = len(topic & other)
        return shared > 1 and shared / len(topic | other) >= _ALIKE

    def to_pattern(self) -> Pattern:
        """Return the pattern that the events show."""
        atoms = [event.atom for event in self.events]
        count = len(atoms)
        topic = " ".join(sorted(self.first.topic))
        return Pattern(
            text=self._write_text(),
            slot=Slot(self.first.subject, ATTRIBUTE, f"not {topic}" if self.first.denied else topic),
            trust=self.first.atom.trust,
            episode_ids=tuple(atom.id for atom in atoms),
            source_message_ids=tuple(dict.fromkeys(each for atom in atoms for each in atom.source_message_ids)),
            grounds=tuple(dict.fromkeys(each for atom in atoms for each in atom.source_message_ids or [atom.id])),
            entity_ids=tuple(dict.fromkeys(each for atom in atoms for each in atom.entity_ids)),
            importance=min(3 + count // 5, 5),
            confidence=min(1 - 0.5 ** (count - 1), _MOST_SURE),
            valid_from=self.events[-1].at,
        )

    def _write_text(self) -> str:
        """Return the shortest event as a sentence with "repeatedly", and how often and when it happened.

        E.g. "User repeatedly went running (3 times between 7 March and 21 March 2023, mostly on Tuesdays)".
        """
        event = min((event.text for event in self.events), key=lambda text: (len(text), text))
        subject = re.match(rf"(?:the )?{re.escape(self.first.subject)}\b(?!')", event, re.IGNORECASE)
        has = _HAS.match(event, subject.end()) if subject else None
        at = has.end() if has else subject.end() if subject else 0
        repeated = f"{event[:at]} repeatedly{event[at:]}" if subject else f"Repeatedly: {event}"
        first, last = _to_datetime(self.events[0].at), _to_datetime(self.events[-1].at)
        begin = f"{first.day} {first:%B %Y}" if first.year != last.year else f"{first.day} {first:%B}"
        times = f"{len(self.events)} times between {begin} and {last.day} {last:%B %Y}"
        return f"{repeated} ({times}{self._describe_rhythm()})"

    def _describe_rhythm(self) -> str:
        """Return the day of the week or the interval of the events, where they show one."""
        days = sorted({event.day for event in self.events})
        weekday, times = Counter(_to_datetime(event.at).strftime("%A") for event in self.events).most_common(1)[0]
        mostly = f", mostly on {weekday}s" if times * 4 >= len(self.events) * 3 else ""
        gaps = [later - earlier for earlier, later in pairwise(days)]
        usual = median(gaps)
        if all(abs(gap - usual) <= usual / 5 for gap in gaps):
            every = "day" if usual == 1 else f"{round(usual)} days"
            return f"{mostly}, about every {every}"
        return mostly


def _to_datetime(instant: Micros) -> datetime:
    return datetime.fromtimestamp(instant // 1_000_000, UTC)
