"""The class of a sentence: its category, its kind and its importance, by the first pattern that fits.

The table is ordered. What must not be missed stands first: an instruction ("Always answer in German") or an allergy is
recognised before a preference, and an event is only what nothing more lasting has fitted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longmind.language.speech_acts import SpeechAct
from longmind.models.atom import AtomKind


@dataclass(frozen=True)
class SentenceClass:
    """A category with the kind and the importance, from 1 to 5, of the memories in it."""

    category: str
    kind: AtomKind
    importance: int


QUESTION = SentenceClass("question", "EPISODE", 1)
REQUEST = SentenceClass("request", "EPISODE", 2)
HYPOTHETICAL = SentenceClass("hypothetical", "EPISODE", 2)
EVENT = SentenceClass("event", "EPISODE", 3)
REMARK = SentenceClass("remark", "EPISODE", 2)
ANSWER = SentenceClass("answer", "EPISODE", 1)
TOOL_RESULT = SentenceClass("tool result", "EPISODE", 2)
STATED = SentenceClass("fact", "FACT", 3)
IDENTITY = SentenceClass("identity", "FACT", 4)

_I = (
    r"\b(?:i|we)(?:['\u2019](?:m|ve|d|ll|re))?(?: (?:really|just|also|still|always|usually|"
    r"absolutely|totally|do|actually|kinda|now|currently|have|am|was|are|been|truly|personally|"
    r"generally|mostly|so|definitely|even|never|recently|finally|only|both|all))*"
)
_I_NOW = _I.replace("m|ve|d|ll|re", "ve")
_MY = r"\b(?:my|our)"
_KIN = (
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc\u00e9e?|mother|mom|mum|"
    r"father|dad|parents?|sister|brother|siblings?|"
    r"son|daughter|kids?|child(?:ren)?|baby|grand(?:mother|father|ma|pa|son|daughter|"
    r"kids|parents)|aunt(?:ie)?|uncle|cousins?|"
    r"niece|nephew|best friend|friend|roommate|flatmate|boss|manager|colleague|coworker|"
    r"neighbou?r|mentor|coach|teacher|sisters|brothers|sons|daughters|friends|aunts|uncles|"
    r"twins|nieces|nephews|"
    r"(?:step|half)[- ]?(?:mother|father|brother|sister|son|daughter)|(?:mother|father|"
    r"sister|brother|son|daughter)-in-law|family)"
)

_ORDER = (
    r"(?:answer|reply|respond|use|call|write|ask|include|give|send|format|refer|speak|"
    r"tell|suggest|recommend|mention|add|start|end|"
    r"explain|show|schedule|book|remind|put|keep|be|provide|assume|translate|cite|quote|"
    r"address|sign|share|check|confirm|round|"
    r"summari[sz]e|list|offer|apologi[sz]e|repeat|delete|change|order|contact|disturb|"
    r"interrupt|text|email|do|make|talk|say|convert)"
)
"""Verbs for what one asks an assistant to do."""
_ORDER_ING = (
    r"(?:using|calling|asking|sending|suggesting|recommending|apologi[sz]ing|repeating|"
    r"adding|giving|saying|being|starting|writing)"
)

_TABLE: tuple[tuple[SentenceClass, str], ...] = (
    # "Always answer in German", "Whenever I ask for a recipe, use grams", "Call me Ann".
    (
        SentenceClass("instruction", "RULE", 5),
        r"^(?:please )?(?:always|never|(?:do not|don['\u2019]t)(?: ever)?|stop|avoid|make sure (?:to|"
        rf"you)|be sure to|remember to|keep in mind to) {_ORDER}\b|^(?:please )?(?:stop|avoid) {_ORDER_ING}\b"
        rf"|\bfrom now on,? (?:please |always |never |you |just )*(?:{_ORDER}|(?:do not|don['\u2019]t) {_ORDER})\b|"
        rf"^(?:please )?{_ORDER} .*\bfrom now on\b"
        r"|^(?:going forward|in (?:the )?future|whenever|every time|each time|when) (?:i|"
        rf"you|we)?\b.*?,? (?:please |always |never |you (?:should|must|can) |do not |don['\u2019]t )+{_ORDER}\b|"
        rf"^(?:whenever|every time|each time) i \w+.*, {_ORDER}\b"
        r"|^(?:please |just |you can |you may )*(?:call|address) me\b|\b(?:i|we) (?:want|"
        r"need|would like|expect)(?: for)? you to (?:always|never|stop|use|call|answer|keep|"
        r"remember|be|reply|respond|write|speak)\b"
        r"|\byou (?:must|should|may not|must not|shouldn['\u2019]t) (?:always |never |not |"
        rf"only )+{_ORDER}\b|\bi['\u2019]d (?:prefer|rather|like it) (?:if |that )?you\b"
        rf"|^please {_ORDER} .*\b(?:always|never|every|all|any) (?:time|message|answer|reply|"
        r"response|email|units?|your)\w*",
    ),
    # "Keep your answers short", "Use metric units".
    (
        SentenceClass("instruction", "RULE", 5),
        r"^(?:please )?(?:(?:keep|make) (?:your |all |the |my )?(?:answers?|replies|responses|"
        r"messages|emails|summaries)\b|"
        r"keep it (?:short|brief|simple|concise|under|below|formal)|be (?:more |less |very )?(?:concise|"
        r"brief|direct|formal|"
        r"informal|polite)\b|use (?:[\w-]+ )*(?:units|spelling|format|tone)\b)",
    ),
    # "I am allergic to nuts", "My knee hurts".
    (
        SentenceClass("health", "FACT", 5),
        rf"{_I} (?:allergic|intolerant|diabetic|asthmatic|pregnant|celiac|coeliac|lactose)\b|"
        rf"\ballerg(?:y|ies|ic) to\b|{_MY} (?:allerg\w+|doctor|therapist|blood pressure|asthma|"
        r"diabetes|migraines?|medication|diagnosis|surgery|injury|knee|back (?:pain|hurts)|"
        r"anxiety|depression)\b"
        rf"|\bdiagnosed with\b|{_I} (?:suffer(?:ing)? from|take (?:medication|insulin)|taking \w+ for my|"
        r"hurt my|injured|broke my (?:arm|leg|ankle|wrist|toe|foot|hand))\b|\b(?:can['\u2019]t|"
        r"cannot) (?:eat|have|tolerate) (?:gluten|dairy|nuts|peanuts|lactose|eggs|shellfish)\b",
    ),
    # "My name is Ann", "I grew up in Graz", "I speak Norwegian".
    (
        SentenceClass("identity", "FACT", 4),
        rf"{_MY} (?:full |first |last |middle |sur|nick)?name(?:['\u2019]s| is)\b|\bi['\u2019]?(?:m|"
        rf" am) (?:called|named|from|originally from|\d{{1,2}}(?: years old)?\b(?! (?:min|"
        r"hour|day|week|month|%|percent|km|mile|page|step))|an? (?:only child|vegan|vegetarian|"
        r"single (?:mom|dad|mother|father|parent)|immigrant|native|citizen|christian|muslim|"
        r"jew|atheist|lesbian|gay|trans\w*|introvert|extrovert))\b"
        rf"|{_I} (?:live|living|grew up|born|moved (?:to|from|in|out)|reside|relocated|speak (?:[a-z]\w+|"
        rf"english|spanish|french|german)|identify as|come from)\b|{_MY} (?:birthday|age|address|"
        r"phone(?: number)?|number|email|e-mail|hometown|nationality|native language|zip code|"
        r"postcode|pronouns|gender|religion|ethnicity)\b",
    ),
    # "I prefer tea", "I can't stand crowds", "My favourite colour is green".
    (
        SentenceClass("preference", "PREFERENCE", 4),
        rf"{_I_NOW} (?:prefer|love|loved|like|enjoy|adore|hate|dislike|detest|favou?r|loathe|"
        r"despise)\b(?! (?:to (?:know|see|hear|learn|get|ask|start|try|explore|find|order|"
        r"schedule|book)|the (?:sound|idea) of|(?:the|that|this|these|those|your|all) (?:[\w-]+ )*(?:ideas?|"
        r"suggestions?|recommendations?|tips?|lists?|options?|advice|recipes?)\b|your|that you|"
        r"how you|if you|it if))"
        rf"|{_I} (?:can['\u2019]t|cannot|couldn['\u2019]t) (?:stand|bear)\b|{_I} (?:don['\u2019]t|"
        r"do not|doesn['\u2019]t|didn['\u2019]t)(?: really| particularly)? (?:like|enjoy|"
        r"love|want|care for|eat|drink|use|watch)\b|\bfavou?rite\b(?!.*\byou)"
        rf"|{_I} (?:a (?:big |huge )?fan of|into|fond of|keen on|passionate about|obsessed with|"
        r"not (?:a (?:big )?fan of|into|fond of)|partial to|hooked on|addicted to|crazy about)\b|"
        rf"\bi['\u2019]d rather\b|{_MY} (?:go-to|preference|preferred|guilty pleasure)\b|\bi never (?:eat|"
        r"drink|use|wear|watch)\b",
    ),
    # "I want to learn Spanish", "My goal is a marathon".
    (
        SentenceClass("goal", "INTENTION", 4),
        rf"{_MY} (?:(?:main|big|biggest|long[- ]term|short[- ]term|ultimate|next|current|new) )?(?:goals?|"
        rf"dream|aim|ambition|target|resolution|objective)\b|{_I} (?:dream(?:ing)? of|aim(?:ing)? (?:to|"
        r"for)|aspire|striving|working (?:towards?|to become)|saving (?:up )?(?:for|to)|determined to|"
        r"want to (?:become|be|learn|build|own|start|run|lose|get better|improve))\b",
    ),
    # "I'm going to visit my aunt", "The appointment is on Monday".
    (
        SentenceClass("plan", "INTENTION", 3),
        rf"{_I} (?:plan(?:ning|ned)?|(?<!been )going to|gonna|intend(?:ing)?|hop(?:e|ing) to|want(?:ed)? to|"
        r"wanna|would like to|thinking (?:of|about) \w+ing|considering|will\b|need to|have to|must|"
        r"gotta|about to|booked|scheduled|signed up|looking (?:to|forward to)|decided to|"
        r"going (?:camping|swimming|hiking|back)|(?:flying|travell?ing|driving|heading|moving|"
        r"leaving) (?:to|out|on|for|next)|meeting (?:with|up)|starting)\b"
        rf"|{_MY} plans?(?: for [\w ]+)?:"
        r"|\bi['\u2019](?:ll|d (?:like|love) to)\b|\bwe['\u2019]ll\b|^(?:gonna|planning|hoping|"
        r"thinking of|can['\u2019]t wait)\b|\b(?:appointment|meeting|flight|interview|deadline|"
        r"reservation|due)\b.*\b(?:tomorrow|next|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|"
        r"tonight|this (?:coming )?(?:week|month|mon|tues|wednes|thurs|fri|satur|sun))",
    ),
    # "My sister lives in Oslo", "I am married".
    (
        SentenceClass("relationship", "FACT", 4),
        rf"{_MY} (?:\w+ )?{_KIN}\b(?:,? [a-z]\w+,?)? (?:is|was|are|works?|lives?|has|loves?|"
        rf"likes?|moved|turned|studies|got|wants|plays|teaches)\b|{_I} (?:married|engaged|"
        r"divorced|separated|single|dating|widowed|seeing someone|in a relationship)\b"
        rf"|{_I} (?:have|got|had)(?: (?:a|an|one|two|three|four|five|six|\d+))?(?: \w+)? {_KIN}\b|"
        rf"\bis my {_KIN}\b|{_I} (?:met|known|friends with)\b.*\b(?:years|since|college|school)\b",
    ),
    # "I work as a nurse", "My boss is from Lyon".
    (
        SentenceClass("work", "FACT", 3),
        rf"{_I} (?:work(?:ed|ing)? (?:as|at|for|in|with|from|remotely|full|part)|an? (?:[\w-]+ ){{0,3}}(?:engineer|"
        r"teacher|nurse|doctor|lawyer|developer|designer|manager|student|artist|writer|chef|"
        r"consultant|accountant|scientist|analyst|freelancer|professor|researcher|architect|"
        r"musician|photographer|programmer|entrepreneur|counsel+or|pilot|electrician|therapist|"
        r"dentist|journalist|librarian|librarian|carpenter|mechanic|plumber|editor|director|"
        r"barista|driver|farmer|firefighter|vet|veterinarian|pharmacist|physicist|chemist|"
        r"biologist|economist|psychologist|social worker|coach|trainer|intern|realtor|salesperson|"
        r"translator|producer|actor|actress|dancer)|employed|unemployed|self-employed|retired|"
        r"freelanc\w+|teach|manage|lead|run (?:a|my|our)|studying|study|major(?:ed|ing)? in|"
        r"graduated|own (?:a|my|our) (?:business|company|shop|store|studio|restaurant)|promoted|"
        r"hired|laid off|fired|quit my job|got (?:a|the|my) (?:new )?(?:job|promotion|offer|"
        r"degree))\b"
        rf"|{_MY} (?:\w+ )?(?:job|career|role|company|employer|boss|manager|team|business|"
        r"startup|office|degree|thesis|salary|shift|commute|studio|store|workplace|internship)\b",
    ),
    # "I have a dog", "I bought a bike".
    (
        SentenceClass("possession", "FACT", 3),
        rf"{_I} (?:own|bought|purchased|got (?:a|an|the|my|some|new)|adopted|ordered|inherited|"
        r"picked up (?:a|an|some)|treated myself to|have (?:a|an|two|three|four|five|some|"
        rf"several|many|\d+))\b|{_MY} (?:\w+ )?(?:car|house|apartment|flat|bike|bicycle|laptop|"
        r"phone|camera|dog|cat|pet|puppy|kitten|guitar|piano|garden|boat|motorcycle|truck|"
        r"computer|watch|collection|home|condo|van|tablet|kindle|fitbit|violin|snakes?|turtles?|"
        r"hamster|rabbit|parrot|horse)\b",
    ),
    # "My rent is 900 euros".
    (
        SentenceClass("money", "FACT", 3),
        rf"{_MY} (?:\w+ )?(?:rent|salary|income|budget|mortgage|savings|debts?|loan|pension|"
        rf"bank account|credit score)\b|{_I} (?:earn|owe|pay \W?\d)\b",
    ),
    # "I usually run in the morning", "I swim every week".
    (
        SentenceClass("habit", "FACT", 3),
        rf"{_I} (?:usually|often|typically|regularly|tend to|go to the gym|exercise|practi[cs]e|"
        r"wake up|waking up|get up|commute)\b|\b(?:i|we)\b.*\b(?:every (?:day|morning|evening|"
        r"night|week|month|year|other|sunday|monday|tuesday|wednesday|thursday|friday|saturday)|"
        r"(?:once|twice|\w+ times) (?:a|per|each) (?:day|week|month|year)|daily|weekly|on (?:mon|"
        r"tues|wednes|thurs|fri|satur|sun)days|in the (?:mornings|evenings))\b",
    ),
    # "I'm looking for a flat": a wish, and less than a plan.
    (
        SentenceClass("plan", "INTENTION", 2),
        rf"{_I} (?:looking (?:for|into|at)|trying to|interested in|curious about|wondering|searching for)\b",
    ),
    # "I think the film is too long".
    (
        SentenceClass("opinion", "FACT", 2),
        rf"{_I} (?:think|believe|feel (?:that|like)|find|found|consider|agree|disagree|guess|"
        r"suppose|reckon|doubt|convinced)\b|\bin my (?:opinion|view|experience)\b|\bimo\b",
    ),
    # "I went to the opera yesterday".
    (
        EVENT,
        r"\b(?:i|we)(?:['\u2019](?:ve|d))?(?: (?:just|also|finally|recently|already|even|"
        r"once|first|had|have|really))* (?:\w+ed|was|were|been|did|went|saw|got|made|took|"
        r"came|met|bought|ate|had|gave|found|left|ran|won|lost|read|wrote|spent|felt|began|"
        r"heard|built|taught|sold|drove|flew|swam|spoke|chose|caught|broke|held|led|paid|"
        r"put|sent|told|thought|understood|wore|grew|became|done|gone)\b"
        r"|^(?:just |also |finally |recently )*(?:got|went|had|started|finished|bought|saw|"
        r"took|tried|met|made|visited|attended|won|lost|been)\b|\b(?:yesterday|last (?:week|"
        r"month|year|night|weekend|summer|winter|spring|fall|autumn|\w+day)|\d+ (?:days|weeks|"
        r"months|years) ago)\b",
    ),
)
_CLASSES = tuple((sentence_class, re.compile(pattern)) for sentence_class, pattern in _TABLE)
_OF_ONESELF = re.compile(r"\b(?:i|my|we|our)\b")
_WITHOUT_SPEAKER = tuple(
    each for each in _CLASSES if each[0].category in ("instruction", "health", "preference", "plan", "opinion", "event")
)
# A quick test: a sentence without the speaker and without one of these words fits nothing in the table.
_WORTH_READING = re.compile(
    r"\b(?:i|my|me|we|our|us|allerg|diagnos|favou?rite|always|never|from now|please|don['\u2019]t|"
    r"do not|stop|avoid|make sure|"
    r"be sure|remember|keep|be|use|going forward|whenever|every time|each time|when|call|"
    r"address|imo|gonna|planning|hoping|thinking|"
    r"can['\u2019]t|appointment|meeting|flight|interview|deadline|reservation|due|got|"
    r"went|had|started|finished|bought|saw|took|"
    r"tried|met|made|visited|attended|won|lost|been|just|also|finally|recently|yesterday|"
    r"last|ago|in (?:the )?future|you)\b"
)
_BEHAVIORAL = frozenset(("RULE", "PREFERENCE"))


def _select_candidates(small: str) -> tuple[tuple[SentenceClass, re.Pattern[str]], ...]:
    """Return the rows of the table that can fit a sentence, given in lower case."""
    if _OF_ONESELF.search(small):
        return _CLASSES
    return _WITHOUT_SPEAKER if _WORTH_READING.search(small) else ()


def classify_sentence(sentence: str, act: SpeechAct, *, trusted: bool, to_a_person: bool = False) -> SentenceClass:
    """Return the class of a sentence in its speaker's words.

    trusted: whether the user says it. Nobody else may give rules, and a preference of theirs is a plain fact.
    to_a_person: whether it is said to a person; "Call me tonight" is no instruction for an agent then.
    """
    if act is SpeechAct.QUESTION:
        return QUESTION
    if act is SpeechAct.HYPOTHETICAL:
        return HYPOTHETICAL
    small = sentence.lower()
    for sentence_class, pattern in _select_candidates(small):
        if sentence_class.kind in _BEHAVIORAL and not trusted:
            if sentence_class.kind == "PREFERENCE" and pattern.search(small):
                return SentenceClass(sentence_class.category, "FACT", 3)
            continue
        if sentence_class.kind == "RULE" and to_a_person:
            continue
        if pattern.search(small) and not (act is SpeechAct.REQUEST and sentence_class.kind != "RULE"):
            return sentence_class
    return REQUEST if act is SpeechAct.REQUEST else REMARK
