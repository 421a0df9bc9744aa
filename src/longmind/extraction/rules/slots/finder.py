"""The slot that a rewritten sentence fills: a subject, an attribute, and its one value at a time.

Patterns are tried in their order, the most specific first; quantities come last. A slot decides more surely than any
comparison of texts that a later fact replaces an earlier one, so a pattern that could be wrong is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from longmind.extraction.candidate import Slot
from longmind.extraction.rules.slots.contacts import CONTACTS, to_attribute
from longmind.extraction.rules.slots.locations import LOCATIONS
from longmind.extraction.rules.slots.normalisation import (
    OWNER,
    ROLE,
    WHO,
    find_about_person,
    normalise_phrase,
    stem_phrase,
)
from longmind.extraction.rules.slots.personal_records import RECORDS
from longmind.extraction.rules.slots.preferences import PREFERENCES
from longmind.extraction.rules.slots.quantities import find_quantity
from longmind.extraction.rules.slots.schedules import SCHEDULES, TOO_WIDE
from longmind.extraction.rules.slots.slot_pattern import SOON, STOP, SlotPattern, compile_pattern
from longmind.language.gazetteer import FIRST_NAMES

_PLACE = (
    r"(?:the |an? (?:[\w-]+ ){1,3}in )?(?P<value>(?:[A-Z][\w'.-]*|(?:suburbs|countryside|city|mountains|coast|"
    rf"south|north)\b)[^,.;!?()]*?){STOP}"
)
_SINGLE = (
    r"(?:(?:home |email |e-mail |mailing |shipping |work )?address|(?:cell |mobile |work )?(?:phone )?number|"
    r"phone|e-?mail|birthday|hometown|"
    r"employer|boss|manager|doctor|dentist|therapist|major|nationality|native language|"
    r"mother tongue|time ?zone|blood type|pronouns|"
    r"(?:current )?(?:job|role|position|title|job title|project|city|home|car|phone|laptop|"
    r"goal|rent|salary|budget|weight|height|record|score)|zodiac sign|"
    r"username|nickname|last name|surname|middle name|first name|full name|name|age|gender|"
    r"religion|commute|bedtime|shoe size|size|"
    r"landlord|landlady|coach|trainer|mentor|advisor|supervisor|roommate|bank|gym|school|university|password hint)"
)
_PROFESSION = (
    r"(?:[\w-]+ ){0,3}(?:engineer|teacher|nurse|doctor|lawyer|developer|designer|manager|"
    r"student|artist|writer|chef|consultant|"
    r"accountant|scientist|analyst|freelancer|professor|researcher|architect|musician|"
    r"photographer|programmer|entrepreneur|"
    r"counsel+or|pilot|electrician|therapist|dentist|journalist|librarian|carpenter|mechanic|"
    r"plumber|editor|director|barista|"
    r"driver|farmer|firefighter|vet|veterinarian|pharmacist|psychologist|social worker|"
    r"coach|trainer|intern|realtor|translator|"
    r"producer|actor|actress|dancer|cook|baker|surgeon|paramedic|supervisor|assistant|"
    r"officer|technician|marketer|administrator)\b"
)
_BECAME = (
    r"(?: has| have)? (?:(?:was |were |got |been )*(?:raised|increased|lowered|reduced|changed|cut|bumped|dropped|went|"
    r"gone|rose|fell)(?: up| down)?(?: from [^,;!?()]+?)? to|became|has become|turned into)"
)
"""The words by which a value becomes another one."""

_PATTERNS: tuple[SlotPattern, ...] = (
    # "User moved from Oslo to Graz".
    compile_pattern(
        "home",
        "live|living|moved|relocat|based in|resid|settled",
        rf"{WHO} {SOON}(?:no longer )?(?:lives?|living|resides?|based|moved(?: back)?|relocated(?: back)?|"
        rf"settled(?: down)?)(?: from [^,.;!?()]+?)? (?:in|to) {_PLACE}",
    ),
    # "Graz is now User's home".
    compile_pattern(
        "home",
        "home|where",
        rf"^(?P<value>[A-Z][\w'.-]*(?: [A-Z][\w'.-]*)*) is (?:now )?(?:{OWNER} (?:new )?home|"
        rf"where {WHO} (?:now )?lives)\b",
    ),
    # "User works at Nokia".
    compile_pattern(
        "employer",
        "work|joined|employed|started a",
        rf"{WHO} {SOON}(?:no longer )?(?:works?|working|employed|joined|started(?: working| an? (?:new )?(?:job|role|"
        r"position))?)(?:(?: as an? [\w -]+?)? (?:at|for|by))?(?: an? (?:[\w-]+ ){1,3}called)? "
        r"(?P<value>(?!as\b)[A-Z][\w&'.-]*(?: [A-Z][\w&'.-]*)*)",
    ),
    # "User got a job as a nurse".
    compile_pattern(
        "job",
        "as a|as the|promoted to",
        rf"{WHO} {SOON}(?:no longer )?(?:works?|working|started(?: working)?|(?:got )?(?:hired|employed|promoted)|"
        rf"(?:got|found|landed|took|accepted|started|has) (?:an? )?(?:new )?(?:job|position|role|gig)) (?:as|to) "
        rf"(?:an? |the )?(?P<value>[^,.;!?()]+?){STOP[:-1]}|(?= at ))",
    ),
    # "User is a nurse", "User is retired".
    compile_pattern(
        "job",
        " is a | is an | is now a| is currently a| is also a|became a|become a|retired|employed",
        rf"{WHO} (?:is|became|has become) (?:now |currently |also )?(?:an? )?(?P<value>{_PROFESSION}|"
        r"retired\b|unemployed\b|self-employed\b)",
    ),
    # "User is engaged".
    compile_pattern(
        "relationship status",
        "single|married|engaged|divorced|widowed|separated|relationship|dating",
        rf"{WHO} {SOON}(?:no longer |not )?(?:got |gotten )?(?P<value>single|married|engaged|"
        r"divorced|widowed|separated|in a relationship|dating)\b(?! (?:with|in|from|to) (?:the|"
        r"a)\b)",
    ),
    # "User's divorce is final".
    compile_pattern(
        "relationship status",
        "divorce ",
        rf"{OWNER} (?P<value>divorce) (?:is|was|got|has been|became) (?:now |just |finally )?(?:final\w*|official|done|"
        r"through|complete\w*)\b",
    ),
    # "User turned 30".
    compile_pattern(
        "age",
        "years old|turned|turning| is 1| is 2| is 3| is 4| is 5| is 6| is 7| is 8| is 9",
        rf"{WHO} {SOON}(?:turned |turning )?(?P<value>\d{{1,3}})(?: years old\b| this (?:year|"
        r"week|month)| today| yesterday| last \w+| on \w+|(?=[.,!;]|$| and ))",
    ),
    # "User's dog is called Rex".
    compile_pattern(
        lambda f, _: f"name of {f['what']}",
        "named|called|name is|'s name",
        rf"(?:{OWNER}|(?P<has>[A-Z]\w+) (?:has|got|adopted|has got) (?:an?|the)?) ?(?:new |"
        r"little )?(?P<what>dog|cat|puppy|kitten|hamster|rabbit|parrot|horse|turtle|snake|"
        rf"goldfish|bird|pet|car|boat|band|company|startup|business|baby|son|daughter|{ROLE})(?:'s name is|"
        r" is (?:named|called)| named| called) (?P<value>[A-Z][\w'-]*(?: [A-Z][\w'-]*)?)",
    ),
    # "User goes to Lincoln High".
    compile_pattern(
        "school",
        "school|university|college|elementary|academy|kindergarten",
        rf"{WHO} {SOON}(?:no longer )?(?:goes to|going to|attends|attending|studies at|studying at|enrolled (?:in|at)|"
        r"started (?:at|school at)|transferred to|switched to) (?:the )?(?P<value>(?:[A-Z][\w'.-]*(?: of)? )+(?:School|"
        r"University|College|Elementary|Academy|High|Kindergarten)|(?:University|College) of [A-Z]\w+)",
    ),
    # "Call User Ann".
    compile_pattern(
        "preferred name",
        "call |address ",
        r"(?<!n't )(?<!n\u2019t )(?<!ever )(?<!not )(?:[Cc]all|[Aa]ddress) (?P<who>User) (?P<value>[A-Z]\w+)",
    ),
    compile_pattern(
        # "I'm Anna" gives a name, and "I'm German" does not.
        lambda f, _: "name" if f["value"].split()[0] in FIRST_NAMES else "",
        "user is ",
        r"^(?P<who>User) is (?P<value>[A-Z][\w-]+(?: [A-Z][\w'-]+)?)(?=[.,!]| (?:and|from|now|by the way)\b|$)",
    ),
    # "User's birthday is 7 May", "User's rent was raised to $1,200".
    compile_pattern(
        lambda f, _: to_attribute(f["what"]),
        "address|number|phone|mail|birthday|hometown|employer|boss|manager|doctor|dentist|therapist|major|nationality|"
        "language|tongue|zone|blood|pronoun|job|role|position|title|project|city|home|car |laptop|goal|rent|salary|"
        "budget|weight|height|record|score|zodiac|name|age |gender|religion|commute|bedtime|size|landl|coach|trainer|"
        "mentor|advisor|supervisor|roommate|bank|gym|school|university|password",
        rf"{OWNER} (?:new |current |old )?(?P<what>{_SINGLE})(?:(?: is|'s)(?: now| currently|"
        rf" actually)?|{_BECAME}) (?!at \d|not\b|going\b|really\b|so\b|very\b|great\b|good\b|bad\b|getting\b|"
        rf"to\b)(?P<value>\S+@\S+\w|[+\d][\d ()-]{{5,}}\d|(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\. |[^,.;!?()]|"
        rf"[,.](?=\d))+?){STOP}",
    ),
    *CONTACTS,
    # "User can be reached at ada@example.org".
    compile_pattern(
        "email", "@", rf"{WHO} .*?\b(?:reached|emailed|e-?mail|mail)\b.*?(?P<value>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    ),
    # "User drives a Honda Civic".
    compile_pattern(
        "car",
        "drive|driving",
        rf"{WHO} {SOON}(?:drives|driving) (?:an? |the )(?P<value>(?:[a-z]+ )?[A-Z0-9][\w -]*?){STOP}",
    ),
    *SCHEDULES,
    *RECORDS,
    *LOCATIONS,
    *PREFERENCES,
)

_NOT = re.compile(r"\b(?:no longer|not|isn't|doesn't|never|stopped|quit|gave up)\b")
_NOT_STATED = re.compile(
    r"(?:\bnot|n['\u2019]t|\b[Nn]ever) (?:even |actually |really )?(?:true|said|say|claim(?:ed)?)\b"
    r"|^(?:Neither|None of|Nobody|No one)\b|\bthought (?:that )?User\b(?!')"
    r"|(?:\b(?!User\b)[A-Z]\w+|'s [\w-]+|\b(?:[Ee]veryone|[Ee]verybody|[Pp]eople|[Tt]hey|he|she)) (?:still )?"
    r"(?:thinks?|believes?|assumes?|claims?|pretends?) (?:that )?User\b"
)
"""Signs that a statement is denied, or only believed by others: it is no fact then."""
_CORRECTS = re.compile(
    r"\bno longer\b|\bany ?more\b|\bnot \w+(?: \w+)?[:,-] ?(?:but )?\w|\b(?:switch|chang|"
    r"mov|upgrad|transition)(?:ed|es|ing)\b.*\bto\b|\bnow\b|\bactually\b|"
    r"\binstead(?: of)?\b|\bcorrection\b|\bi meant\b|\bused to\b|\brescheduled\b|\bmoved (?:to|"
    r"from)\b|\breplaced\b|\bas of\b|\bstopped\b|"
    r"\bquit\b|\bgave up\b|\bgiven up\b|\bscratch that\b|\bpostponed\b|\bturned out\b|"
    r"\bnot true\b|\bnew (?:job|car|phone|address|number|email)\b|"
    r"\bso far\b|\bjust (?:reached|finished|completed|got|realized)\b|\balready\b|\bthese days\b|\bback to\b"
)


def find_slot(rewritten: str, earlier: str = "", people: Collection[str] = ()) -> Slot | None:
    """Return the slot that a statement fills, or None.

    rewritten: the sentence in the third person; earlier: the sentences of the message before it, for what "it" means;
    people: names of the speakers, which count as persons.
    """
    slot = _find_first(rewritten, earlier, people)
    return None if slot is None or _NOT_STATED.search(rewritten) else slot


def _find_first(rewritten: str, earlier: str, people: Collection[str]) -> Slot | None:
    """Return the slot of the first pattern that fits, or else of a quantity; None if there is neither."""
    small = rewritten.lower()
    for each in _PATTERNS:
        for need in each.needs:
            if need in small:
                break
        else:
            continue
        found = find_about_person(each.pattern, rewritten, people)
        if found is not None and (slot := _fill_slot(each, *found, earlier)) is not None:
            return slot
    return find_quantity(rewritten, earlier, people)


def is_correction(sentence: str) -> bool:
    """Return whether the speaker says that something changed or was wrong: "no longer", "actually", "not X but Y"."""
    return _CORRECTS.search(sentence.lower()) is not None


def _fill_slot(kind: SlotPattern, found: re.Match[str], subject: str, earlier: str) -> Slot | None:
    """Return the slot of a match, or None where its attribute is too wide to have one value."""
    attribute = kind.attribute if isinstance(kind.attribute, str) else kind.attribute(found, earlier)
    groups = found.groupdict()
    value = normalise_phrase(found["value"])
    if attribute.startswith("eats "):
        value = "no" if groups.get("no") else "yes"
    elif _NOT.search(found[0][: found.start("value") - found.start()]):
        value = f"not {value}"
    if attribute.startswith("time of ") and groups.get("days"):
        attribute += f" on {stem_phrase(groups['days'])}"
    if attribute in TOO_WIDE or attribute.endswith(" of ") or not value or not attribute or len(value) > 120:
        return None
    return Slot(subject, attribute, value)
