"""The class of a sentence: its category, its kind and its importance, by the first pattern that fits.

The table is ordered. What must not be missed stands first: an instruction ("Always answer in German") or an allergy is
recognised before a preference, and an event is only what nothing more lasting has fitted. A sentence that fits nothing
is not worth remembering; its words stay findable as a passage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longmind.language.numbers import NUMBER
from longmind.language.verbs import is_past_form
from longmind.models.atom import BEHAVIORAL_KINDS, AtomKind


@dataclass(frozen=True)
class SentenceClass:
    """A category with the kind and the importance, from 1 to 5, of the memories in it."""

    category: str
    kind: AtomKind
    importance: int


EVENT = SentenceClass("event", "EPISODE", 3)
OF_PERSON = SentenceClass("relationship", "FACT", 3)
STATED = SentenceClass("fact", "FACT", 3)
IDENTITY = SentenceClass("identity", "FACT", 4)

_I = (
    r"\b(?:i|we)(?:['\u2019](?:m|ve|d|ll|re))?(?: (?:really|just|also|still|always|usually|"
    r"absolutely|totally|do|actually|kinda|now|currently|have|am|was|are|been|truly|personally|"
    r"generally|mostly|so|definitely|even|never|recently|finally|only|both|all|probably))*"
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

_HAS = (
    r"(?:['\u2019]s\b|:| \(| (?:(?:just|now|also|really|still|always|finally|usually|actually|recently) )*(?:is|are|"
    r"was|were|has|have|had|got|"
    r"gets|changed|will|needs?|hurts?|starts?|started|ended|died|runs?|moved|works?|broke|loves?|likes?|eats?|hates?|"
    r"lives?|turned|became|ate|plays?)\b)"
)
"""The words after a thing of the speaker about which something is said; "I'll check my bike" says nothing about it."""
_DOING = (
    r"(?!also\b)(?!(?:just |definitely |really |be )*(?:try|check|see|know|look|think|consider|keep|make sure|"
    r"understand|"
    r"ask|"
    r"say|let|give|take (?:note|a look|those|that|it)|do|find|figure|remember|mention|add|note|test|have|stay|stop|"
    r"start|clarify|get|use|go "
    r"with|create|include|write|learn more|incorporate|focus|explore|discuss|talk|hear|share|able|sure|ready|use|avoid)"
    r"\b)\w+"
)
"""A verb that makes a plan; "I'll check that" is none."""
_OFTEN_GOING = (
    r"(?:physio\w*|therapy|rehab|counsell?ing|church|yoga|pilates|school|classes|meetings|the gym)\b[^,.;]*?"
    r"\b(?:once|twice|\w+ times) (?:a|per|each)\b"
)
"""Places to which one goes again and again; "going to yoga twice a week" is no plan."""
_WHEN = (
    r"(?:tomorrow|tonight|next|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|this (?:coming )?(?:week|month|\w+day)|"
    r"\d{1,2}[:.]\d\d|\d{1,2} ?[ap]m|\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|"
    r"dec)|"
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)\b)"
)
_SOUGHT = r"(?:job|flat|apartment|house|place to|room|roommate|car|dog|therapist|dentist|tutor)"
_OFTEN = r"(?:really|just|also|still|always|usually|currently|now|already|recently|finally|both|only|even|never|mostly)"
_OF_THOUGHT = (
    r"(?:think|know|guess|mean|want|need|hope|wonder|see|understand|agree|feel|get|appreciate|look|ask|try|find|"
    r"believe|"
    r"suppose|remember|notice|hear|say|tell|thought|knew|meant|felt|got|saw|heard|said|told|found|might|may|can|could|"
    r"should|would|will|must|shall|did|didn['\u2019]t|don['\u2019]t|can['\u2019]t|couldn['\u2019]t|won['\u2019]t|"
    r"haven['\u2019]t|wasn['\u2019]t|was|were|had|have|has|been|am|are|and|or|wish|assume|expect|imagine|plan|doubt|"
    r"care|"
    r"like|love|hate|bet|came|went|put|keep \w+ing|realize|consider|struggle|worry|forgot|forget|thank|seem|recommend|"
    r"suggest|agree|disagree|admit|promise|apologize|totally|definitely|probably|especially|particularly)"
)
_OF_DOUBT = (
    r"(?:trying|looking|wondering|asking|getting|having|thinking|considering|wanting|struggling|feeling|hoping|"
    r"assuming|"
    r"seeing (?:an?|the)|afraid|sure|going|planning|being|making sure|leaning|debating|open|wanting|guessing|talking|"
    r"noticing|running (?:into|out)|missing|a (?:bit|little|huge|big)|the one|on (?:it|board))"
)
_ORDER = (
    r"(?:answer|reply|respond|use|call|write|ask|include|give|send|format|refer|speak|"
    r"tell|suggest|recommend|mention|add|start|end|"
    r"explain|show|schedule|book|remind|put|keep|be|provide|assume|translate|cite|quote|"
    r"address|sign|share|check|confirm|round|correct|"
    r"summari[sz]e|list|offer|apologi[sz]e|repeat|delete|change|order|contact|disturb|"
    r"interrupt|text|email|do|make|talk|say|convert)"
)
"""Verbs for what one asks an assistant to do."""
_LASTING_ORDER = (
    r"(?:use|call|ask|include|give|send|suggest|recommend|mention|schedule|book|remind|offer|apologi[sz]e|repeat|"
    r"contact|disturb|interrupt|text|email|say)"
)
"""Verbs for what one forbids for good; "don't change the title" is only for now."""
_ORDER_ING = (
    r"(?:using|calling|asking|sending|suggesting|recommending|apologi[sz]ing|repeating|"
    r"adding|giving|saying|being|starting|writing)"
)
_REPLIES = r"(?:answers?|replies|responses|messages|emails|summaries|explanations)\b"

_INSTRUCTION = SentenceClass("instruction", "RULE", 5)
_TABLE: tuple[tuple[SentenceClass, str], ...] = (
    # "Always answer in German", "Whenever I ask for a recipe, use grams", "Call me Ann".
    (
        _INSTRUCTION,
        rf"^(?:please )?(?:always|never|(?:do not|don['\u2019]t) ever|make sure (?:to|you) always|be sure to always|"
        rf"(?:remember|keep in mind) to(?: always)?) {_ORDER}\b|^(?:please )?(?:do not|don['\u2019]t|avoid|stop) "
        rf"(?:{_LASTING_ORDER}|{_ORDER_ING}) (?!.*\b(?:this|that|these|those|here|above|below|yet|now|the word)\b)\w"
        rf"|^from now on,? (?:please |always |never |you |just )*(?:{_ORDER}|(?:do not|don['\u2019]t) {_ORDER})\b|"
        rf"^(?:please )?{_ORDER} .*\bfrom now on\b"
        r"|^(?:(?:going forward|in (?:the )?future),?|(?:whenever|every time|each time|when) (?:i|you|we)\b[^,]*,) "
        rf"(?:please |always |never |you (?:should|must|can) |do not |don['\u2019]t )*{_ORDER}\b"
        r"|^(?:please |just |you can |you may )*(?:call|address) me (?!(?:crazy|old|stupid|lazy|picky|weird|"
        r"back|later|tonight|tomorrow|when|if|at|on|in|an?|the|maybe)\b)[^\W\d_]|"
        r"^(?:i|we) (?:want|need|would like|expect)(?: for)? you to (?:always|never|stop)\b|"
        rf"^please {_ORDER} .*\b(?:always|never|every (?:time|message|answer|reply)|from now on)\b|"
        r"^(?:please )?(?:only )?(?:correct) .*\bmistakes?\b",
    ),
    # "Keep your answers short", "Use metric units".
    (
        _INSTRUCTION,
        rf"^(?:please )?(?:(?:keep|make) (?:your |all |the |my )?{_REPLIES}|"
        r"be (?:more |less |very )(?:concise|brief|direct|formal|informal|polite)\b(?! (?:here|in this|about this))|"
        r"use (?:[\w-]+ ){0,3}(?:units|spelling)\b|no (?:more )?(?:emojis?|bullet points|apologies|disclaimers|"
        r"small talk))",
    ),
    # "I prefer short answers".
    (
        SentenceClass("instruction", "PREFERENCE", 5),
        rf"{_I_NOW} (?:prefer|like|hate|dislike|want|can['\u2019]t stand) (?:[\w'-]+ ){{0,3}}{_REPLIES}|"
        r"^i['\u2019]d (?:prefer|rather|like it) (?:if |that )?you\b",
    ),
    # "I am allergic to nuts", "My knee hurts".
    (
        SentenceClass("health", "FACT", 5),
        rf"^allerg(?:y|ies): |{_I} (?:severely |not )?(?:allergic|intolerant|diabetic|asthmatic|pregnant|celiac|"
        rf"coeliac|lactose)\b|"
        rf"\ballerg(?:y|ies|ic) to\b|{_I} (?:got )?(?:an? )?(?:[\w-]+ ){{0,3}}allerg(?:y|ies)\b|{_MY} (?:allerg\w+|"
        rf"doctor|therapist|blood pressure|asthma|"
        rf"diabetes|migraines?|medication|diagnosis|surgery|injury|knee|back|anxiety|depression){_HAS}|"
        rf"\bdiagnosed with\b|{_I} (?:suffer(?:ing)? from|take (?:medication|insulin)|taking \w+ for my|"
        r"hurt my|injured|broke my (?:arm|leg|ankle|wrist|toe|foot|hand))\b|\b(?:can['\u2019]t|"
        rf"cannot) (?:eat|have|tolerate) (?:gluten|dairy|nuts|peanuts|lactose|eggs|shellfish)\b|{_I} (?:got |"
        rf"live with )?"
        r"(?:[\w-]+ ){0,3}(?:diabetes|asthma|adhd|autism|c(?:o)?eliac|migraines?|arthritis|epilepsy|hiv|bipolar|"
        r"autistic|dyslexic|colou?r[- ]?blind|cancer|"
        r"hypertension|"
        r"eczema|insomnia|ibs|pcos)\b|\bmy\b.*\b\d+ ?(?:mg|mcg)\b|\bi(?:['\u2019]m on| am on| take)\b.*\b\d+ ?(?:mg|"
        r"mcg|ml|units)\b",
    ),
    # "My name is Ann", "I grew up in Graz", "I speak Norwegian".
    (
        SentenceClass("identity", "FACT", 4),
        rf"{_MY} (?:full |first |last |middle |sur|nick)?name(?:['\u2019]s| is)\b|\bi(?:['\u2019]?m|"
        rf" am) (?:called|named|from|originally from|\d{{1,2}}(?: years old)?\b(?! (?:min|"
        r"hour|day|week|month|%|percent|km|mile|page|step))|(?:(?:now|still|not|no longer|strictly|also|a|an) )*"
        r"(?:vegan|vegetarian|pescatarian|muslim|jewish|christian|hindu|buddhist|atheist|irish|british|english|"
        r"scottish|spanish|"
        r"german|french|italian|dutch|polish|turkish|indian|chinese|japanese|korean|american|canadian|australian|"
        r"mexican|"
        r"brazilian|swedish|norwegian|danish|finnish|greek|swiss|austrian|russian|ukrainian)|an? (?:only child|"
        r"single (?:mom|dad|mother|father|parent)|immigrant|native|citizen|christian|muslim|"
        r"jew|atheist|lesbian|gay|trans\w*|introvert|extrovert))\b"
        rf"|{_I} (?:live(?! (?:for|off)\b)|living(?! (?:for|off|the)\b)|grew up|born|moved (?:to|from|in|out)|reside|"
        rf"relocated|speak (?:[a-z]\w+|"
        rf"english|spanish|french|german)|identify as|come from)\b|{_MY} (?:[\w-]+ )?(?:birthday|age|address|"
        r"phone(?: number)?|number|email|e-mail|hometown|nationality|native language|zip code|"
        r"postcode|pronouns|gender|religion|ethnicity|role|job title|"
        rf"title|position|website|handle|username|time ?zone){_HAS}|\bi go by\b",
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
        rf"love|want|care for|eat|drink|use|watch)\b|{_MY} (?:[\w-]+ )?favou?rite"
        rf"(?: [\w'-]+){{0,6}}? (?:is|are|was|has|have)\b|\b(?:is|are|was|of) my (?:[\w-]+ )?favou?rite\b"
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
        rf"{_I} (?:plan(?:ning|ned)?|(?:(?<!been )going to(?! {_OFTEN_GOING})|gonna|"
        rf"intend(?:ing)? to|hop(?:e|ing) to|want to|"
        rf"wanna|will|need to|have to|must|gotta|about to|decided to) {_DOING}|booked|scheduled|"
        rf"signed up|looking forward to|looking for (?:an? )?(?:new )?{_SOUGHT}|"
        r"going (?:camping|swimming|hiking|back)|(?:flying|travell?ing|driving|heading|moving|"
        r"leaving) (?:to|out|on|for|next)|meeting (?:with|up)|starting)\b"
        rf"|{_MY} plans?(?: for [\w ]+)?:"
        rf"|\b(?:i|we)['\u2019]ll {_DOING}|\b(?:i|we)(?:['\u2019]d| would) (?:like|love) to (?:learn|visit|travel|move|"
        r"become|buy|own|run a|live|retire|adopt|marry)\b|\b(?:appointment|meeting|flight|interview|deadline|"
        r"reservation|due|exam|test|surgery|wedding|concert|trial|class|party|ceremony)\b.*\b(?:tomorrow|next|(?:on|"
        r"to|for|until|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day|"
        r"tonight|this (?:coming )?(?:week|month|mon|tues|wednes|thurs|fri|satur|sun)|\d{1,2}[:.]\d\d|\d{1,2} ?[ap]m|"
        r"on \d|"
        r"\d (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|(?:january|february|march|april|may|june|july|august|"
        r"september|october|november|december) \d)",
    ),
    # "My sister lives in Oslo", "I am married".
    (
        SentenceClass("relationship", "FACT", 4),
        rf"{_MY} (?:\w+ )?{_KIN}\b(?:,? [a-z]\w+,?)? (?:(?:now|also|still|always|usually|just) )*(?!says|asks|thinks|"
        rf"believes|knows|wants|needs|keeps|calls|seems|feels|looks|tells|[a-z]+['\u2019]?s\b(?= [a-z]+ (?:is|was|"
        rf"has)))"
        rf"(?:is|was|are|has|have|work|live|love|like|moved|turned|got|[a-z]{{2,}}(?<!s)s)\b|{_I} (?:getting married|"
        rf"married|engaged|"
        r"divorced|separated|single|dating|widowed|seeing someone|in a relationship)\b"
        rf"|{_I} (?:have|got|had)(?: (?:a|an|one|two|three|four|five|six|\d+))?(?: \w+)? {_KIN}\b|"
        rf"\bis my {_KIN}\b|^(?:my )?\w+(?: \w+)? and i (?:now )?(?:meet|live|work|run|own|are|were|split|broke|"
        rf"divorced|got|have been|met)\b|"
        rf"{_I} (?:met|known|friends with)\b.*\b(?:years|since|college|school)\b",
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
        rf"startup|office|degree|thesis|salary|shift|commute|studio|store|workplace|internship){_HAS}",
    ),
    # "I have a dog", "I bought a bike", "I have braces".
    (
        SentenceClass("possession", "FACT", 3),
        rf"^i (?:have|wear) (?:braces|dentures|glasses|contact lenses|hearing aids)\b|"
        rf"\bi (?:don['\u2019]t|do not) have (?:an?|any|kids|children|pets)\b|\bi have no (?!idea)|{_I} (?:own|bought|"
        rf"purchased|got (?:a|an|the|my|some|new)|adopted|ordered|inherited|"
        r"picked up (?:a|an|some)|treated myself to|have (?:a|an|two|three|four|five|"
        rf"several|\d+))\b(?! (?:\w+ )?(?:questions?|problems?|issues?|ideas?|feeling|doubts?|hunch|requests?|favou?r|"
        rf"bit|"
        rf"lot|few|while|hard time|errors?|bug|choice|minutes?|hours?|look|chance|headache|weird|e-?mail|message|"
        rf"trouble|thought|call|good|great|better|list|draft))|{_MY} (?:\w+ )?(?:car|house|apartment|flat|bike|"
        rf"bicycle|laptop|"
        r"phone|camera|dog|cat|pet|puppy|kitten|guitar|piano|garden|boat|motorcycle|truck|"
        r"computer|watch|collection|home|condo|van|tablet|kindle|fitbit|violin|snakes?|turtles?|"
        rf"hamster|rabbit|parrot|horse){_HAS}",
    ),
    # "My rent is 900 euros".
    (
        SentenceClass("money", "FACT", 3),
        rf"{_MY} (?:\w+ )?(?:rent|salary|income|budget|mortgage|savings|debts?|loan|pension|"
        rf"bank account|credit score){_HAS}|{_I} (?:earn|owe|pay \W?\d)\b",
    ),
    # "I usually run in the morning", "I swim every week".
    (
        SentenceClass("habit", "FACT", 3),
        r"^i (?:always |usually )?try to (?:be|get|go) (?:in|to|out of) bed (?:by|at|before) \d|"
        rf"{_MY} (?:hobbies|hobby|routine)(?::| is| are| include)|{_I} (?:learning|training for)\b|{_I_NOW} (?:play|"
        rf"sing|paint|collect|grow|cook|bake|knit|sew|run|swim|cycle|bike|hike|climb|"
        r"ski|surf|dance|draw|volunteer|coach|attend|go to|drive|ride|wear|raise|train|lift|walk|jog|"
        r"usually|often|typically|regularly|tend to|go to the gym|exercise|practi[cs]e|"
        r"wake up|waking up|get up|commute)\b|\b(?:i|we)\b(?!['\u2019](?:ll|d)\b)(?! (?:will|would|want|need|"
        r"hope)\b).*\b(?:every (?:day|morning|evening|"
        r"night|week|month|year|other|sunday|monday|tuesday|wednesday|thursday|friday|saturday)|"
        r"(?:once|twice|\w+ times) (?:a|per|each) (?:day|week|month|year)|daily|weekly|on (?:mon|"
        r"tues|wednes|thurs|fri|satur|sun)days|in the (?:mornings|evenings))\b",
    ),
    # "My friend Sam came over", "My dog ate my shoe".
    (
        EVENT,
        rf"^(?:my|our) (?:\w+ )?(?:{_KIN}|dog|cat|puppy|kitten)\b(?:,? [a-z]\w+,?)? (?:(?:just|also|finally|"
        rf"recently) )*"
        r"(?!said|told|asked|thought|wanted|needed|called|texted|agreed|tried)(?:\w{2,}ed|came|went|won|lost|met|made|"
        r"ate|"
        r"bought|sold|left|gave|fell|bit|broke|fought|took|began|had|died|ran|wrote|built)\b",
    ),
    # "I use Neovim", "We deploy on Fridays".
    (
        SentenceClass("tool", "FACT", 3),
        rf"\b(?:i|we)['\u2019]re using\b|{_I_NOW} (?:use|run|code in|program in|deploy|switched(?: over)? to|"
        rf"migrated to|upgraded)\b|"
        rf"{_MY} (?:[\w-]+ ){{0,2}}(?:repo|repository|server|database|stack|editor|code ?base|api|app|host|branch)\b.* "
        r"(?:is|are|runs?|uses?|lives?)\b",
    ),
    # "I no longer eat fish", "I sold the car".
    (
        STATED,
        rf"{_I_NOW} (?:no longer \w+|stopped \w+ing|gave up|given up|quit)\b|\bi (?:don['\u2019]t|"
        rf"do not) .* any ?more\b",
    ),
    # "My roof is green".
    (
        STATED,
        r"^(?:my|our) (?!(?:\w+ )?(?:code|question|problem|issue|error|function|script|understanding|guess|point|"
        r"answer|"
        r"bad|query|request|concern|thoughts?|mind|program|output|result|example|text|essay|prompt)\b)"
        r"[\w'\u2019 -]{2,40}? (?:is|are|was|were|has|have|lives?|works?|starts?|died|turned|turns|comes?|likes?|"
        r"loves?|"
        r"hates?|plays?|got|gets|moved|runs?|hit|costs?|weighs?|ends?|quit|expires?|takes?|no longer|won|lost)\b",
    ),
    # "The rehearsal starts at 6 pm", "The picnic is on Sunday".
    (
        SentenceClass("plan", "INTENTION", 3),
        r"^(?:the|our|my) (?:party|picnic|dinner|barbecue|meeting|rehearsal) (?:is|was moved|(?:has been |got )?moved) "
        r"(?:at|to) \w+['\u2019]s (?:house|place|flat|apartment)\b|"
        r"^(?:the|our|my) (?!\w+ (?:closes|opens))(?:[\w'\u2019-]+ ){1,5}(?:is|are|starts?|begins|ends|moved|slipped|"
        r"(?:was|were|"
        r"got|has been|have been) (?:moved|rescheduled|postponed|pushed|set)) (?:now |back |out )?(?:(?:on|at|to|for|"
        r"until) )?"
        rf"(?:\w+ )?{_WHEN}",
    ),
    # "I didn't go to the gym".
    (
        EVENT,
        r"^i (?:didn['\u2019]t|couldn['\u2019]t|did not|could not) (?:go|sleep|eat|exercise|attend|run|train|smoke|"
        r"drink)\b",
    ),
    # "Rex died last week".
    (EVENT, r"^(?:my )?\w+(?: \w+)? (?:died|passed away)\b"),
    # "I went to the opera yesterday".
    (
        EVENT,
        r"^(?:(?:yesterday|today|last|this|in|on|two|three|a|over|after|so|then|and|back)\b[^.!?;:]{0,40}? )?(?:i|we)"
        r"(?:['\u2019](?:ve|d))?(?: (?:just|also|finally|recently|already|even|once|first|had|have|really|actually))* "
        r"(?!(?:need|feed|proceed|succeed|agreed|asked|tried|wanted|needed|noticed|wondered|mentioned|meant|liked|"
        r"looked|talked|used|hoped|guessed|"
        r"checked|changed (?!.* to )|added|realized|realised|thanked|missed|assumed|expected|supposed|seemed|followed|"
        r"searched|"
        r"stated|typed|pasted|copied|clicked|installed|updated|fixed|tested|saved|posted)\b)"
        r"(?:\w{2,}ed|taken|seen|gone|written|eaten|worn|given|broken|driven|flown|grown|ridden|went|made|took|came|"
        r"met|bought|ate|gave|left|ran|won|lost|read|spent|began|"
        r"built|found (?:an?|my|the)|had (?:an?|my|laser|the)|got (?:rid|laid|hired|promoted|engaged|hurt|sick)|"
        r"taught|sold|drove|flew|swam|broke|held|led|paid|wore|grew|became|was born|got (?:the|back|my|a|into)|"
        r"saw (?:a|the|my|two)|been (?:to|in|working|learning)|quit|caught|rode|wrote|sang|slept|hurt|fell|signed)\b",
    ),
    # "I take the 7:30 train", "I'm doing keto", "I'm the treasurer", "I'm through five modules".
    (
        STATED,
        rf"^i can (?:do|hold|run|lift|swim|speak|play) |^i (?:don['\u2019]t|do not) (?:smoke|drive|speak|work|live|"
        rf"own)\b|"
        rf"^i(?:['\u2019]ve| have)(?: {_OFTEN})* (?:got|saved|set aside) [^\w ]?\d|"
        rf"^(?:i|we)(?: {_OFTEN})* (?!{_OF_THOUGHT}\b|{_OFTEN}\b)[a-z]{{3,}}(?<!ed) (?!it\b|that\b|this\b|them\b|"
        rf"to\b)\S+ \w|^i(?: {_OFTEN})* need \d+ (?:more )?\w+s to reach the \w"
        rf"|^i['\u2019]m(?: {_OFTEN})* through {NUMBER} (?!things|times)[a-z]+s of the \w"
        rf"|^(?:i|we)['\u2019](?:m|re)(?: {_OFTEN})* (?!{_OF_DOUBT}\b|{_OFTEN}\b)(?:[a-z]{{2,}}ing (?!it\b|that\b|"
        rf"this\b|them\b|"
        r"to\b|an? (?:error|issue|problem))\w|on (?:a|the|my)|the \w|an? \w|\d)",
    ),
)
_CLASSES = tuple((sentence_class, re.compile(pattern)) for sentence_class, pattern in _TABLE)
_OF_ONESELF = re.compile(r"\b(?:i|my|we|our)\b")
_WITHOUT_SPEAKER = tuple(each for each in _CLASSES if each[0].category in ("instruction", "health", "plan", "event"))
# Words after which a statement is another's belief, or a condition: "My friend thinks I live in Rome".
_SUBORDINATE = re.compile(
    r"\b(?:if|unless|whether|that|thinks?|thought|believes?|says?|said|told (?:me|him|her|them|us)|asks?|asked|claims?|"
    r"assumes?|pretends?|wish|hopes?|wonder|guess|what|how|why|which|who|whom|where|like|as if|until|when|while|once|"
    r"before|after)[,:]? (?:\w+ )?$"
)


# "Anna stopped playing tennis", "Tom's moving to Graz"; what people say and think is left out.
_PERSON_DOES = re.compile(
    r"(?:['\u2019]s (?!\w+ (?:is|was|has)\b)|(?: (?:just|now|still|also|finally|recently|always|never|usually|"
    r"already))* "
    r"(?P<verb>(?!says?\b|said|told|tells|asks|asked|thinks|thought|wants|wanted|knows|knew|needs|seems|looks|called|"
    r"calls|"
    r"texted|wrote|writes|agrees|agreed|feels|felt|hopes|hoped|believes|likely|does\b|did\b|had\b)[a-z]{2,})\b )\S"
)


def classify_person(text: str, name: str) -> SentenceClass | None:
    """Return the class of a sentence that begins with the name of a person, or None if it says nothing about them."""
    found = _PERSON_DOES.match(text, len(name))
    if found is None:
        return None
    verb = found["verb"]
    if verb is None or verb in ("is", "has", "lives", "works") or (verb.endswith("s") and verb != "was"):
        return OF_PERSON
    return EVENT if is_past_form(verb, text) else None


def classify_sentence(sentence: str, *, trusted: bool, to_a_person: bool = False) -> SentenceClass | None:
    """Return the class of a statement or a request in its speaker's words, or None if it is not worth remembering.

    trusted: whether the user says it. Nobody else may give rules, and a preference of theirs is a plain fact.
    to_a_person: whether it is said to a person; "Call me tonight" is no instruction for an agent then.
    """
    small = sentence.lower()
    for sentence_class, pattern in _CLASSES if _OF_ONESELF.search(small) else _WITHOUT_SPEAKER:
        found = pattern.search(small)
        if found is None or (found.start() and _SUBORDINATE.search(small, 0, found.start())):
            continue
        if sentence_class.category == "instruction" and (to_a_person or not trusted):
            continue
        if sentence_class.kind in BEHAVIORAL_KINDS and not trusted:
            return SentenceClass(sentence_class.category, "FACT", 3)
        return sentence_class
    return None
