"""Detection of English, the only language that the rules can read.

Small words show the language even of a short text, since few are shared by two languages. The detectors that exist
as libraries compare groups of letters, of which three words have too few, and take longer than all the rules together.

A text is foreign if it has more foreign small words than English ones. Words that are both, such as "die" and "on",
count only if there are two of them, or another foreign word. A single foreign word in a longer English text is taken
for a quotation or a name, and a plain statement about oneself weighs as much as two small words. In doubt a text counts
as English: the rules then find little in it, and it is still stored.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_ENGLISH = frozenset(
    "the i'm i've i'd i'll and you your my it's of that this with have has are for they she be been but what "
    "when where how who which would could should can't don't does did not about there it "
    "their from at just like get got think know really because want went thanks please yes yeah if or out up our "
    "him them than then some these those here very much today yesterday tomorrow good great new love".split()
)
"""Small words that no other language has in this form."""
_ELSEWHERE = frozenset(
    # Spanish
    "el que para está están muy pero eres somos estoy tengo tiene tienes tenemos vivo vive trabajo trabajaba "
    "llamo llama gusta gustan quiero quiere hola gracias hermana hermano hijo hija madre padre años ayer mañana "
    "porque cuando donde dónde como cómo qué también nunca siempre ahora hoy fui fue hace más casa perro gato "
    "mucho mucha nos les nuestra nuestro trabaja estudio estudia cumplo prefiero odio comí compré "
    # Portuguese
    "não eu meu minha é sou estou tenho moro chamo gosto gostamos trabalho você ele ela obrigado obrigada irmão "
    "irmã ontem amanhã também muito muita quero filho filha anos fomos são "
    # Italian
    "gli che sono chiamo abito lavoro piace voglio ciao grazie sorella fratello figlio figlia anni ieri domani "
    "perché anche molto molta sempre adesso oggi ho hai abbiamo siamo della nella "
    # French
    "je j'ai c'est j'habite j'aime m'appelle n'ai n'est une dans avec nous vous suis sommes habite travaille aime "
    "aimons veux bonjour merci sœur soeur frère fils fille hier demain aussi jamais toujours maintenant "
    "aujourd'hui où quand parce très ans déteste préfère mange acheté ils elles j'étais j'adore "
    # German
    "ich und das nicht ist ein eine einen einem einer mit für auf wir mein meine meinen meiner habe hast haben "
    "sind wohne wohnt heiße heisse heißt arbeite arbeitet mag gerne gern kein keine keinen hallo danke schwester "
    "bruder sohn tochter mutter vater jahre gestern morgen heute auch immer nie jetzt weil wenn wo wie sehr liebe "
    "esse trinke spreche komme aus bei zu zum zur dem den vom ihr sie "
    # Dutch
    "ik het een niet mijn zijn woon woont heet werk werkt hou heb hebben vind dank zus broer zoon dochter moeder "
    "jaar gisteren morgen vandaag ook altijd nooit omdat waar wij jullie graag geen naar bij uit maar "
    # Swedish, Danish, Norwegian
    "och jag är inte att som på för vi ni ett jeg ikke og af av meg mig hedder heter bor jobbar arbejder tycker "
    "gillar syster søster soster bror også också aldrig altid alltid hvor hvad när når mycket meget "
    # Polish, Turkish, Finnish
    "nie jest mam mieszkam nazywam lubię moja mój bir benim çok ve ama ben hei minun olen asun enä myös".split()
)
_EITHER = frozenset(
    "la las los les des le un non van die min pas con mon sur op ja na se en er es bin um em il di lo har det der den "
    "ve mi vive del al tu te lui si yo soy".split()
)
"""Words that English has too, or that occur in its names: one of them says nothing about the language, two do."""
_STRONG = _ELSEWHERE - _EITHER - frozenset("odio casa ama ben mam som".split())
_TELLTALE = _STRONG | _EITHER
_OWN_STATEMENT = re.compile(
    r"\bI (?:am|live|lived|work|have|had|like|love|hate|need|want|prefer|use|moved|grew|study|take|drive|play|speak)\b"
    r"|\b[Mm]y [a-z]+(?: [A-Z]\w+)? (?:is|are|was|lives|works|has)\b"
)
"""Plain statements about oneself: their words are short, and not in the list."""
_BORROWED = frozenset("jalapeño jalapeños piñata niño señor".split())
_FOREIGN_LETTER = re.compile("[ßñãõåø\u0142\u015f\u011f\u0131\u0151\u0171\u011b\u0159\u016f\u0119\u0105]")
_OTHER_SCRIPT = re.compile(
    "[\u0370-\u03ff\u0400-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u10ff\u3040-\u30ff"
    "\u3400-\u9fff\uac00-\ud7af]"
)
_LETTER = re.compile(r"[^\W\d_]")
_SAMPLE = 400
"""Characters of a text that are looked at."""
_LONG = 6
"""Words from which on a single foreign one is taken for a quotation or a name."""


def is_english(text: str) -> bool:
    """Return whether a text may be read with the rules.

    A few words that could be any language may. Text in which a third of the letters are of another script may not.
    """
    sample = text[:_SAMPLE]
    ascii_only = sample.isascii()
    if not ascii_only and 3 * len(_OTHER_SCRIPT.findall(sample)) > len(_LETTER.findall(sample)):
        return False
    if ascii_only and _TELLTALE.isdisjoint(_WORDS.findall(sample.lower())):
        return True
    words = _WORDS.findall(sample if ascii_only else sample.replace("\u2019", "'"))
    # A word in capitals is an abbreviation: "MIT" is not the German word.
    small = [word.lower() for word in words if len(word) < 2 or not word.isupper()]
    foreign = sum(map(_STRONG.__contains__, small))
    either = sum(map(_EITHER.__contains__, words))
    if not ascii_only:
        foreign += sum(
            word.islower() and word not in _BORROWED and _FOREIGN_LETTER.search(word) is not None for word in words
        )
    if foreign or either > 1:
        foreign += either
    if not foreign:
        return True
    english = sum(map(_ENGLISH.__contains__, small)) + 2 * len(_OWN_STATEMENT.findall(sample))
    return foreign <= english or (foreign < 2 and len(words) > _LONG and english > 0)
