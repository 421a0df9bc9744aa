"""The text of a fact: a template where the value is plain, the speaker's sentence in the third person where that is
certain, and an exact quote in all other cases.

A rewritten sentence that still holds a pronoun, or that lost its subject, is garbled; the speaker's own words are not.
So a clause is only rewritten if it is one whole sentence, about its speaker or about something that it names.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from itertools import takewhile

from longmind.clock import Micros
from longmind.extraction.reader.antecedents import resolve_persons
from longmind.extraction.reader.clause_grammar import (
    correct_typing,
    find_clause,
    find_sentence,
    is_cut_off,
    is_imperative,
    is_run_on,
    is_statement,
    points_elsewhere,
    trim_clause,
)
from longmind.extraction.reader.foreign_text import OwnText, find_own_text, find_verbatim
from longmind.extraction.reader.message_statement import Reading
from longmind.extraction.reader.slot_template import fill_template, introduce_person
from longmind.extraction.rules.omitted_words import restore_subject
from longmind.extraction.rules.third_person import PersonRewriter
from longmind.language import verbs
from longmind.language.calendar import day_of
from longmind.language.chat_text import remove_emoji
from longmind.language.dates import DateSpan, find_dates, resolve_dates

_FEWEST_WORDS = 3
# A sentence of two words: "I'm vegetarian".
_I_AM = re.compile(r"I'?m \w", re.IGNORECASE)
_MOST_WORDS = 32
_FEWEST_QUOTED_WORDS = 5
_MOST_QUOTED_WORDS = 28
_FAR = 600
"""Characters before a clause in which what it speaks of is looked for."""
_MOST_STRETCHES = 8
_SHORT_ANSWER = 7
"""Words up to which an answer is quoted with its question."""
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f]+[\"')\]]*(?=\s|$)|\n+|;\s")
_INNER_END = re.compile(r"[.!?\u2026]\s+\S")
_FIRST_PLURAL = re.compile(r"\b(?:we|us|ourselves)\b", re.IGNORECASE)
_SINGULAR = re.compile(r"\b(?:I|me|my|mine|myself)\b")
_WE = re.compile(r"\b[Ww]e\b")
# Verbs that are true of each of a group, and so of the speaker: "we live in Lyon", "we have two cats".
_SHARED = re.compile(
    r"\bwe(?:'ve|'re|'ll)?(?: (?:also|still|now|just|only|always|never|already|have|are|will|do|don't|finally|"
    r"currently|"
    r"usually|recently|mostly))* "
    r"(?:live|lived|living|moved|moving|(?:have|had)(?= (?:an?|the|no|our|one|two|three|four|five|\d+|some|many|"
    r"lots)\b)|"
    r"got|own|rent|renting|bought|buying|sold|adopted|use|using|need|want|"
    r"eat|"
    r"ate|drive|pay|paid|keep|kept|plan|planning|booked|going|go|went|travel|travelling|flying|fly|stay|stayed|staying|"
    r"work|drink|cook|speak|like|love|prefer|watch|watched|saw|visited|raised|took|spent|tried|celebrate|celebrated|"
    r"attended)\b|\bwe(?:'re| are) (?:now |still |all )?(?:in|at|on|from|based)\b",
    re.IGNORECASE,
)
_NOT_SHARED = re.compile(
    r"\b(?:each other|together|both|one another|(?:of|let|between) us|us (?:both|all|two|three)|ourselves|"
    r"we (?:two|both|all))\b",
    re.IGNORECASE,
)
_SECOND = re.compile(r"\b(?:you|your|yours|yourself|ur|u)\b", re.IGNORECASE)
_SECOND_SUBJECT = re.compile(
    r"\byou(?:'(?:re|ve|ll|d)| (?:can|could|have|had|need|are|were|get|got|know|never|always|do|don't|will|would|"
    r"should|"
    r"must|want|said|told|go|feel|think|see|may|might|\w+ed))\b",
    re.IGNORECASE,
)
_LEFT_OVER = re.compile(r"(?<![\w'\u2019])(?:I|i|I'm|me|my|mine|we|us|our|you|your|ur|u|im|ive)(?![\w-])")
_NUMBER_AFTER_DATE = re.compile(r"\s+(?:twenty|nineteen|two thousand)\b", re.IGNORECASE)
_POLITE = re.compile(r"^(?:(?:please|pls|plz|and|so|just)\b[, ]*)+", re.IGNORECASE)
_UNCLEAR_START = re.compile(
    r"(?:it|its|it's|this|that|these|those|that's|thats|he|she|they|his|her|their|he's|she's|they're|hes|shes|theyre|"
    r"there|"
    r"then|which|who|both|the other|one|ones|same|not|only|also|with|for|from|in|at|on|to|of|about|than)\b",
    re.IGNORECASE,
)
_RULES = frozenset(("rule", "preference", "convention"))
# What stands before a sentence; within one, the subject is named before.
_BEFORE_SENTENCE = re.compile(
    r"(?:^|[.!?:;\n\u2026\U0001f000-\U0001faff\u2600-\u27bf)])[^\w]*(?:(?:and|but|so|also|btw|oh|ok|yes|yeah|then|"
    r"lol)\W+){0,2}$"
)
_OF_TEAMS = frozenset("tool tool_version host repository convention project".split())
_HABITS = frozenset("diet habit hobby health allergy skill possession pet vehicle medication".split())
_HABIT = re.compile(r"(?:don't|can't|won't|never|no longer) (?!been|had)[a-z]+\b", re.IGNORECASE)
# "Operated in August", "destroyed, so no running": it was done to somebody.
_PASSIVE = re.compile(
    r"\w+ so\b|(?!(?:moved|started|changed|switched|stopped|finished|signed|worked|lived|walked|talked|played|"
    r"travelled|"
    r"stayed|tried|wanted|needed|applied)\b)\w+ed (?:in|on|at|by|from|for|with|about|into|out|off|this|last)\b",
    re.IGNORECASE,
)
_RECURRING = frozenset(("schedule", "habit", "hobby"))
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mon|tue|wed|thu|fri|sat|sun", re.IGNORECASE)
_LONG_PAST = timedelta(days=31)
_FUTURE = frozenset("deadline appointment plan travel goal".split())
_PART_END = re.compile(r"[,;:.!?](?=\s|$)|\n|\s(?=(?:and|but|so|because)\s)")
_LIKES = r"(?=(?:loves|likes|hates|enjoys|prefers|speaks|owns|wants|needs|drives|plays)\s\w)"
_LISTED = re.compile(rf"(?:.{{0,40}}\bbut )?{_LIKES}")
# What is granted before what counts, which may be a figure of speech: "two left feet but loves salsa".
_CONCEDED = re.compile(rf"(?:^|(?<=^- ))[^\n]{{0,40}}\bbut {_LIKES}", re.MULTILINE)
_PUNCTUATION = re.compile(r"[,;.!?](?=\s)")
# "Has been using it and love it": the rewriter lets a verb after a participle be.
_SECOND_VERB = re.compile(
    r"( (?:has|is) (?:\w+ ){0,2}?\w+ing\b[^.;:!?]{1,80} (?:and|but) )(want|love|need|hate|prefer|hope)\b"
)
# "On Tuesday, no wait, on Friday": what was said first is not meant.
_CORRECTED = re.compile(r"\b(?:no,? wait|wait,? no|sorry,? no|no,? sorry|scratch that|or rather)\b", re.IGNORECASE)
_STAND_IN = "Xq{}q"
_MOST_MENTIONS = 4
"""Times that a rewritten sentence may name its speaker; one with more is clearer in the speaker's words."""
_ASSISTANT = "Assistant"


@dataclass
class StatementWriter:
    """Writes the texts of the facts in one message.

    before: the message that it answers; own: what of the message is its speaker's, if that is known already.
    """

    text: str
    speaker: str
    addressee: str
    said_at: Micros
    before: str
    own: OwnText | None = None

    @cached_property
    def _own(self) -> OwnText:
        return self.own or find_own_text(self.text)

    @cached_property
    def _is_spoken(self) -> bool:
        """Return whether the message has no punctuation within, as what was dictated."""
        return _PUNCTUATION.search(self.text) is None

    def write(self, reading: Reading) -> str:
        """Return the text of one fact."""
        return self._fill_template(reading) or self._rewrite(reading) or self._quote(reading)

    def _fill_template(self, reading: Reading) -> str | None:
        """Return the text of a slot whose value is plain, or None."""
        question = self._find_question() if self._begins_message(reading.begins) else None
        filled = fill_template(self.text, reading, self.said_at, question) or introduce_person(self.text, reading)
        if filled is None or self.speaker == "User":
            return filled
        return filled.replace("User", self.speaker, 1)

    def _rewrite(self, reading: Reading) -> str | None:
        """Return the clause in the third person, or None if that is not certain to be right."""
        begins, ends = self._find_own(*find_clause(self.text, reading.begins, reading.ends))
        words = self.text[begins:ends]
        clause = trim_clause(" ".join(remove_emoji(words).split()))
        if not _has_fitting_length(clause) or not _is_whole(clause) or not _ends_in_emoji(words):
            return None
        masked, kept = _mask(clause)
        masked = correct_typing(masked)
        if _BEFORE_SENTENCE.search(self.text, max(0, begins - 40), begins):
            masked = _restore_subject(masked, reading)
        is_rule = reading.kind == "RULE" or (
            reading.kind == "PREFERENCE" and reading.attribute in _RULES and is_imperative(masked)
        )
        plain = self._name_others(masked, self.text[max(0, begins - _FAR) : begins], reading, is_rule=is_rule)
        if plain is None:
            return None
        told = self._tell(*plain, reading)
        if (
            _LEFT_OVER.search(told)
            or re.search(rf"{re.escape(self.speaker)}'s (?:is|was|are|were|has)\b", told)
            or " and others" in told
            or told.count(self.speaker) > _MOST_MENTIONS
        ):
            return None
        told = _unmask(told, kept)
        return told[:1].upper() + told[1:] + ("" if told[-1:] in '.!\u2026"' else ".")

    def _name_others(self, clause: str, before: str, reading: Reading, *, is_rule: bool) -> tuple[str, str] | None:
        """Return a clause in which only "I" and "you" must be replaced, and who "I" is.

        None if it cannot stand by itself.
        """
        if _SECOND.search(clause) and not is_rule and not self._is_plain_second(clause):
            return None
        named = self._name_persons(clause, before)
        if named is None or points_elsewhere(named):
            return None
        grouped = self._name_group(named, reading)
        if grouped is None or any(is_run_on(each, spoken=self._is_spoken) for each in (grouped[0], clause)):
            return None
        plain, name = grouped
        listed = _LISTED.match(plain)
        if listed is not None and (reading.of_user or self.text[reading.begins] in "-*\u2022"):
            # In a list about oneself: "- loves salsa classes".
            return f"{self.speaker} {plain[listed.end() :]}", name
        if is_rule and (is_imperative(plain) or _tells_assistant(plain)):
            return _POLITE.sub("", plain), name
        # A clause that begins with a name in the place of "our" or "he" is a statement, too.
        return grouped if is_statement(plain) or plain.startswith(self.speaker) else None

    def _is_plain_second(self, clause: str) -> bool:
        """Return whether "you" is the other person of a conversation, and not anybody, nor the assistant."""
        return self.addressee != _ASSISTANT and _SECOND_SUBJECT.search(clause) is None

    def _name_persons(self, clause: str, before: str) -> str | None:
        """Return a clause with names for "he" and "she", or None where it is uncertain which persons are meant."""
        return resolve_persons(clause, before, self.before, self.speaker)

    def _name_group(self, clause: str, reading: Reading) -> tuple[str, str] | None:
        """Return a clause with "I" for "we", and the one that "I" stands for; None where it is uncertain.

        Of a project it is the team, and of what a household shares the speaker, being one of them.
        """
        if not _FIRST_PLURAL.search(clause):
            return clause, self.speaker
        if _NOT_SHARED.search(clause):
            return None
        if reading.category == "project" or (reading.category == "work" and reading.attribute in _OF_TEAMS):
            team = f"{self.speaker}'s team"
            return None if _SINGULAR.search(clause) else (_put_singular(clause, self.speaker, team), team)
        if _WE.search(clause) and _SHARED.search(clause) is None:
            return None
        return _put_singular(clause, self.speaker, self.speaker), self.speaker

    def _tell(self, clause: str, name: str, reading: Reading) -> str:
        """Return a clause in the third person, with its dates resolved. name: who "I" is."""
        told = PersonRewriter(name, self.addressee).rewrite(self._resolve_dates(clause, reading))
        told = _SECOND_VERB.sub(lambda found: found[1] + verbs.to_third_person(found[2]), told)
        return re.sub(rf"(?<!let )(?<!does )(?<!can )\b{re.escape(self.addressee)} ([a-z]+)\b", _agree, told)

    def _resolve_dates(self, words: str, reading: Reading) -> str:
        """Return words in which each date can be understood without knowing when it was said."""
        spans = []
        corrected = _CORRECTED.search(words)
        for span in find_dates(words, self.said_at):
            # A year in words is not read: "december twenty twenty six". The days of a schedule come every week.
            named = words[span.start : span.end]
            is_habit = reading.attribute in _RECURRING and _WEEKDAY.fullmatch(named) is not None
            if corrected is not None and span.end <= corrected.start():
                continue
            if not is_habit and not _NUMBER_AFTER_DATE.match(words, span.end):
                spans.append(_put_ahead(span, self.said_at) if reading.attribute in _FUTURE else span)
        return resolve_dates(words, spans)

    def _quote(self, reading: Reading) -> str:
        """Return the speaker's words as a quotation, with what is needed to understand them."""
        place = self._find_own(*find_clause(self.text, reading.begins, reading.ends))
        words = self._take_words(*place)
        if len(words.split()) < _FEWEST_QUOTED_WORDS or _UNCLEAR_START.match(words) or is_cut_off(words):
            place = self._widen(place, find_sentence(self.text, *place))
        if _UNCLEAR_START.match(self._take_words(*place)) and place[0] > 0:
            place = self._widen(place, (find_sentence(self.text, *self._find_previous(place[0]))[0], place[1]))
        words = self._take_words(*place)
        told = f'{self.speaker}: "{self._resolve_dates(words, reading)}"'
        question = self._find_question()
        if question and self._begins_message(place[0]) and len(words.split()) <= _SHORT_ANSWER:
            return f'Asked "{question}", {told}'
        return told

    def _find_own(self, begins: int, ends: int) -> tuple[int, int]:
        """Return the part of a stretch that is its speaker's, up to the last clause before what is not."""
        foreign = self._own.foreign
        first = max(0, bisect_right(foreign, (begins, begins)) - 1)
        for low, high in takewhile(lambda each: each[0] < ends, foreign[first : first + _MOST_STRETCHES]):
            if high <= begins:
                continue
            if low <= begins:
                return min(high, ends), ends
            bounds = [found.start() for found in _PART_END.finditer(self.text, begins, low)]
            # "He says 'I only eat beige food'" is the speaker's, and cannot be cut.
            return begins, bounds[-1] if bounds and len(self.text[begins : bounds[-1]].split()) > 2 else ends
        return begins, ends

    def _widen(self, place: tuple[int, int], wider: tuple[int, int]) -> tuple[int, int]:
        """Return the wider of two stretches, unless it has too many words to be quoted."""
        wider = self._find_own(*wider)
        return wider if len(self.text[slice(*wider)].split()) <= _MOST_QUOTED_WORDS else place

    def _take_words(self, begins: int, ends: int) -> str:
        """Return the words of a stretch without what only leads to them."""
        words = _CONCEDED.sub("\u2026 ", self.text[begins:ends])
        words = " ".join(words.split()).replace('"', "'")
        return trim_clause(words) or words

    def _find_previous(self, begins: int) -> tuple[int, int]:
        """Return the last words of the sentence before a place in the message."""
        near = self.text[max(0, begins - _FAR) : begins]
        end = begins - len(near) + len(near.rstrip(" .!?\n"))
        return max(0, end - 1), end

    def _begins_message(self, begins: int) -> bool:
        """Return whether a stretch stands in the first sentence of the message."""
        return begins <= _FAR and not _SENTENCE_END.search(self.text[:begins].lstrip())

    def _find_question(self) -> str | None:
        """Return the question at the end of the message before, if that ends with one."""
        last = self.before.rstrip()
        if not last.endswith("?"):
            return None
        parts = _SENTENCE_END.split(last[-300:])
        question = next((part.strip() for part in reversed(parts) if part and part.strip()), "")
        question = question.rstrip("?").replace('"', "'") + "?"
        return question if 2 <= len(question.split()) <= 30 else None


def _put_ahead(span: DateSpan, said_at: Micros) -> DateSpan:
    """Return the date of a plan: a day without a year that is long past is that day of the next year."""
    today = day_of(said_at)
    named = span.relation in ("on", "until", "before") and span.distance is None and span.precision in ("day", "month")
    if not named or today - span.last < _LONG_PAST or today - span.last > timedelta(days=366):
        return span
    try:
        return replace(
            span, first=span.first.replace(year=span.first.year + 1), last=span.last.replace(year=span.last.year + 1)
        )
    except ValueError:
        # 29 February.
        return span


def _restore_subject(clause: str, reading: Reading) -> str:
    """Return a clause with the "I" that it leaves out: "Went to Graz", "don't drink coffee"."""
    if reading.attribute in _HABITS and reading.of_user and reading.kind != "RULE" and _HABIT.match(clause):
        return f"I {clause[:1].lower()}{clause[1:]}"
    restored = restore_subject(clause)
    return clause if restored != clause and _PASSIVE.match(clause) else restored


def _has_fitting_length(clause: str) -> bool:
    return (
        len(clause) <= _FAR
        and _FEWEST_WORDS - (_I_AM.match(clause) is not None) <= len(clause.split()) <= _MOST_WORDS
        and not clause.endswith("?")
        and not is_cut_off(clause)
    )


def _ends_in_emoji(words: str) -> bool:
    """Return whether emojis stand only at the end, or there are none: within a clause they are its commas."""
    return " ".join(words.split()).startswith(" ".join(remove_emoji(words).split()))


def _is_whole(clause: str) -> bool:
    """Return whether a clause is one sentence, with all of its brackets and quotation marks."""
    return (
        clause.count('"') % 2 == 0
        and clause.count("(") == clause.count(")")
        and _INNER_END.search(re.sub(r"\b(?:[Dd]r|[Mm]rs?|[Mm]s|[Ss]t|[Pp]rof|approx|ca|no|vs)\.", "", clause)) is None
    )


def _agree(found: re.Match[str]) -> str:
    """Return a name with its verb: "anything Assistant write" becomes "anything Assistant writes"."""
    verb = found[1]
    return found[0][: -len(verb)] + (verbs.to_third_person(verb) if verb in verbs.ALWAYS else verb)


def _tells_assistant(clause: str) -> bool:
    """Return whether a rule is worded as what the assistant does: "you can correct my mistakes"."""
    return re.match(r"(?:from now on,? |now |also )*you(?:'re| \w+)", clause, re.IGNORECASE) is not None


def _put_singular(clause: str, speaker: str, name: str) -> str:
    """Return a clause with "I" for "we", whose verbs the rewriter makes agree, and with names for "us" and "our"."""
    clause = re.sub(r"\b[Ww]e(?:'re| are)\b", "I'm", clause)
    clause = re.sub(r"\b[Ww]e were\b", "I was", clause)
    # "We pinned it, because it broke for us": "User's team pinned it, because it broke for them."
    later = "them" if name != speaker and _WE.match(clause) else name
    clause = re.sub(r"\b[Uu]s\b", later, clause)
    return _WE.sub("I", re.sub(r"\b[Oo]urs?\b", f"{speaker}'s", clause))


def _mask(clause: str) -> tuple[str, list[str]]:
    """Put stand-ins in the place of words that must stay as they are."""
    kept: list[str] = []
    pieces, done = [], 0
    for low, high in find_verbatim(clause):
        if low < done:
            continue
        pieces += [clause[done:low], _STAND_IN.format(len(kept))]
        kept.append(clause[low:high])
        done = high
    return "".join([*pieces, clause[done:]]), kept


def _unmask(text: str, kept: list[str]) -> str:
    for number in range(len(kept) - 1, -1, -1):
        text = text.replace(_STAND_IN.format(number), kept[number])
    return text
