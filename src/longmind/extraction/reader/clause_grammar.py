"""Clauses of a chat: where they begin and end, and whether one can stand by itself in the third person."""

from __future__ import annotations

import re

from longmind.language import verbs
from longmind.language.vocabulary import PAST

_CLAUSE_END = re.compile(
    r"\n|[.!?;:()](?!\w)|,\s|\s[-\u2013\u2014]+\s|\s(?=(?:and|but|so|because|cause|since|btw|though|although|while|"
    r"then|"
    r"cuz|coz|plus|except|or)\b)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?]+[\"')\]]*(?=\s|$)|\n+")
_NEAR_WORDS = 4
"""Words between a stretch and the end of its clause that are taken along."""
_NEAR = 80
_FAR = 240
# Words that only lead to a statement. "No, …" is an answer, and "no more nights" is none.
_CONNECTIVES = (
    r"and|but|so+|also|btw|by the way|oh+|ah+|lol|haha|hm+|um+|uh|plus|anyway|fyi|ps|p\.s\.|because|cause|cuz|coz|"
    r"though|"
    r"although|just so you know|for context|for instance|like i said|as i said|you know|i mean|which means|did i say|"
    r"i (?:should|must|have to|gotta|ought to) (?:say|add|tell you)(?: that)?|that is to say|(?:please |pls )?(?:note|"
    r"remember|"
    r"keep in mind) that|"
    r"one more thing|another thing|omg|so yeah|yes|yeah|yep|yess+|in case it matters|especially (?=since|because)"
)
_ANSWERS = (
    r"well|ok|okay|yh|no|nope|nah|hey|hi|hello|actually|then|first|second|third|next|honestly|true|right|sure|fine|"
    r"good|"
    r"great|thanks|thank you|speaking of (?:[\w'-]+ ?){1,4}"
)
_SPOKEN = (
    r"ok|okay|no|nah|nope|listen|look|sure|then|finally|morning|hello|there|grand|now then|right|sir|well|lol|"
    r"perfect|fine"
)
_OPENING = re.compile(
    rf"(?:\s*(?:(?:{_CONNECTIVES})\b[ ,:.!-]*"
    rf"|(?:{_ANSWERS})[,:.!]+\s*|(?:(?:{_SPOKEN})[, ]+)+(?=(?:I|i'?m|my|we|i'?ve)\b)"
    # A reason is a statement: "since I recently upgraded my router".
    r"|(?:especially )?(?:since|given that|seeing that|the part where) (?=(?:i|i'?m|i've|we|we're|we've|my|our|the)\b)"
    r"|as (?=(?:i'?m|i am|i have|i've)\b)"
    r"|[-*\u2022\u2013>,:;.!)\u2026]+\s*|\(?\d{1,2}[.)]\s+))+",
    re.IGNORECASE,
)
# A question or a reference to the assistant that follows a statement.
_TO_ASSISTANT = re.compile(
    r",? (?:(?:and|so|but) )?(?:(?:i )?(?:was|am|i'?m|were) (?:just )?wondering (?:if|whether|what|how)\b.*|(?:can|"
    r"could|"
    r"would|do|would) (?:you|u)\b.*|(?:like|as) you (?:suggested|said|mentioned|recommended).{0,3})$",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:\s*[,\u2013-]?\s*\b(?:lol|haha+|btw|by the way|tho|thx|thanks|pls|please|you know|i guess|honestly|"
    r"to be honest|tbh|right|yes|ok|mate|remember that|just so you know)\b)+[\s.!,]*$",
    re.IGNORECASE,
)
_TYPED = (
    (re.compile(r"\u2019"), "'"),
    (re.compile(r"(?<![\w'])[Ii]m(?=\s)"), "I'm"),
    (re.compile(r"(?<![\w'])[Ii]ve(?=\s)"), "I've"),
    (
        re.compile(r"(?<![\w'])[Ii]ll(?=\s(?:be|have|go|get|do|take|need|try|make|see|start|send|bring|use|keep)\b)"),
        "I'll",
    ),
    (re.compile(r"(?<![\w'])[Ii]d(?=\s(?:like|love|rather|prefer|never))"), "I'd"),
    (re.compile(r"\b([Hh]e|[Ss]he)s(?=\s)"), r"\1's"),
    (re.compile(r"\b([Tt]hey|[Ww]e|[Yy]ou)re(?=\s(?!in\b))"), r"\1're"),
    (re.compile(r"\b([Dd])ont\b"), r"\1on't"),
    (re.compile(r"\b([Dd])oesnt\b"), r"\1oesn't"),
    (re.compile(r"\b([Dd])idnt\b"), r"\1idn't"),
    (re.compile(r"\b([Cc])ant\b"), r"\1an't"),
    (re.compile(r"\b([Ii])snt\b"), r"\1sn't"),
    (re.compile(r"\b([Ww])ont\b(?! to)"), r"\1on't"),
    (re.compile(r"(?<![\w'])i(?=\s|'|$|,)"), "I"),
    (re.compile(r"\bI should like\b"), "I would like"),
    (re.compile(r"\bI been\b"), "I've been"),
    (re.compile(r"\bI live for\b"), "I love"),
    (re.compile(r"\bI think I(?:'ll| will)\b"), "I will probably"),
)

_NO_NOUN = (
    r"I|i|you|he|she|it|they|we|who|which|that|when|if|because|so|but|cause|ones?|there|here|how|what|where|why|as|"
    r"than|thats|"
    r"that's|its|it's|"
    r"please|pls|me|him|them|us"
)
_AUXILIARY = (
    r"is|are|was|were|has|have|had|does|do|did|will|would|can|could|should|must|may|might|isn't|aren't|wasn't|weren't|"
    r"hasn't|haven't|hadn't|doesn't|don't|didn't|won't|wouldn't|can't|cannot|couldn't|shouldn't"
)
_SOMETIMES = (
    r"(?:(?:also|still|now|just|only|always|never|already|really|usually|often|sometimes|currently|recently|finally|"
    r"actually|probably|mostly|mainly|generally|both|all|even|again|once|too|\w{3,}ly) )*"
)
_PAST_FORMS = "|".join(sorted(PAST - {"used", "made", "given", "done", "gone", "based", "called", "left", "set"}))
_THIRD_FORMS = "|".join(sorted(verbs.to_third_person(each) for each in verbs.COMMON - {"like", "work", "need", "plan"}))
_BARE = (
    r"(?!(?i:not|and|or|but|no|yes|in|on|at|to|of|for|with|from|by|about|after|before|since|until|when|if|while|as|"
    r"than|"
    rf"that|this|these|those|then|now|also|just|only|always|never|please|all|any|some|both|more|most|less|maybe|"
    rf"{_NO_NOUN}|"
    rf"{_AUXILIARY}|my|our|your|his|her|its|their|said|got|been|being|\w+ing|\w+ed)\b)[A-Za-z][\w-]+"
)
"""A noun without an article: "staging db is on fennel"."""
_FINITE = rf"(?:{_AUXILIARY}|{_PAST_FORMS}|likes|works|needs|\w{{2,}}(?<!ne)ed|left|{_THIRD_FORMS})"
# "Since May I …", "on Fridays I …".
_LEAD_WORD = rf"(?!(?:{_NO_NOUN}|and|or|is|was|are|were|has|have)\b)[\w'.:&-]+"
_LEAD = (
    rf"(?:(?:since|until|from|in|on|at|every|each|by|next|last|this|before|after|for)(?: {_LEAD_WORD}){{1,6}}?,? |"
    r"(?:now|today|tonight|tomorrow|yesterday|lately|currently|usually|normally|recently|nowadays|sometimes|mostly|"
    r"once|"
    r"twice|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays|weekends|mornings|evenings)"
    rf"(?: {_LEAD_WORD}){{0,4}}?,? )?"
)
_FIRST_PERSON = re.compile(
    # "I do not, for the time being" leaves out what it is about.
    rf"{_LEAD}(?!I (?:do|did|have|am|was|will|can|would)(?:n't| not)?(?:[,.]|$| although))I(?:'(?:m|ve|d|"
    rf"ll)(?=\s(?!(?:I|my|we)\b)\S)|(?= {_SOMETIMES}(?!(?:and|or|my|the|a|an|I|in|on|at)\b)[a-z']+))",
    re.IGNORECASE,
)
_NOUN = rf"(?!(?:{_NO_NOUN}|{_AUXILIARY})\b)[\w'/&.-]+"
_DETERMINER = (
    r"(?:[Mm]y|[Oo]ur|[Tt]he|[Aa]n?|[Aa]ll|[Ee]very|[Ee]ach|[Bb]oth|[Ss]ome|[Nn]o|[Mm]ost|[Mm]r|[Mm]rs|[Dd]r)\.?"
)
_NAME = r"[A-Z][\w'.-]+(?: [A-Z][\w'.-]+){0,3}(?: (?:and|&) (?:my )?\w+)?"
_AFTER_VERB = r"(?=(?:to|me|my|an?|the|like|when|every|in|on|at|for|with|again|too)\b)"
_THIRD_PERSON = re.compile(
    rf"{_LEAD}(?:(?:{_DETERMINER} (?:{_NOUN},? ){{0,6}}?{_NOUN},?|{_NAME})"
    rf"(?:'s(?= (?:an?|the|in|at|on|from|not|now|been|got|still|also|\w+ing|\w+ed)\b)|'ll(?= \w)|"
    rf" {_SOMETIMES}{_FINITE}\b| {_SOMETIMES}\w{{3,}}s (?=(?:to|me|my|an?|the)\b))"
    rf"|[Mm]y (?:[\w-]+ )?[\w-]+(?<!s) \w{{3,}}s {_AFTER_VERB}"
    rf"|{_BARE}(?: {_BARE}){{0,2}} {_SOMETIMES}(?:is|are|was|were|has|have|had|does|doesn't|isn't|don't|can|can't|will|"
    r"won't|died|went|came|left|moved|started)\b)"
)
_IMPERATIVE = re.compile(
    r"(?:(?:please|pls|just|only|and|so|do|also|from now on|in future|always|generally),? )*(?:do not|don't|"
    r"never (?!been|had|was|again)\w+|no|stop|avoid|use|keep|"
    r"write|answer|reply|respond|call|give|send|show|put|make|start|end|skip|leave|ask|tell|remind|include|add|be|"
    r"speak|"
    r"talk|format|explain|list|round|quote|cite|mention|check|assume|treat|stick|say|spell|refer|address|translate|"
    r"let(?!'?s))\b",
    re.IGNORECASE,
)
# A clause that ends with one of these goes on.
_DANGLING = re.compile(
    r"\b(?:a|an|the|to|of|for|with|and|or|but|at|in|from|by|my|our|his|her|their|is|are|was|were|am|i'm|has|have|very|"
    r"that|"
    r"as|than|because|so|if|when|like)$",
    re.IGNORECASE,
)
# The beginning of a second sentence within a clause.
_NEXT_SENTENCE = re.compile(
    rf"(?:(?<=\s)I(?:'(?:m|ve|d|ll))?|(?<=\s)(?:he|she|they|we|it|that|this|there|you|(?:my|our|his|her|"
    rf"their) [\w-]+(?!'))"
    rf"(?:'(?:s|re|m|ve|ll|d)\b| (?:{_AUXILIARY})\b)|(?<=\s)(?:he|she|they|we) \w+|(?<=\s)(?:is|was|are|does|can|"
    r"should|would) (?:that|it|this|he|she|they|you))(?=\s|$)",
    re.IGNORECASE,
)
_CONNECTED = re.compile(
    r"(?:\b(?:and|but|so|because|cause|that|when|if|while|since|as|where|after|before|which|what|until|till|til|than|"
    r"though|or|how|why|who|whenever|once|unless|although|whether|plus|like|think|thinks|thought|hope|know|guess|"
    r"suppose|"
    r"believe|wish|sure|afraid|glad|said|says?|told \w+|decided|realis?zed|remember|mentioned|maybe|noticed|found|"
    r"because of|by the time|every time|now)|[,;:\u2013-])\s*$",
    re.IGNORECASE,
)
# "The woman I met": a noun, and what is said of it without "whom".
_NOUN_BEFORE = re.compile(
    r"\b(?:an?|the|my|some|any|every|all|other|new|first|last) (?:[\w'-]+ ){0,4}?[\w'-]{3,} $", re.IGNORECASE
)
_SAYS_OF_NOUN = re.compile(
    r"(?:I(?:'ve)? (?:just |once |also )?(?!am\b|was\b|will\b|have to\b|don't\b|can\b|did\b|would\b)[a-z]{2,}|"
    r"I'm \w+ing)\b"
)
_POINTING = re.compile(
    r"\b(?:it|its|it's|they|them|their|theirs|they're|those(?! (?:that|who|which|of|with|in))|these|here|there|that's|"
    r"itself|such)\b|"
    r"\bthis(?! (?:week|month|year|morning|evening|afternoon|weekend|summer|spring|autumn|fall|winter|time|coming|"
    r"mon|tues|wednes|thurs|fri|satur|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))\b|"
    r"\bthat(?= (?:is|was|will|one|way|day|thing|stuff|place|time)\b|[.,!]|$)|"
    r"\b(?:the|that|this|an?|old|new|other|bigger|smaller|same|last|first|next) ones?\b(?! (?:of|day|week))|"
    r"\b(?:the (?:old|new|first|second|last|next) (?=(?:is|was|has|works|still|will|got|went)\b)|the same|the other|"
    r"the latter|the former)\b|\b(?:with|about|of|for|like|after|than|before|do|does|did|done) that(?= (?!\w+ed)|$)",
    re.IGNORECASE,
)
# Nobody is an "it".
_THING = re.compile(
    r"\b(?:an?|the|my|our|all|every|some|both) (?:new |old )?(?!(?:mother|mom|mum|father|dad|wife|husband|partner|"
    r"sister|"
    r"brother|son|daughter|boss|friend|doctor|landlord|boyfriend|girlfriend|grand\w+|aunt|uncle|cousin)\b)[\w-]{2,}",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r",|;|\b(?:and|but|so|because|when|if|that|which|since|until|before|after|though)\b", re.IGNORECASE
)
_NEVER_NAMED = frozenset(("here", "there", "that's", "the same", "the other"))
_OWN_NAME = re.compile(r"(?<=\w )[A-Z][\w-]+")


def find_clause(text: str, begins: int, ends: int) -> tuple[int, int]:
    """Return the clause that a stretch belongs to: whole words, up to the next boundary if that is near."""
    first, last = begins - _NEAR, ends + _NEAR
    while begins > max(0, first) and _is_inside_word(text, begins):
        begins -= 1
    while ends < min(len(text), last) and _is_inside_word(text, ends):
        ends += 1
    window = max(0, begins - _NEAR)
    bounds = [found.end() for found in _CLAUSE_END.finditer(text, window, begins)]
    start = bounds[-1] if bounds else (0 if window == 0 else begins)
    if len(text[start:begins].split()) <= _NEAR_WORDS:
        begins = start
    if ends and text[ends - 1] in ".!?\n":
        return begins, ends
    found = _CLAUSE_END.search(text, max(0, ends - 1), min(len(text), ends + _NEAR))
    stop = max(ends, found.start()) if found else (len(text) if len(text) <= ends + _NEAR else ends)
    return begins, stop if len(text[ends:stop].split()) <= _NEAR_WORDS else ends


def find_sentence(text: str, begins: int, ends: int) -> tuple[int, int]:
    """Return the sentence around a stretch, or as much of it as is near."""
    window = max(0, begins - _FAR)
    bounds = [found.end() for found in _SENTENCE_END.finditer(text, window, begins)]
    start = bounds[-1] if bounds else (0 if window == 0 else begins)
    if ends and text[ends - 1] in ".!?\n":
        return start, ends
    found = _SENTENCE_END.search(text, ends, min(len(text), ends + _FAR))
    return start, found.start() if found else (len(text) if len(text) <= ends + _FAR else ends)


def trim_clause(clause: str) -> str:
    """Cut the words off that only lead to a clause, or away from it: "and btw", "lol"."""
    opening = _OPENING.match(clause)
    rest = clause[opening.end() :] if opening is not None else clause
    rest = _FILLER.sub("", _TO_ASSISTANT.sub("", rest)).strip(" ,;:-\u2013")
    return rest if len(rest.split()) > 1 else clause.strip(" ,;:-\u2013")


def correct_typing(clause: str) -> str:
    """Return a clause with the apostrophes and capitals that are left out in chats, as far as that is certain."""
    for pattern, typed in _TYPED:
        clause = pattern.sub(typed, clause)
    return clause


def is_cut_off(clause: str) -> bool:
    """Return whether a clause ends with a word after which another must follow."""
    return _DANGLING.search(clause.rstrip(" .!")) is not None


def is_imperative(clause: str) -> bool:
    """Return whether a clause asks the assistant to do something."""
    return _IMPERATIVE.match(clause) is not None


def is_first_person(clause: str) -> bool:
    """Return whether a clause is a sentence about its speaker: "Since May I live in Graz"."""
    return _FIRST_PERSON.match(clause) is not None


def is_statement(clause: str) -> bool:
    """Return whether a clause has a subject that can be understood, and a verb."""
    return is_first_person(clause) or _THIRD_PERSON.match(clause) is not None


def is_run_on(clause: str, *, spoken: bool = False) -> bool:
    """Return whether a second sentence begins in a clause without a word that connects them.

    spoken: True for a text without commas and full stops, in which any noun may be the end of a sentence.
    """
    first = _FIRST_PERSON.match(clause) or _THIRD_PERSON.match(clause)
    start = first.end() if first is not None else 1
    return any(
        not _CONNECTED.search(clause, max(0, found.start() - 40), found.start())
        and (spoken or not _is_relative(clause, found.start()))
        for found in _NEXT_SENTENCE.finditer(clause, start)
    )


def _is_relative(clause: str, place: int) -> bool:
    """Return whether an "I" belongs to the noun before it: "the woman I met"."""
    return _NOUN_BEFORE.search(clause, 0, place) is not None and _SAYS_OF_NOUN.match(clause, place) is not None


def points_elsewhere(clause: str) -> bool:
    """Return whether a clause has an "it" or "they" for something that it does not name itself."""
    return any(
        found[0].lower() in _NEVER_NAMED or not _names_thing(clause[: found.start()])
        for found in _POINTING.finditer(clause)
    )


def _names_thing(before: str) -> bool:
    """Return whether an "it" after these words is a thing that they name, other than the subject of its own "
    "sentence."""
    found = _THING.search(before) or _OWN_NAME.search(before)
    return found is not None and (found.start() > 0 or _JOINED.search(before, found.end()) is not None)


def _is_inside_word(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    return (before.isalnum() or before in "'\u2019") and (after.isalnum() or after in "'\u2019")
