"""Places at which somebody keeps a thing, as slots: "User keeps the skis in the garage"."""

from __future__ import annotations

import re

from longmind.extraction.rules.slots.normalisation import WHO, find_topic, normalise_phrase
from longmind.extraction.rules.slots.slot_pattern import SOON, STOP, SlotPattern, compile_pattern


def _name_thing(found: re.Match[str]) -> str:
    """Return the thing that is kept, without who put it there."""
    return re.sub(r" by .*", "", normalise_phrase(found["what"]))


LOCATIONS: tuple[SlotPattern, ...] = (
    # "User keeps the skis in the garage".
    compile_pattern(
        lambda f, _: f"place of {_name_thing(f)}",
        "leave|keep|stor|hang|moved|put|hung|park",
        rf"{WHO} {SOON}(?:usually |always |will |to |sure to |makes? )*(?:keeps?|keeping|"
        rf"leaves?|stores?|storing|hangs?|hung|moved|put|parks?) (?:the |an? |[A-Z]\w*'s )(?P<what>(?:[\w'\"-]+ ){{0,6"
        rf"}}?[\w'\"-]+) (?:in)?(?P<value>(?:in|on|under|above|behind|beside|near|at|inside|next to|"
        rf"over) [^,.;!?()]+?){STOP}",
    ),
    # "User keeps them under the bed", of what the sentence before named.
    compile_pattern(
        lambda f, earlier: (
            f"place of {normalise_phrase(find_topic(f.string[: f.start('who')]) or find_topic(earlier))}"
        ),
        "it |them ",
        rf"{WHO} {SOON}(?:usually |always |will |to )*(?:keeps?|keeping|leaves?|stores?|storing|hangs?|hung|moved|put|"
        rf"parks?) "
        rf"(?:it|them) (?P<value>(?:in|on|under|above|behind|beside|near|inside|next to) [^,.;!?()]+?){STOP}",
    ),
    # "User moved the skis to the attic".
    compile_pattern(
        lambda f, _: f"place of {_name_thing(f)}",
        "moved",
        rf"{WHO} {SOON}moved (?:the |[A-Z]\w*'s )(?P<what>(?:[\w'\"-]+ ){{0,6}}?[\w'\"-]+) (?:from [^,.;!?()]+? "
        rf")?(?:in)?to "
        rf"(?=the |an? |[A-Z]\w*'s )(?P<value>[^,.;!?()]+?){STOP}",
    ),
    # "User's skis are stored in the basement".
    compile_pattern(
        lambda f, _: f"place of {_name_thing(f)}",
        "hanging|leave|stored|kept|parked|located",
        r"(?:the |(?P<owner>[A-Z]\w*)'s )(?P<what>(?:[\w'\"-]+ ){0,6}?[\w'\"-]+) (?:is |are |now |currently "
        r")*(?:hanging|"
        r"stored|kept|parked|located) (?P<value>(?:in|on|under|above|behind|beside|near|at|"
        rf"inside|next to|over) [^,.;!?()]+?){STOP}",
    ),
    # "The keys are in the kitchen drawer".
    compile_pattern(
        lambda f, _: f"place of {_name_thing(f)}",
        " is in | is on | is under | are in | are on | are under |s now |re now |s currently |re currently ",
        r"(?:\b[Tt]he |(?P<owner>[A-Z]\w*)'s )(?P<what>(?:[\w'\"-]+ ){0,6}?[\w'\"-]+) (?:is|are)(?: now| currently)? "
        r"(?P<value>"
        r"(?:in|on|under|behind|beside|inside|next to) (?:the |an? |[A-Z]\w*'s )(?:[\w'-]+ ){0,2}?(?:drawer|closet|box|"
        r"garage|basement|attic|shelf|rack|bed|bedroom|room|kitchen|hallway|cupboard|cabinet|wardrobe|desk|table|safe|"
        r"shed|"
        rf"trunk|bag|wall|pantry|fridge|freezer|storage|locker|pot|garden|porch|balcony|office)\b[^,.;!?()]*?){STOP}",
    ),
)
