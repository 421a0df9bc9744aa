"""Speech acts: whether a sentence states, asks, supposes, requests, or is only polite.

Only what a sentence begins with and a few telling words are looked at, so an act is recognised in microseconds. The
order of the tests in `classify_speech_act` matters: "Thanks, could you help me?" is a question, "Thanks!" small talk.
"""

from __future__ import annotations

import re
from enum import Enum

from longmind.language.gazetteer import FIRST_NAMES


class SpeechAct(Enum):
    """The act that a sentence performs.

    STATEMENT: "I moved to Graz." Only statements give facts with slots.
    QUESTION: "Where is the museum?", also without a question mark: "I was wondering if you know it."
    REQUEST: "Write a poem about Graz." An instruction for an agent is a request that lasts.
    HYPOTHETICAL: "If I lived in Graz, I would cycle." It is remembered with little confidence.
    SMALL_TALK: "Thanks, you too!" It is not remembered.
    """

    STATEMENT = "statement"
    QUESTION = "question"
    REQUEST = "request"
    HYPOTHETICAL = "hypothetical"
    SMALL_TALK = "small talk"


# "Oh, and by the way," at the beginning of a sentence.
_FILLER = re.compile(
    r"(?:(?:oh|ah|aw+|well|yeah|yes|yep|yup|no|nope|nah|ok|okay|hey|hi|hello|anyway|anyways|"
    r"so|and|also|but|btw|by the way|"
    r"oh and|(?:and|but) of course|speaking of which|in other news|you know|i mean|haha+|lol|wow|hmm+|um+|uh+|"
    r"thanks|thank you|thx|sure|right|"
    r"plus|honestly|to be honest|tbh|fyi|just fyi|for sure|definitely|absolutely|of course|exactly|cool|great|nice|"
    r"awesome|amazing|sounds good|actually|unfortunately|luckily|fortunately|sorry|please note|man|dude|gosh|omg|"
    r"woah|whoa|yay|woohoo|update|absolutely|totally|indeed|agreed|true|alright)"
    r"(?:,? (?P<name>[A-Z][a-z]+(?=[,!])))?\s*[,!:.\u2026-]+\s*|"
    r"(?:oh|ah|and|so|but|well|hey|hi|also|honestly|basically|literally|actually|(?:please )?(?:remember|"
    r"note|keep in mind|know)(?: that)?|"
    r"(?:as )?(?:it )?turn(?:s|ed) out(?: that)?,?) (?=(?:i|i['\u2019]m|i['\u2019]ve|my|we|our|by the way|"
    r"btw|also|yeah|yes)\b))",
    re.IGNORECASE,
)
_TAIL = re.compile(r",? (?:lol|haha+|lmao|tbh|btw|imo|haha|hehe)[.!]*$", re.IGNORECASE)
_POLITE_WORDS = frozenset(
    "thanks thank you thx ty cheers hi hello hey bye goodbye cya ya see later soon ok "
    "okay k kk yes yeah yep yup no nope "
    "sure cool nice great awesome amazing wonderful fantastic perfect excellent lovely good fine right exactly agreed "
    "absolutely definitely totally indeed wow whoa woah haha lol hahaha hehe oh ah aw "
    "aww hmm um please welcome problem "
    "worries congrats congratulations sorry got it gotcha sounds that's thats that is "
    "this it's its so very really much "
    "too for the your a an of all and i to me my we well then now again have has had day night morning evening weekend "
    "one luck take care talk catch up you're youre are was were be keep going done way go long time no how nice "
    "what idea point glad happy hear know hope enjoy appreciate appreciated help helpful helps super such pretty just "
    "thing stuff interesting true cheer cheers fun best wishes same here too also will i'll do i'm im what's whats up "
    "there everyone everybody guys folks friend buddy pal dude man mate kind words word "
    "input feedback info information "
    "suggestion suggestions tip tips advice recommendation recommendations detailed clear quick "
    "makes make sense understood noted alright fair enough let's lets on with by in at as soon talking chatting "
    "seeing meeting today tomorrow yay woohoo hooray omg gosh impressive incredible "
    "brilliant beautiful gorgeous stunning "
    "inspiring adorable cute sweet neat rad dope love it's been can't cant wait".split()
)
# Polite words that say something about the speaker where the sentence has an "I": "I love my family".
_MEANING = frozenset("love hope enjoy can't cant wait friend advice".split())
_GREETING = re.compile(
    r"(?:hi|hey|hello|good (?:morning|afternoon|evening|night)|greetings|dear|bye|goodbye|"
    r"see (?:you|ya)|talk (?:to you )?"
    r"(?:soon|later)|take care|thanks?(?: you)?|congrat\w*|no (?:problem|worries)|you'?re (?:so )?welcome|my pleasure|"
    r"(?:it'?s |it was |so )?(?:good|great|nice|lovely|glad) to (?:see|hear|meet|talk|chat|catch up)\b|"
    r"long time no|happy (?:birthday|new year)|good luck|have a (?:good|great|nice|lovely)|"
    r"sounds (?:good|great|like (?:a plan|fun))|"
    r"will do|got it|keep (?:it up|up the|me (?:posted|updated))|way to go|well done|"
    r"good (?:job|work|for you|idea|point|question)|"
    r"great (?:job|work|idea|question|point)|nice (?:work|job|one)|you got this|go for it)\b",
    re.IGNORECASE,
)
_QUESTION_START = re.compile(
    r"(?:what|who|whom|whose|where|when|why|how|which|can|could|would|will|should|shall|do|does|did|is|are|was|were|am|"
    r"have|has|had|may|might|isn't|aren't|don't|doesn't|didn't|won't|wouldn't|couldn't|any|got any|ever)\b",
    re.IGNORECASE,
)
_PLAIN_QUESTION = re.compile(
    r"(?:can|could|would|will) you\b|(?:what|who|where|when|why|how|which)(?:'s| is| are|"
    r" do| does| did| can| should| much| many)\b"
    r"|(?:do|did|have|are) you\b",
    re.IGNORECASE,
)
# "I was wondering if you know …" asks without a question mark.
_WONDERING = re.compile(
    r"(?:i (?:was|am|'m)|i'm|just) (?:wondering|curious) (?:if|whether|what|how|about|where|when|which|why)\b.*\byou\b|"
    r"(?:please )?(?:tell me|explain|remind me) (?:if|whether|what|how|about|where|when|which|why|more)\b",
    re.IGNORECASE,
)
_SUPPOSING = re.compile(
    r"if|suppos|imagin|preten|hypothe|say|wish|assum|i (?:c|w|sh)ould|i might|i'd|"
    r"^(?:were|had|should)|ideal|perfect|parallel"
)
"""A part of every supposition: a quick test before the slow pattern."""
_HYPOTHETICAL = re.compile(
    r"\bif (?:i|you|we|he|she|they|it|only|my \w+|the \w+) (?:were|was|had|could|would|"
    r"ever|did|won|got|didn't|weren't)\b|"
    r"\b(?:suppose|supposing|imagine|pretend|hypothetically|let's say|what if|say i|assuming)\b|"
    r"\bi wish (?:i|we|he|she|it|they|my|there|that)\b|\bif only\b|\bin (?:a|another) (?:perfect|"
    r"ideal|parallel) (?:world|life)\b|"
    r"^(?:were|had|should) i\b|\bi (?:would|could|might|should)(?:'ve| have)\b|\b(?:i'd|i would) (?:have|be)\b.*\bif\b|"
    r"\bas if (?:i|we)\b",
)
_REQUEST = re.compile(
    r"(?:please|pls|kindly|(?:just )?(?:write|give|show|tell|explain|list|summari[sz]e|"
    r"translate|make|create|generate|help|find|"
    r"suggest|recommend|describe|compare|provide|rewrite|continue|fix|convert|calculate|"
    r"check|draft|act as|remind|let)\b"
    r"(?! (?:it|go|s)\b))",
    re.IGNORECASE,
)
_POLITE_QUESTION = re.compile(
    r"(?:(?:so|and|hey|hi|hello),? )*(?:how(?:['\u2019]s| is| are|['\u2019]ve| have| was)? (?:you|"
    r"it|things|everything|life|your (?:day|week|weekend)|ya)(?: (?:been|doing|going|"
    r"been doing|"
    r"today|lately|these days|all|holding up))*|what['\u2019]?s (?:been )?(?:up|new|going on|"
    r"happening)(?: with you)?|anything (?:new|exciting)(?: (?:going on|with you|happening))?|"
    r"(?:and |how about |what about )?you|really|right|huh|isn['\u2019]t it|you know|"
    r"pretty cool|cool,? huh|what now|and you)(?:,? [A-Z]\w+)?\s*\?+$",
    re.IGNORECASE,
)
# "Let me know if you need anything."
_OFFER = re.compile(
    r"(?:please |just )?(?:let me know|feel free|don['\u2019]t hesitate|i(?:['\u2019]m|"
    r" am) here (?:for you|to help|if))\b.{0,60}$",
    re.IGNORECASE,
)
# "I'm Anna" and "this is Anna" introduce somebody.
_INTRODUCTION = re.compile(r"\b(?:[Ii]['\u2019]?m|[Ii] am|[Tt]his is|with|know) (?P<name>[A-Z][a-z]+)\b")
_WORDS = re.compile(r"[a-z]+(?:['\u2019][a-z]+)?", re.IGNORECASE)
_LONGEST_COURTESY = 90
_DIGIT = re.compile(r"\d")
_PHRASE_NAME = re.compile(r"\b[A-Z][a-z]+\b")


def strip_filler(sentence: str) -> str:
    """Return the sentence without the words that only lead to it: "Oh, and by the way, I moved" is "I moved"."""
    while True:
        found = _FILLER.match(sentence)
        if found is None or found.end() >= len(sentence):
            return _TAIL.sub("", sentence)
        sentence = sentence[found.end() :]


def begins_like_question(sentence: str) -> bool:
    """Return whether a sentence begins like a question."""
    return _QUESTION_START.match(sentence) is not None


def classify_speech_act(sentence: str) -> SpeechAct:
    """Return the act that a sentence performs, given without its filler words."""
    is_question = sentence.rstrip("\"'\u201d) ").endswith(("?", "\uff1f"))
    if is_question:
        return SpeechAct.SMALL_TALK if _POLITE_QUESTION.match(sentence) else SpeechAct.QUESTION
    small = sentence.lower().replace("\u2019", "'")
    if len(sentence) < _LONGEST_COURTESY and _is_polite(sentence, small):
        return SpeechAct.SMALL_TALK
    if _PLAIN_QUESTION.match(sentence) and sentence.count(" ") > 1 and not sentence.endswith("!"):
        return SpeechAct.QUESTION
    if _WONDERING.match(sentence):
        return SpeechAct.QUESTION
    if _SUPPOSING.search(small) and _HYPOTHETICAL.search(small):
        return SpeechAct.HYPOTHETICAL
    if _REQUEST.match(sentence):
        return SpeechAct.REQUEST
    return SpeechAct.STATEMENT


def _is_polite(sentence: str, small: str) -> bool:
    """Return whether a sentence is courtesy and nothing else.

    small: the sentence in lower case. A short sentence counts as courtesy if all its words are polite ones or names, or
    if it begins with a greeting and has at most two other words.
    """
    words = _WORDS.findall(small)
    if not words:
        return not any(letter.isalnum() for letter in sentence)
    if len(words) > 12 or _DIGIT.search(sentence):
        return False
    if _OFFER.match(sentence):
        return True
    introduction = _INTRODUCTION.search(sentence)
    if introduction is not None and introduction["name"] in FIRST_NAMES:
        # "I'm Anna" is more than a greeting.
        return False
    names = {name.lower() for name in _PHRASE_NAME.findall(sentence) if name in FIRST_NAMES}
    meaning = [word for word in words if word not in _POLITE_WORDS and word not in names]
    if not meaning:
        return len(words) <= 12 and not ({"i", "my", "we"} & set(words) and _MEANING & set(words))
    return len(words) <= 9 and len(meaning) <= 2 and _GREETING.match(sentence) is not None
