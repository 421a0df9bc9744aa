"""The text of a fact: a template where the value is plain, the speaker's sentence in the third person where that is
certain, and an exact quote in all other cases.

A rewritten sentence that still holds a pronoun, or that lost its subject, is garbled; the speaker's own words are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longmind.clock import Micros
from longmind.extraction.reader.foreign_text import find_verbatim
from longmind.extraction.reader.reading import Reading
from longmind.extraction.rules.omitted_words import restore_subject
from longmind.extraction.rules.pronouns import PronounResolver
from longmind.extraction.rules.third_person import PersonRewriter
from longmind.extraction.slot_types import SLOT_TYPES
from longmind.language.chat_text import remove_emoji
from longmind.language.dates import find_dates, resolve_dates

_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f]+[\"')\]]*(?=\s|$)|\n+|;\s")
_CLAUSE_END = re.compile(
    r"[.!?;:\n()]|,\s|\s[-\u2013\u2014]+\s|\s(?=(?:and|but|so|because|cause|since|btw|though|although|while|then|cuz|coz|plus|except|or)\b)",
    re.IGNORECASE,
)
_MOST_WORDS = 32
_NEAR_WORDS = 4
"""Words between a stretch and the end of its clause that are taken along."""
_OPENING = re.compile(
    r"(?:\s*(?:(?:and|but|so|also|btw|by the way|oh|ah|well|ok|okay|yes|yeah|yep|yh|no|nope|nah|hey|hi|hello|lol|haha|hm+|um+|uh|plus|then|anyway|"
    r"actually|because|cause|cuz|coz|since|as|though|although|fyi|ps|p\.s\.|just so you know|for context|like i said|you know|i mean|that|which|"
    r"(?:pls|please) (?:note|remember|keep in mind)(?: that)?|note that|remember(?: that)?|one more thing|first|second|third|next)\b[ ,:.!-]*|"
    r"[-*\u2022\u2013>,:;.!)]+\s*|\(?\d{1,2}[.)]\s+))+",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:\s*[,\u2013-]?\s*\b(?:lol|haha+|btw|tho|thx|thanks|pls|please|you know|i guess|honestly|to be honest|tbh|right)\b)+[\s.!,]*$",
    re.I,
)
_TYPED = (
    (re.compile(r"(?<![\w'])[Ii]m(?=\s)"), "I'm"),
    (re.compile(r"(?<![\w'])[Ii]ve(?=\s)"), "I've"),
    (re.compile(r"(?<![\w'])[Ii]ll(?=\s)"), "I'll"),
    (re.compile(r"(?<![\w'])[Ii]d(?=\s(?:like|love|rather|prefer|never))"), "I'd"),
    (re.compile(r"\b([Dd])ont\b"), r"\1on't"),
    (re.compile(r"\b([Dd])oesnt\b"), r"\1oesn't"),
    (re.compile(r"\b([Dd])idnt\b"), r"\1idn't"),
    (re.compile(r"\b([Cc])ant\b"), r"\1an't"),
    (re.compile(r"\b([Ii])snt\b"), r"\1sn't"),
    (re.compile(r"\b([Ww])ont\b(?! to)"), r"\1on't"),
    (re.compile(r"(?<![\w'])i(?=\s|'|$)"), "I"),
)
_FIRST_PLURAL = re.compile(r"\b(?:we|us|our|ours|ourselves)\b", re.IGNORECASE)
_SECOND = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_LEFT_OVER = re.compile(r"(?<![\w'\u2019])(?:I|i|I'm|me|my|mine|we|us|our|you|your|ur|u|im|ive)(?![\w-])")
_UNCLEAR = re.compile(
    r"(?:it|this|that|these|those|they|them|their|he|she|his|her|him|there|here|one|ones|same|its|thats|that's|it's|he's|she's|they're|who|which|"
    r"what|when|where|how|why|to|of|for|in|on|at|with|from|by|about|than|if)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|be|been|has|have|had|does|do|did|will|would|can|could|should|must|may|might|never|always|don't|doesn't|didn't|"
    r"isn't|can't|cannot|won't|\w+s|\w+ed|\w+ing|went|got|made|took|came|met|bought|ate|found|left|ran|won|lost|read|wrote|spent|felt|began|built|"
    r"sold|drove|flew|swam|spoke|chose|broke|held|led|paid|put|sent|told|wore|grew|became|gave|moved|quit|use|keep|call|avoid|write|answer|stop)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"(?:please |pls |just |only |and |so )*(?:do not|don't|never|always|no|stop|avoid|use|keep|write|answer|reply|respond|call|give|send|show|put|make|"
    r"start|end|skip|leave|ask|tell|remind|include|add|be|speak|talk|format|explain|list|round|quote|cite|mention|check|assume|treat|stick|say|spell|"
    r"refer|address|translate|prefer|let|only)\b",
    re.IGNORECASE,
)
_PLAIN_VALUE = re.compile(r"[\w\u00c0-\u024f][\w\u00c0-\u024f@.+#&/' :()-]*")
_NOT_IN_VALUE = re.compile(
    r"\b(?:I|i|my|me|we|our|you|your|it|this|that|there|here|is|was|the same|same|again|now|not|no)\b"
)
_VALUE_FORM: dict[str, re.Pattern[str]] = {
    "name": re.compile(r"[^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*){0,3}"),
    "pronouns": re.compile(r"\w+/\w+(?:/\w+)?"),
    "age": re.compile(r"\d{1,3}"),
    "home": re.compile(r"[A-Z\u00c0-\u024f][\w\u00c0-\u024f' -]*(?:, [A-Z][\w' -]*)?"),
    "hometown": re.compile(r"[A-Z\u00c0-\u024f][\w\u00c0-\u024f' -]*(?:, [A-Z][\w' -]*)?"),
    "workplace": re.compile(r"[A-Z\u00c0-\u024f][\w\u00c0-\u024f'&. -]*"),
    "language": re.compile(r"[A-Z][a-z]+"),
    "relationship_status": re.compile(r"(?:married|single|divorced|engaged|widowed|separated)"),
    "allergy": re.compile(r"[a-z][a-z -]{2,30}"),
    "phone": re.compile(r"\+?[\d][\d ()/-]{4,20}"),
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "website": re.compile(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+\S*"),
    "birthday": re.compile(r"[\w., /-]*\d[\w., /-]*"),
}
"""The form of a value that a template may take in; other attributes are told in the speaker's words."""
_STAND_IN = "Xq{}q"


@dataclass
class StatementWriter:
    """Writes the texts of the facts in one message.

    before: the message that it answers.
    """

    text: str
    speaker: str
    addressee: str
    said_at: Micros
    before: str
    pronouns: PronounResolver

    def write(self, reading: Reading) -> str:
        """Return the text of one fact."""
        return self._fill_template(reading) or self._rewrite(reading) or self._quote(reading)

    def _fill_template(self, reading: Reading) -> str | None:
        """Return the text of a slot whose value is plain, or None."""
        slot = SLOT_TYPES.get(reading.attribute)
        if slot is None or slot.template is None or reading.value is None:
            return None
        if not reading.of_user or reading.negated or reading.unsure or reading.change == "ends":
            return None
        value = self.text[slice(*reading.value)].strip()
        form = _VALUE_FORM.get(reading.attribute)
        if form is None or form.fullmatch(value) is None or len(value.split()) > 5 or _NOT_IN_VALUE.search(value):
            return None
        words = len(self.text[reading.begins : reading.ends].split())
        if words > len(value.split()) + 7:
            # More than the value is said: the sentence keeps it.
            return None
        dated = resolve_dates(value, find_dates(value, self.said_at)) if reading.attribute == "birthday" else value
        text = slot.template.format(value=dated)
        return text.replace("User", self.speaker, 1) if self.speaker != "User" else text

    def _rewrite(self, reading: Reading) -> str | None:
        """Return the clause in the third person, or None if that is not certain to be right."""
        begins, ends = self.find_clause(reading)
        clause = _trim(" ".join(remove_emoji(self.text[begins:ends]).split()))
        if not clause or len(clause.split()) < 3 or len(clause.split()) > _MOST_WORDS or clause.endswith("?"):
            return None
        if clause.count('"') % 2 or clause.count("(") != clause.count(")"):
            return None
        masked, kept = _mask(clause)
        for pattern, typed in _TYPED:
            masked = pattern.sub(typed, masked)
        is_rule = reading.kind == "RULE" or (reading.kind == "PREFERENCE" and _IMPERATIVE.match(masked) is not None)
        if _FIRST_PLURAL.search(masked) and not self._can_name_group(reading, masked):
            return None
        if _SECOND.search(masked) and not is_rule:
            return None
        whole = restore_subject(masked)
        dated = resolve_dates(whole, find_dates(whole, self.said_at))
        company = None
        told = self._name_team(dated) if _FIRST_PLURAL.search(dated) else dated
        told = self.pronouns.resolve(PersonRewriter(self.speaker, self.addressee, company).rewrite(told))
        if _LEFT_OVER.search(told) or (_UNCLEAR.match(told) and not is_rule) or " and others" in told:
            return None
        if not is_rule and (self.addressee in told or not _VERB.search(told) or not self._has_subject(told)):
            return None
        told = _unmask(told, kept)
        return told[:1].upper() + told[1:] + ("" if told[-1:] in '.!?\u2026"' else ".")

    def _can_name_group(self, reading: Reading, masked: str) -> bool:
        """Return whether "we" is the team of the user, as in most statements on projects."""
        return (
            reading.category == "project"
            and re.search(r"\b(?:we|our)\b", masked, re.I) is not None
            and not re.search(r"\bus\b", masked, re.I)
        )

    def _name_team(self, text: str) -> str:
        """Put the team of the speaker in the place of "we"; it takes a verb in the singular."""
        text = re.sub(r"\b[Ww]e(?:'re| are)\b", f"{self.speaker}'s team is", text)
        text = re.sub(r"\b[Ww]e've\b", f"{self.speaker}'s team has", text)
        text = re.sub(r"\b[Ww]e'll\b", f"{self.speaker}'s team will", text)
        text = re.sub(r"\b[Oo]urs?\b", f"{self.speaker}'s", text)
        # The rewriter makes the verb after an "I" agree; the team is put in afterwards.
        rewritten = (
            PersonRewriter("Xqteamq", self.addressee).rewrite(re.sub(r"\b[Ww]e\b", "I", text))
            if re.search(r"\b[Ww]e\b", text) and not re.search(r"\bI\b|\bmy\b|\bme\b", text)
            else text
        )
        return rewritten.replace("Xqteamq", f"{self.speaker}'s team")

    def _has_subject(self, told: str) -> bool:
        """Return whether a sentence begins with what it is about."""
        if re.match(rf"{re.escape(self.speaker)}\b", told):
            return True
        first = told.split()[0]
        return (
            first[0].isupper()
            or re.match(r"(?:the|a|an|no|all|every|each|most|some|any|\d+)\b", told, re.I) is not None
            or f"{self.speaker}'s" in told
        )

    def find_clause(self, reading: Reading) -> tuple[int, int]:
        """Return the clause that a stretch belongs to: the words up to the next boundary, if they are few."""
        text = self.text
        begins, ends = reading.begins, reading.ends
        while (
            begins > 0
            and text[begins - 1 : begins + 1].strip()
            and text[begins - 1].isalnum()
            and text[begins].isalnum()
        ):
            begins -= 1
        while ends < len(text) and text[ends - 1].isalnum() and (text[ends].isalnum() or text[ends] in "'\u2019"):
            ends += 1
        window = max(0, begins - 80)
        bounds = [found.end() for found in _CLAUSE_END.finditer(text, window, begins)]
        start = bounds[-1] if bounds else (0 if window == 0 else begins)
        if len(text[start:begins].split()) <= _NEAR_WORDS:
            begins = start
        found = (
            _CLAUSE_END.search(text, ends, min(len(text), ends + 80))
            if ends and text[ends - 1] not in ".!?\n"
            else None
        )
        stop = found.start() if found else (len(text) if len(text) <= ends + 80 else ends)
        if ends and text[ends - 1] in ".!?\n":
            stop = ends
        if len(text[ends:stop].split()) <= _NEAR_WORDS:
            ends = stop
        return begins, ends

    def _quote(self, reading: Reading) -> str:
        """Return the speaker's words as a quotation, with the question that a short answer answers."""
        begins, ends = self.find_clause(reading)
        words = " ".join(self.text[begins:ends].split())
        words = (_trim(words) or words).replace('"', "'")
        dates = find_dates(words, self.said_at)
        told = f'{self.speaker}: "{resolve_dates(words, dates)}"'
        question = self._find_question()
        if question and len(words.split()) <= 7:
            return f'Asked "{question}", {told}'
        return told

    def _find_question(self) -> str | None:
        """Return the question at the end of the message before, if that ends with one."""
        last = self.before.rstrip()
        if not last.endswith("?"):
            return None
        parts = _SENTENCE_END.split(last[-300:])
        question = next((part.strip() for part in reversed(parts) if part and part.strip()), "")
        question = question.rstrip("?").replace('"', "'") + "?"
        return question if 2 <= len(question.split()) <= 30 else None


def _trim(clause: str) -> str:
    """Cut the words off that only lead to a clause, or away from it: "and btw", "lol"."""
    opening = _OPENING.match(clause)
    rest = clause[opening.end() :] if opening is not None else clause
    return _FILLER.sub("", rest).strip(" ,;:-\u2013")


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
