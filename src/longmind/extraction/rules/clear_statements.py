"""Statements that are clear by themselves, apart from those that only look like facts.

"I just LOVE reinstalling drivers" is no preference, "here in Dallas you need a car" is about nobody, and "I sold it"
says nothing without the sentence before. The rules leave such sentences out: their words stay findable as passages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FEWEST_WORDS = 2
_MOST_WORDS = 40
_MOST_WORDS_UNSPLIT = 22
_CLAUSE = re.compile(r"(?:,? (?:and|but|so)|[,;]| -| \u2013| \u2014) (?=(?:I|I['\u2019]\w+|my|we|our) )", re.IGNORECASE)
# "I'm allergic to nuts, so please never suggest them."
_RULE_CLAUSE = re.compile(
    r"[,;]? so (?=(?:please |pls )?(?:always|never) \w)|[,;]? (?=(?:please|pls) (?:always|never) \w)"
)
# A request that follows a statement in the same sentence: "…, and I was wondering if you could help".
_ASIDE = re.compile(
    r"(?:,|;| -| \u2013| \u2014)?(?: (?:and|so|but))*,? (?:(?:[Ii]['\u2019]m|[Ii] am|[Ii] was|"
    r"just) (?:just )?(?:wondering|"
    r"curious|looking for (?:some|any|a few|your|advice|suggestions|tips|recommendations|ideas))|(?:can|could|would|"
    r"will) you|do you|please(?! (?:always|never|don)\b)|pls(?! (?:always|never|don)\b)|if you (?:want|need|like)|"
    r"just so you know|any (?:tips|ideas|advice|suggestions|recommendations)|(?:[Ii]['\u2019]d|[Ii] would) "
    r"(?:love|like|appreciate) (?:your|some|any|to (?:hear|get|know|see))|[Ii] need (?:your|some) (?:help|advice)|"
    r"let me "
    r"know|(?:what|how|which|where) (?:do|can|should|would|is|are)(?! (?:at|on) \d)|thanks|"
    r"thank you|(?:nice|good|pleased|great) to "
    r"meet you)\b.*"
)
# "Since I'm vegan", of which the question is split off.
_REASON = re.compile(
    r"(?:since|because|as|given that|given|considering(?: that)?) (?=(?:I|my|we|our)\b)(?!.*, (?:I|my|we|our|it)\b)",
    re.IGNORECASE,
)
# "I'm really proud, my fastest swim is 29 minutes": what follows holds beyond the moment.
_OPENING = re.compile(
    r"(?:(?:I['\u2019]m|I am) (?:so |really |very |just )*(?:proud|happy|excited|glad|pleased)|"
    r"(?:I|[Ww]e)(?:['\u2019]ve)? (?:just |finally )?moved), (?=(?:my|our|I)\b)"
)
# "I'm thinking about insurance, since I now have 130 records".
_LASTING_REASON = re.compile(r", (?:since|because) (?=I (?:now|usually|always|currently) \w)")
_SARCASTIC = re.compile(
    r"\b(?:lo{2,}ve[sd]?|LOVE[SD]?|SO HAPPY|THRILLED|DELIGHTED)\b|\bjust (?:love|adore) (?:it when|how|when|\w+ing)\b"
    r"|\b(?:love|loved) (?:it when|how)\b|\byeah,? right\b|\bsure,? because\b|\bas if\b|\b(?:so|"
    r"such) (?:much )?fun[.!]*$"
    r"|\bmy (?:absolute )?favou?rite (?:thing|part|hobby|pastime)\b|\b[Oo]h,? (?:how|what|great|joy|lovely|wonderful|"
    r"fantastic|fun)\b|\bjust what i (?:needed|wanted)\b|/s\b"
)
# What is not stated, but denied, believed by others, or only supposed.
_NOT_STATED = re.compile(
    r"\b(?:thinks|believes|assumes|claims|hopes|pretends) (?:that )?(?:i|we|my)\b|"
    r"\b(?:never|didn['\u2019]t|not) (?:say|said|true|claim(?:ed)?|mean)\b|\b(?:if i|i['\u2019]d (?:be|have)|i wish|"
    r"would have|could have|should have|would['\u2019]ve|could['\u2019]ve|should['\u2019]ve|i should|i could|"
    r"i would(?! (?:like|love|rather|prefer))|pretend\w*|imagin\w+|hypothetical\w*|just kidding|kidding|joking|"
    r"what if)\b"
    r"|^(?:neither|nobody|no one|none of)\b|\b(?:variable|index|counter|loop|parameter|iterator|subscript) i\b"
    r"|(?<!and )\bi (?:is|are|equals)\b|\bi ?(?:[=<>+]|\+\+)",
    re.IGNORECASE,
)
# The words of somebody else: "Eve wrote: always pay Eve first".
_REPORTED = re.compile(
    r"\b(?:says?|said|told (?:me|us|him|her)|writes|wrote|reads?|asks?|asked|replied|answered|states?|"
    r"goes)\s*[:\"\u201c]"
)
# A comment in code.
_COMMENT = re.compile(r"\s*(?://|TODO\b|FIXME\b)|.*\w\(\)")
# What belongs to this conversation, or to this moment.
_OF_CHAT = re.compile(
    r"\b(?:this (?:chat|conversation|question|answer|reply|code|text|topic|list|error|issue|prompt|task)|"
    r"the (?:above|below|following|example|link|snippet|code|list|suggestions?|recommendations?|information|tips|"
    r"advice|table|chart)|your|yours|yourself|you|ya|u|ur|y['\u2019]?all)\b|^You"
)
_MOMENT = re.compile(
    r"\bi(?:['\u2019]m| am| feel|['\u2019]m feeling) (?:so |really |very |just |a bit |a little |kinda |pretty |"
    r"feeling )*(?:running late|in a (?:hurry|rush)|tired|hungry|bored|happy|sad|glad|excited|sorry|stuck|confused|"
    r"curious|sure|afraid|worried|"
    r"fine|good|ok|okay|great|ready|here|back|done|late|busy|grateful|thankful|proud)\b|\bi(?:['\u2019]m|"
    r" am) (?:currently "
    r"|just )?(?:trying|wondering|asking|looking(?! forward| for (?:an? )?(?:new )?(?:job|flat|apartment|house|place|"
    r"room|roommate|car|dog)\b)|getting (?:an?|this|the)|seeing (?:an?|the|this) (?:error|issue|warning|message))\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"(?:it|this|that|these|those|they|them|their|its|there|then|here|which|such|one|he|she|his|her|him)"
    r"(?:['\u2019]\w+)?\b",
    re.IGNORECASE,
)
_FIRST_CLAUSE = re.compile(r"[^,;]*?(?=[,;]| (?:and|but|because|so|since|which|who)\b|$)")
# "I sold it last week": what was sold?
_BARE_OBJECT = re.compile(
    r" (?:it|them|this|that|these|those|one|there|the (?:other|same|first|second|last) one)(?=[.!,;)]|$| (?:for|to|at|"
    r"in|on|"
    r"with|last|yesterday|today|again|now|since|too|as|from|off|out|up|all|very|so|a lot|\())"
)
_THIRD = re.compile(r"\b(?:he|she|him|her|hers|his|they|their|theirs)\b", re.IGNORECASE)
_SOMEBODY = re.compile(
    r"['\u2019]s [a-z]|\b(?!User\b|I\b)[A-Z][a-z]+|\b(?:a|an|the|two|three|some|many|people|kids|friends)\b"
)


def cut_aside(sentence: str) -> str:
    """Return a sentence without the request that it ends with, and without the "since" or the feeling before it."""
    reason = _REASON.match(sentence) or _OPENING.match(sentence)
    if reason is not None:
        sentence = sentence[reason.end() :]
    found = _ASIDE.search(sentence)
    if found is None or len(sentence[: found.start()].split()) < _FEWEST_WORDS:
        return sentence
    return sentence[: found.start()].rstrip(" ,;-\u2013\u2014") + "."


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a long sentence that each begin with their speaker, or a short sentence as it is.

    A rule that follows from a statement is always a clause of its own, and so is a reason that lasts.
    """
    stated, *rule = _RULE_CLAUSE.split(sentence, maxsplit=1)
    if rule:
        return list(_join_short([*split_clauses(stated), *rule]))
    told, *reason = _LASTING_REASON.split(sentence, maxsplit=1)
    if reason:
        return list(_join_short([told, *reason]))
    if len(sentence.split()) <= _MOST_WORDS_UNSPLIT:
        return [sentence]
    return list(_join_short(_CLAUSE.split(sentence)))


def _join_short(clauses: list[str]) -> Iterator[str]:
    """Yield clauses, each with a capital letter and an end."""
    for clause in clauses:
        bare = clause.strip()
        if bare:
            yield bare[:1].upper() + bare[1:] + ("" if bare[-1] in ".!?" else ".")


def is_in_earnest(sentence: str) -> bool:
    """Return whether a sentence is of a length that can be read, and neither sarcastic nor what somebody else says."""
    return (
        _FEWEST_WORDS <= len(sentence.split()) <= _MOST_WORDS
        and _SARCASTIC.search(sentence) is None
        and _REPORTED.search(sentence) is None
        and _COMMENT.match(sentence) is None
        and not sentence.endswith((":", "..."))
    )


def is_stated(sentence: str, *, to_a_person: bool) -> bool:
    """Return whether a sentence states what holds beyond this moment and this conversation.

    to_a_person: whether "you" is a person with a name; elsewhere it is the assistant, or anybody.
    """
    return (
        _NOT_STATED.search(sentence) is None
        and _MOMENT.search(sentence) is None
        and (to_a_person or _OF_CHAT.search(sentence) is None)
    )


def is_self_contained(text: str, speaker: str) -> bool:
    """Return whether a sentence in the third person says who and what it is about."""
    if _POINTING.match(text):
        return False
    third = _THIRD.search(text)
    if third is not None and _SOMEBODY.search(text[: third.start()].replace(speaker, "User")) is None:
        return False
    first = _FIRST_CLAUSE.match(text)
    return first is None or _BARE_OBJECT.search(first[0]) is None
