"""English verbs as far as rewriting needs them: the third person, and which words are in the past already."""

from __future__ import annotations

import re

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
_LIKE_PAST = frozenset(
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
"""Base forms that are so often verbs that one after "and" continues what was said before it."""

ALWAYS = frozenset(
    "accept adore agree allow appreciate attend avoid bake believe bring celebrate choose collect come commute compose "
    "consider create decide deliver depend dislike draw eat enjoy explore feed feel forget get give go grow hate hear "
    "invest jog join keep knit know learn lend listen live lose make manage meditate meet own perform prefer prepare "
    "protect read recommend relax remember say see sell send sew sing sit speak spend suffer swim take teach tell tend "
    "think try understand volunteer want wear write".split()
)
"""Those that are hardly ever anything else."""

OF_THOUGHT = frozenset(
    "hope think know believe say wish feel understand remember expect hear agree guess bet mean see notice thinking "
    "hoping knowing saying hoped thought knew believed said wished felt understood remembered expected heard agreed "
    "guessed meant noticed mentioned realized realised excited thrilled pleased relieved amazed "
    "impressed surprised".split()
)
"""Those that a whole sentence follows: "I hope you like it"."""


def is_past(verb: str, around: str) -> bool:
    """Whether a verb after a subject is in the past; what looks the same in both tenses depends on the sentence."""
    if verb in _PAST:
        return True
    if verb in _SAME_IN_PAST:
        return not _HABIT.search(around)
    return verb.endswith("ed") and verb not in _LIKE_PAST


def can_be_verb(word: str) -> bool:
    return word not in _NO_VERB


def third_person(verb: str) -> str:
    """The form that goes with "she"; the verb is in lower case, in the present, and no modal."""
    if verb in _THIRD:
        return _THIRD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    if verb.endswith("o") and verb[-2:-1] not in "aeiou":
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def agreeing(verb: str, around: str) -> str:
    """The verb as it is after a single third person."""
    small = verb.lower().replace("\u2019", "'")
    if small in _THIRD:
        return _THIRD[small]
    if small in MODALS or not can_be_verb(small) or is_past(small, around) or small.endswith("ing"):
        # "bring", "sing" and "ring" are the few base forms that end so.
        return third_person(small) if small in ("bring", "sing", "ring", "swing", "cling", "fling", "sting") else verb
    return third_person(small) if small.isalpha() else verb
