"""Whether a text is English, which is all that the rules can take apart."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_ENGLISH = frozenset(
    "the i i'm i've and you your my is it it's of that this with have has are was for they he she we be been but what "
    "when where how who which would could should can't don't do does did not about there "
    "their from at just like get got "
    "think know really because want went thanks please yes yeah if or out up our been "
    "me her him them than then some".split()
)
_FOREIGN = frozenset(
    "och jag \u00e4r inte det att som p\u00e5 f\u00f6r med har vi ni mitt min en ett "
    "ich und der die das nicht ist ein eine mit f\u00fcr auf "
    "wir mein meine habe el la los las que es un una con por para mi yo no est\u00e1 "
    "muy pero le les des je ne pas est une dans "
    "pour sur avec mon ma nous vous c'est j'ai o os n\u00e3o um uma com eu meu minha "
    "\u00e9 em il lo gli di che non sono mio mia "
    "jeg ikke er og til af av som meg min mitt ik het een niet van mijn zijn op ja nie "
    "jest w z na do ve bir bu benim \u00e7ok "
    "hei minun on ja en ole se".split()
)
_SHARED = frozenset("no me on do es is in an so la en o un do we er him".split())
_ELSEWHERE = _FOREIGN - _SHARED
_OTHER_SCRIPT = re.compile(
    "[\u0370-\u03ff\u0400-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u10ff\u3040-\u30ff"
    "\u3400-\u9fff\uac00-\ud7af]"
)
_LETTER = re.compile(r"[^\W\d_]")


def is_english(text: str) -> bool:
    """Whether a text may be read with the rules; a few words that could be any language may."""
    sample = text[:400]
    if not sample.isascii() and 3 * len(_OTHER_SCRIPT.findall(sample)) > len(_LETTER.findall(sample)):
        return False
    words = _WORDS.findall(sample.lower().replace("\u2019", "'"))
    foreign = sum(map(_ELSEWHERE.__contains__, words))
    if not foreign:
        return True
    english = sum(map(_ENGLISH.__contains__, words))
    return foreign <= english or (foreign < 2 and len(words) > 6 and english > 0)
