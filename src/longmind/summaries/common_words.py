"""English words that are so common in conversations that they say little about any of them."""

from __future__ import annotations

from longmind.language.words import stem_of

_WORDS = (
    "able absolutely actually again ago all almost already always amazing another anything anyway area around ask "
    "away awesome awful back bad beautiful because become best better big bit bring call came care chance change come "
    "cool couple course create cute day deal decide definitely different easy else end enjoy enough especially even "
    "ever every everyone everything exactly excited exciting experience explore fact fantastic far feel feeling felt "
    "few find fine first forget forward found friend fun get give glad go going good got grateful great group guess "
    "guy happen happy hard hear heard help here hey hope hour huge idea important impressive incredible inspiring "
    "interesting journey joy keep kind know last lately later learn least leave less let life like listen little live "
    "long look lot love lovely made make many matter maybe mean meaning meet memory mind miss moment more most much "
    "must myself need never new next nice night now number off often oh old once one only open other out over own "
    "part pass pay peace people perfect person piece place plan pleasure plus point positive possible pretty probably "
    "proud put quite ready real really reason relax remind reminder right same say see seem sense set share show side "
    "since small someone something sometimes soon sort sound special spend spirit start stay step still stop strong "
    "stuff super support sure take talk team tell thank thanks thing think thought through time today together "
    "tomorrow tonight totally tough try turn understand unique up use useful usually very wait walk want watch way "
    "week well went whole wish wonder wonderful word work world worth wow wrong yeah year yes yesterday yet"
)

COMMON = frozenset(map(stem_of, _WORDS.split()))
