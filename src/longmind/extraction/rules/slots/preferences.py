"""Favourites, diets, and the things that somebody uses or has newly bought, as slots."""

from __future__ import annotations

from longmind.extraction.rules.slots.normalisation import OWNER, WHO, normalise_phrase, stem_phrase, stem_word
from longmind.extraction.rules.slots.slot_pattern import SOON, STOP, VALUE, SlotPattern, compile_pattern

_GEAR = (
    r"(?:lens|camera|tripod|phone|laptop|tablet|monitor|printer|headphones|earbuds|smartwatch|watch|bike|car|"
    r"truck|motorcycle|guitar|violin|cello|keyboard|piano|tv|console|microphone|drone|vacuum|blender|mixer|oven|fryer|"
    r"grill|fridge|mattress|couch|sofa|desk|chair|tent|backpack|kayak|surfboard|skis|(?:running |hiking |tennis )?"
    r"(?:shoes|boots|sneakers)|racket)"
)
"""Things of which one means the newest: after buying a camera, "my camera" is the new one."""

PREFERENCES: tuple[SlotPattern, ...] = (
    # "User is vegan".
    compile_pattern(
        "diet",
        "vegan|vegetarian|pescatarian|keto|omnivore|carnivore|paleo|flexitarian|halal|kosher|gluten-free",
        rf"{WHO} {SOON}(?:no longer |not )?(?:went |gone |turned |became |become |going |"
        r"eating |eats |follows? |on )?(?:an? )?(?:strict |mostly |full )?(?P<value>vegan|"
        r"vegetarian|pescatarian|keto|omnivore|carnivore|paleo|flexitarian|halal|kosher|gluten-free)\b(?! who\b)",
    ),
    # "User's favorite colour is green".
    compile_pattern(
        lambda f, _: f"favorite {normalise_phrase(f['what'])}",
        "favorite|favourite",
        rf"{OWNER} (?:all-time |current |new |absolute |personal )?(?:favorite|favourite) (?P<what>[a-z][\w -]*?) "
        rf"(?:is|are|has become|became|would be|(?:has )?changed to)(?: now| currently| definitely| probably)? {VALUE}",
    ),
    # "Green is User's favorite colour".
    compile_pattern(
        lambda f, _: f"favorite {normalise_phrase(f['what'])}",
        "favorite|favourite",
        rf"(?P<value>[A-Z][\w' -]+?) (?:is|are|has become|became) (?:now |currently |definitely )?{OWNER} (?:all-ti"
        r"me |new |current )?(?:favorite|favourite) (?P<what>[a-z][\w -]*?)(?=[,.;!?]|$| and |"
        r" but )",
    ),
    # "User has a new favorite café: Central".
    compile_pattern(
        lambda f, _: f"favorite {normalise_phrase(f['what'])}",
        "favorite|favourite",
        rf"{WHO} (?:now |also |just )*(?:has|found|discovered) (?:an? )?(?:new )?(?:favorite|favourite) "
        rf"(?P<what>[a-z][\w -]*?)"
        rf"(?::|,| -|, which is|, called) (?P<value>[A-Z][^,.;!?()]*?){STOP}",
    ),
    # "User's favorite show, Dark, …".
    compile_pattern(
        lambda f, _: f"favorite {normalise_phrase(f['what'])}",
        "favorite|favourite|go-to",
        rf"{OWNER} (?:new |current )?(?:favorite|favourite|go-to) (?P<what>(?:[A-Z]{{2,}} )?[a-z][\w -]*?), "
        rf"(?P<value>[A-Z][\w' &-]*?)"
        r"(?=[,.;!?]| to\b| and\b)",
    ),
    # "User is obsessed with Korean dramas".
    compile_pattern(
        lambda f, _: f"favorite {normalise_phrase(f['what'])}",
        "obsessed with|hooked on|fan of",
        rf"{WHO} (?:is |now |currently |has been |totally |really |a big |a huge )*(?:obsessed with|hooked on|fan of) "
        rf"(?P<value>(?:[A-Z]"
        r"[a-z][\w']* )+)(?P<what>(?:[A-Z]{2,} )?[a-z]\w+(?: [a-z]\w+){0,2}?)(?= (?:on|for|with|in|these|lately|right|"
        r"and)\b|[,.;!?])",
    ),
    # "User is currently reading Dune".
    compile_pattern(
        lambda f, _: f"current {stem_word(f['what'])}",
        "currently |now ",
        rf"{WHO} (?:is )?(?:now|currently) (?P<what>reading|watching|playing|learning|studying|training for) "
        rf"(?!about|up|more|into|on|some|with|the benefits)(?P<value>(?:the |an? )?[^,.;!?()]+?){STOP}",
    ),
    # "User uses Notion for notes".
    compile_pattern(
        lambda f, _: f"used for {normalise_phrase(f['what'])}",
        "use|switched|using",
        rf"{WHO} {SOON}(?:uses|(?:started )?using|switched(?: from [\w ]+?)? to) (?P<value>[A-Z][\w .'-]*?|"
        rf"(?:an? |the )[\w -]+?) (?:for|as) (?:[A-Z]\w*'s |an? |the )?(?P<what>[a-z][\w -]*?){STOP}",
    ),
    # "User just bought a new camera".
    compile_pattern(
        lambda f, _: f"newest {stem_phrase(f['what'])}",
        " new |just |recently ",
        rf"(?:{WHO} (?:has |also |actually |finally )*(?:just|recently) (?:got|bought|purchased|picked up|upgraded to|"
        rf"invested in)"
        rf"(?: [A-Z]\w*)? an? (?:brand )?(?:new )?|{WHO.replace('who>', 'has>')} (?:has )?(?:got|bought|purchased) "
        rf"an? (?:brand )?new |"
        rf"{OWNER} (?:brand )?new )(?:pair of )?(?P<value>(?:[\w.-]+ ){{1,4}}?(?P<what>{_GEAR}))\b",
    ),
    # "User doesn't eat meat"; the value is yes or no.
    compile_pattern(
        lambda f, _: f"eats {normalise_phrase(f['value'])}",
        "eat|drink|smoke",
        rf"{WHO} {SOON}(?P<no>doesn't|does not|no longer|never|stopped|quit|gave up)? ?"
        r"(?:(?:started|began|resumed|(?:went |gone )?back to) )?(?:eats?|"
        r"eating|drinks?|drinking|smokes?|smoking)(?: any)? (?P<value>(?:red |any )?(?:meat|"
        r"fish|dairy|gluten|pork|beef|sugar|alcohol|coffee|caffeine|eggs|nuts|seafood|soda|"
        r"cigarettes|chicken|bread|carbs))\b",
    ),
)
