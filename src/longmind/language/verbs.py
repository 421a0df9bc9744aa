"""English verbs: the third person singular, past forms, and the tense of a whole sentence.

Nothing is parsed. Lists of irregular forms and the words near the beginning of a sentence decide; that is right for
the short sentences of chats and takes microseconds.

`MODALS` never change their form. `COMMON` and `ALWAYS` say which words after "and" continue the verb before it: any of
the first before an object, a preposition or the end of the clause ("I cook and bake bread"), only the second before
any other word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from longmind.language.vocabulary import PAST, USER

MODALS = frozenset(
    "can could will would shall should must may might cannot can't cant couldn't won't wont wouldn't shouldn't mustn't "
    "mightn't shan't ought ain't 'll 'd needn't dare".split()
)

_THIRD = {
    "am": "is",
    "are": "is",
    "were": "was",
    "weren't": "wasn't",
    "aren't": "isn't",
    "have": "has",
    "haven't": "hasn't",
    "havent": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "dont": "doesn't",
    "go": "goes",
    "wanna": "wants to",
    "gotta": "has to",
    "gonna": "is going to",
    "ain't": "isn't",
}

_PAST = frozenset(
    "was wasn't had hadn't did didn't didnt went saw got made took came said told thought "
    "knew felt left kept found gave "
    "became began brought bought built caught chose drew drank drove ate fell fed fought "
    "flew forgot forgave froze grew "
    "hung heard held hid kept laid led lent lay lit lost meant met paid rode rang rose ran sent sang sat slept spoke "
    "spent stood stole stuck struck swam swore swept swung taught tore threw understood woke wore won wrote bent "
    "blew broke dealt dug dreamt learnt leant burnt spelt spilt spoilt smelt shook shone "
    "shot sank slid sold sought spun "
    "sprang stank strove undertook overcame overheard oversaw withdrew been done gone used wound wept bit bled bred "
    "arose awoke bound clung crept dwelt fled flung ground knelt leapt mistook outgrew rebuilt redid retook rewrote "
    "shrank slew sewed sped spat strode stung undid upheld wove wrung relearned snuck dove pled hit".split()
)
_FALSE_PAST = frozenset(
    "need feed breed speed seed exceed proceed succeed heed weed bleed embed shed wed red bed".split()
)
_SAME_IN_PAST = frozenset("read put cut let set hurt cost quit shut spread split burst cast beat fit upset".split())
_HABIT = re.compile(
    r"\b(?:always|usually|often|regularly|frequently|lately|sometimes|never|rarely|every|"
    r"each|daily|weekly|mostly|a lot|twice|once an?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days|mornings|evenings|nights|weekends)\b",
    re.IGNORECASE,
)

_NO_VERB = frozenset(
    "and or but nor who whom which that the a an my your his her our their in on at of for from with to by as if than "
    "then when where while because since so too both all either not no yes me him them us it this these those i you he "
    "she we they guys folks".split()
)

COMMON = frozenset(
    "accept add admire adore agree allow appreciate ask attend avoid bake be believe "
    "bike blog bring brush build buy call "
    "camp care carry catch celebrate change check choose clean climb coach code collect come commute complete compose "
    "consider cook create cycle dance deal decide deliver depend design dislike dive "
    "do draw dream dress drink drive eat "
    "edit encourage enjoy exercise expect explore feed feel fight find finish fish fly "
    "focus follow forget garden get give "
    "go grow handle hate have head hear help hike hold hope host invest jog join keep "
    "knit know lead learn leave lend let "
    "lift like listen live look lose love make manage meditate meet mentor miss move need offer organise organize own "
    "paint pay perform pick plan plant play practice practise pray prefer prepare protect pull push put raise read "
    "recommend relax remember rent ride run save say see sell send sew share shop sing "
    "sit sketch ski sleep smoke speak "
    "spend stand start stay study suffer support surf swim take talk teach tell tend think train travel treat try "
    "understand update use value visit volunteer wait wake walk want wash watch wear "
    "weigh win wish work worry write".split()
)
"""Base forms that are verbs so often that one after "and" continues the verb before it: "I cook and bake"."""

ALWAYS = frozenset(
    "accept adore agree allow appreciate attend avoid bake believe bring celebrate choose collect come commute compose "
    "consider create decide deliver depend dislike draw eat enjoy explore feed feel forget get give go grow hate hear "
    "invest jog join keep knit know learn lend listen live lose make manage meditate meet own perform prefer prepare "
    "protect read recommend relax remember say see sell send sew sing sit speak spend suffer swim take teach tell tend "
    "think try understand volunteer want wear write".split()
)
"""The base forms among them that are hardly ever anything but verbs."""

OF_THOUGHT = frozenset(
    "hope think know believe say wish feel understand remember expect hear agree guess bet mean see notice thinking "
    "hoping knowing saying hoped thought knew believed said wished felt understood remembered expected heard agreed "
    "guessed meant noticed mentioned realized realised excited thrilled pleased relieved amazed "
    "impressed surprised".split()
)
"""Verbs that a whole sentence follows: "I hope you like it"."""

# An event in the perfect ("has bought", "have just seen"), or one that did not take place ("didn't go").
_EVENT = re.compile(
    r"\b(?:has|have) (?:(?:just|already|also|now|finally|recently|\w+ly) )*(?!been\b|had\b|need)"
    rf"(?:[a-z]+ed|{'|'.join(sorted(PAST - {'had', 'was', 'were', 'did', 'used'}))}|gone|done|seen|taken|eaten|written|"
    r"broken|forgotten|fallen|given|chosen|driven|flown|drunk|run)\b"
    r"|\b(?:didn['\u2019]t|did not|couldn['\u2019]t|wasn['\u2019]t able)\b"
)
# "has lived here for ten years", "hasn't started yet": still so when it is said.
_STILL_TRUE = re.compile(
    r"\bha(?:s|ve)\b.*\b(?:for (?:\w+ ){0,2}?(?:years?|months?|weeks?|days?|ages|long)|since)\b|\byet\b"
)
_PRESENT = frozenset("has have is are am been do does will".split())


def is_past_form(verb: str, sentence: str) -> bool:
    """Return whether a verb after its subject is in the past.

    A form that is the same in both tenses depends on the sentence: "I read every day" is present, "I read it" past.
    """
    if verb in _PAST:
        return True
    if verb in _SAME_IN_PAST:
        return not _HABIT.search(sentence)
    return verb.endswith("ed") and verb not in _FALSE_PAST


def can_be_verb(word: str) -> bool:
    """Return whether a word may be a verb; only function words are excluded."""
    return word not in _NO_VERB


def to_third_person(verb: str) -> str:
    """Return the form that goes with "she", given a present form in lower case that is no modal."""
    if verb in _THIRD:
        return _THIRD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    if verb.endswith("o") and verb[-2:-1] not in "aeiou":
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def agree_verb(verb: str, sentence: str) -> str:
    """Return a verb in the form that follows a third person singular; modals and past forms stay as they are."""
    small = verb.lower().replace("\u2019", "'")
    if small in _THIRD:
        return _THIRD[small]
    if small in MODALS or not can_be_verb(small) or is_past_form(small, sentence) or small.endswith("ing"):
        # "bring", "sing" and "ring" are among the few base forms in -ing.
        return (
            to_third_person(small) if small in ("bring", "sing", "ring", "swing", "cling", "fling", "sting") else verb
        )
    return to_third_person(small) if small.isalpha() else verb


def begins_in_past(words: Sequence[str], first: int) -> bool:
    """Return whether the first verb of a sentence is in the past.

    words: the sentence in lower case; first: the index after its subject, or 0 where the subject is not known. The
    verb is expected near that place, or soon after a word for the user.
    """
    if first:
        near = words[first : first + 3]
    else:
        user = next((place for place, word in enumerate(words) if word in USER), None)
        near = words[:6] if user is None else words[user + 1 : user + 4]
    for place, word in enumerate(near):
        if word in _PRESENT or (place == 0 and word.endswith("s") and word not in PAST):
            return False
        if word in PAST or (word.endswith("ed") and len(word) > 4):
            return True
    return False


def reports_event(text: str) -> bool:
    """Return whether a text reports an event in the perfect, or one that did not take place."""
    return _EVENT.search(text) is not None


def is_still_true(text: str) -> bool:
    """Return whether a text says what has been so for a while, or is not so yet."""
    return _STILL_TRUE.search(text) is not None
