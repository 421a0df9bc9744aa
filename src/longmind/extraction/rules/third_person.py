"""First and second person replaced by names, with verbs that agree: "I prefer tea" becomes "User prefers tea".

Text in quotation marks stays as it is, and so do titles and numerals: "What Do You Meme", "World War I". "We" becomes
the speaker and their company where the sentence names it ("with my sister"), else "User and others".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longmind.language import verbs
from longmind.language.numbers import is_roman_numeral

_ADVERBS = (
    r"(?:(?:[a-z]{3,}ly|always|never|also|just|still|often|sometimes|already|now|even|ever|almost|only|too|first|kinda|"
    r"sorta|sort of|kind of|recently|once|currently|both|all|then|again|so|quite|very much|soon|seldom|sure|myself|"
    r"personally|no longer|hardly|generally|typically|mostly|mainly|once again|finally),?\s+)*"
)
_AUXILIARY = (
    r"(?:[Aa]m|[Aa]re|[Ww]as|[Ww]ere|[Dd]o|[Dd]id|[Dd]on['\u2019]?t|[Dd]idn['\u2019]?t|[Hh]ave|[Hh]ad|"
    r"[Hh]aven['\u2019]?t|[Cc]an|[Cc]ould|[Cc]an['\u2019]?t|[Ww]ill|[Ww]ould|[Ss]hould|"
    r"[Ss]hall|[Mm]ust|[Mm]ay|[Mm]ight)"
)
# An inverted verb belongs to the pronoun only where the clause begins with it or with what calls for inversion.
_INVERTED = rf"(?:(?P<inverted>(?:^|(?<=[,;:(] )|(?<=\b[Nn]or )|(?<=\b[Ss]o ))\b{_AUXILIARY})\s+)?"
# A pronoun with its clitic and verb, or a possessive or object form.
_PERSON = re.compile(
    rf"{_INVERTED}"
    r"(?:(?<![\w'\u2019.-])(?P<subject>I|i(?!\.)|[Yy]ou|YOU|[Ww]e|WE)(?:['\u2019](?P<clitic>m|ve|ll|d|re|s))?"
    rf"(?![\w'\u2019/-])(?:(?P<gap>\s+{_ADVERBS})(?P<verb>(?!(?:I|my|me|you|your|we|us|"
    r"our)\b)[A-Za-z]+(?:['\u2019][a-z]+)?))?"
    r"|(?<![\w'\u2019-])(?P<owner>[Mm]y|MY|[Yy]our|[Oo]ur|[Mm]ine|[Yy]ours|[Oo]urs|[Mm]e|[Uu]s|[Mm]yself|[Yy]ourself|"
    r"[Oo]urselves)(?![\w'\u2019-]))"
)
# Text in quotation marks, which is another's own words.
QUOTED = re.compile("(\"[^\"]*\"|\u201c[^\u201d]*\u201d|(?<!\\w)'[^']{3,}?[.,!?\\w]'(?![\\w]))")
# Words before a "you" that is an object: "thank you".
_OBJECT_BEFORE = re.compile(
    r"\b(?:for|to|with|of|about|from|at|on|by|than|between|thanks?|see|tell|told|ask|asked|give|gave|show|showed|help|"
    r"helped|helping|wish|owe|send|sent|love|miss|join|behind|near|around|without|after|"
    r"before|support|let|like|and)\s+$",
    re.IGNORECASE,
)
# Inside a sentence, where a capital letter marks a title.
_INSIDE = re.compile(r"[\w,] $")
# "My sister and" before an "I".
_GROUP_BEFORE = re.compile(
    r"(?:^|[,;:.!?-]\s*|\b(?:when|that|because|so|but|if|where|while|since|as|and|think|said|know|hope|then|until)\s+)"
    r"(?P<with>(?:(?:[Mm]y|[Oo]ur|[Tt]he|[Hh]is|[Hh]er|[Tt]heir)\s+(?:[\w-]+\s+){1,2}(?:[A-Z]\w+\s+)?|"
    r"(?!And\b|But\b|So\b)[A-Z]\w+\s+)(?:and|&)\s+)$"
)
# "with my sister Anna".
_TOGETHER = re.compile(
    r"\bwith\s+(?P<with>(?:my|our)\s+(?:[a-z-]+\s+)?(?:wife|husband|partner|girlfriend|"
    r"boyfriend|fianc\u00e9e?|kids?|children|"
    r"family|friends?|sister|brother|parents|mom|mum|dad|mother|father|son|daughter|team|colleagues?|roommates?|"
    r"cousins?|dog|students|coworkers|neighbou?rs?|buddy|buddies)(?:\s+[A-Z]\w+)?|[A-Z][a-z]+)\b"
)
# A further verb of the same subject: "I cook and bake".
_COORDINATED = re.compile(
    rf"(?P<before>(?:,\s*(?=.*\band\b))?(?:(?<=,)\s|(?:,\s*)?\b(?:and|but|or|then)\s+)(?:then\s+)?{_ADVERBS})"
    r"(?P<verb>[a-z]+)(?P<plain>\s+(?:a|an|the|my|your|his|her|our|their|it|them|him|"
    r"me|you|this|that|these|those|in|on|at|to|as|for|with|from|"
    r"about|of|up|out|every|all|some|any|no|more|lots?|[A-Z]|\d)|\s*[.,!;]|\s*$)?"
)
# Words after which a verb stays in its base form.
_NO_AGREEMENT = re.compile(
    r"\b(?:to|can|could|will|would|should|must|may|might|don't|didn't|doesn't|not)\b|n['\u2019]t\b"
)
# Verbs whose objects are often words that could be verbs.
_VERBS_OF_TASTE = frozenset("like love enjoy hate prefer adore dislike".split())
# The end of the words that belong to a verb.
_CLAUSE_END = re.compile(r"[.;!?:]|\b(?:I|he|she|they|it|who|which|that|you|we|there)\b")


@dataclass(frozen=True)
class PersonRewriter:
    """Replaces "I" by the speaker, "you" by the addressee, and "we" by the speaker and their company."""

    speaker: str
    addressee: str
    company: str | None = None

    def rewrite(self, sentence: str, *, hypothetical: bool = False) -> str:
        """Return the sentence in the third person.

        hypothetical: keep "were", as in "if User were".
        """
        if '"' not in sentence and "\u201c" not in sentence and "'" not in sentence:
            return self._rewrite(sentence, hypothetical)
        parts = QUOTED.split(sentence)
        return "".join(
            part if place % 2 else self._rewrite(part, hypothetical) for place, part in enumerate(parts) if part
        )

    def with_company(self, sentence: str) -> PersonRewriter:
        """Return a rewriter that knows the company which the sentence names, or this one where it names none."""
        found = _TOGETHER.search(sentence) if "with " in sentence else None
        if found is None and (" and I" in sentence or " & I" in sentence):
            found = next(
                (
                    before
                    for i in re.finditer(r"\bI\b", sentence)
                    if (before := _GROUP_BEFORE.search(sentence[: i.start()]))
                ),
                None,
            )
        if found is None:
            return self
        company = re.sub(r"\s+(?:and|&)\s*$", "", found["with"].strip())
        return PersonRewriter(
            self.speaker,
            self.addressee,
            self._rewrite(company[:1].lower() + company[1:], False)
            if company[:3].lower() in ("my ", "our")
            else company,
        )

    def _rewrite(self, text: str, hypothetical: bool) -> str:
        """Rewrite text without quotations, pronoun by pronoun from the left."""
        pieces: list[str] = []
        done = 0
        while (found := _PERSON.search(text, done)) is not None:
            word = found["owner"] or found["subject"]
            if (
                word[0].isupper()
                and word not in ("I", "MY", "WE", "YOU")
                and _INSIDE.search(text, 0, found.end() - len(found[0]))
            ):
                # A title: "What Do You Meme".
                pieces.append(text[done : found.end()])
                done = found.end()
                continue
            if word == "I" and not found["clitic"] and is_roman_numeral(text, *found.span("subject")):
                pieces.append(text[done : found.end("subject")])
                done = found.end("subject")
                continue
            pieces.append(text[done : found.start()])
            done = found.end()
            if found["owner"] is not None:
                pieces.append(
                    (found["inverted"] or "") + (" " if found["inverted"] else "") + self._replace_owner(found["owner"])
                )
                continue
            replaced, tail_from = self._replace_subject(found, text, hypothetical)
            pieces.append(replaced)
            if tail_from:
                stop = _CLAUSE_END.search(text, done)
                end = stop.start() if stop else len(text)
                following = _PERSON.search(text, done)
                if following is not None:
                    end = min(end, following.start()) if following["subject"] else end
                pieces.append(
                    self._rewrite_tail(text[done:end], is_taste=(found["verb"] or "").lower() in _VERBS_OF_TASTE)
                )
                done = end
        pieces.append(text[done:])
        return "".join(pieces).replace(" gonna ", " going to ")

    def _rewrite_tail(self, tail: str, *, is_taste: bool) -> str:
        """Rewrite the words after an inflected verb, with the further verbs that "and" adds: "I cook and bake".

        A word alone at the end of what somebody likes is another thing they like, not a verb: "I love food and travel".
        """

        def agree(found: re.Match[str]) -> str:
            known = verbs.COMMON if found["plain"] is not None else verbs.ALWAYS
            alone = not (found["plain"] or "").strip(" .,!;")
            if found["verb"] not in known or (is_taste and alone) or _NO_AGREEMENT.search(tail, 0, found.start()):
                return found[0]
            return found["before"] + verbs.agree_verb(found["verb"], tail) + (found["plain"] or "")

        return self._rewrite(_COORDINATED.sub(agree, tail), False)

    def _replace_owner(self, word: str) -> str:
        """Return the words for "my", "your", "me", "us" and the like."""
        small = word.lower()
        if small in ("my", "mine", "our", "ours"):
            return f"{self.speaker}'s"
        if small in ("your", "yours"):
            return f"{self.addressee}'s"
        if small == "me":
            return self.speaker
        if small == "us":
            return self._name_group()
        return "themselves"

    def _name_group(self) -> str:
        """Return the words for "we"."""
        return f"{self.speaker} and {self.company or 'others'}"

    def _replace_subject(self, found: re.Match[str], text: str, hypothetical: bool) -> tuple[str, bool]:
        """Return the words for a pronoun and its verb, and whether the verb was put into the third person present.

        If it was, the verbs that follow it have to agree as well.
        """
        word = found["subject"].lower()
        clitic = found["clitic"] or ""
        gap, verb = found["gap"] or "", found["verb"] or ""
        rest = gap + verb
        if word == "we":
            return self._invert(found, self._name_group(), plural=True) + _PLURAL.get(clitic, "") + rest, False
        name = self.speaker if word == "i" else self.addressee
        before = text[: found.start("subject")]
        if word == "you" and not clitic and (_is_object(before) or not verbs.can_be_verb(verb.lower())):
            return self._invert(found, name) + rest, False
        if word == "i" and (_GROUP_BEFORE.search(before) and not clitic):
            return name + rest, False
        if clitic == "d":
            had = verb.lower() in ("better", "been") or (verb and verbs.is_past_form(verb.lower(), text))
            return f"{name} {'had' if had else 'would'}{rest}", False
        if clitic:
            return f"{name}{_SINGLE[clitic]}{_expand_contraction(gap, verb)}", False
        if found["inverted"]:
            return self._invert(found, name) + rest, False
        if not verb:
            return name, False
        if hypothetical and verb.lower() in ("were", "weren't"):
            return name + rest, False
        agreed = verbs.agree_verb(verb, text)
        return name + gap + agreed, agreed != verb and not agreed.startswith(("is", "was", "does"))

    def _invert(self, found: re.Match[str], name: str, *, plural: bool = False) -> str:
        """Return a name after the auxiliary that stood before the pronoun: "Am I" is "Is User"."""
        auxiliary = found["inverted"]
        if not auxiliary:
            return name
        agreed = auxiliary if plural else verbs.agree_verb(auxiliary, "")
        return (agreed.capitalize() if auxiliary[0].isupper() else agreed) + " " + name


def _is_object(before: str) -> bool:
    """Return whether a "you" after these words is an object: "I asked you"."""
    if _OBJECT_BEFORE.search(before):
        return True
    last = before.split()[-1].lower() if before.endswith(" ") and before.strip() else ""
    if last in verbs.OF_THOUGHT:
        return False
    return last in verbs.COMMON or last.endswith(("ing", "ken", "ven")) or verbs.is_past_form(last, "")


_SINGLE = {"m": " is", "re": " is", "ve": " has", "ll": " will", "s": "'s"}
_PLURAL = {"re": " are", "ve": " have", "ll": " will", "d": " would", "m": " are", "s": "'s"}


def _expand_contraction(gap: str, verb: str) -> str:
    """Return a verb after a clitic in full: "I'm gonna" is "User is going to"."""
    return gap + {"gonna": "going to", "gotta": "got to"}.get(verb.lower(), verb)
