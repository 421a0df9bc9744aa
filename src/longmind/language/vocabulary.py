"""English words with a function in a statement; every other word is part of its topic.

`statement.py` reads the lists to find denials, plans, hedges and times; facts are compared by the words that are left.

Words are written as tokens are: in lower case and without apostrophes, so that "don't" is `dont`. They are not stems:
"thinking" is a hedge, and "thought" says nothing. A word in none of the lists becomes part of a topic, so adding
one to a list makes more facts comparable, and removing one makes fewer facts the same.
"""

from __future__ import annotations

USER = frozenset("user i me my mine myself we us our ours".split())
"""The owner of the memory, as the extractor names them or as they speak of themselves."""

PRONOUNS = frozenset(
    "he him his himself she her hers herself it its itself they them their theirs themselves you your yours this "
    "that these those who whom whose which what one ones someone somebody something".split()
)

# Written without apostrophes, as tokens are.
DENIALS = frozenset(
    "not no never neither nor without cannot none nothing nobody isnt arent wasnt werent dont doesnt didnt havent "
    "hasnt hadnt wont wouldnt cant couldnt shouldnt mustnt aint hardly".split()
)
ENDINGS = frozenset("stopped stop stops quit quits quitted quitting ceased".split())
"""Verbs that deny what follows them from now on."""
HEDGES = frozenset(
    "might may maybe perhaps possibly probably could would considering consider considers considered thinking "
    "wondering wonder wonders hoping hopes hope plans planning plan planned wants want wanting wish wishes if "
    "unless almost nearly should can think thinks".split()
)
"""Words before something that is not certain, or not yet true."""
# Words before something that somebody means to do.
PLANS = frozenset("will shall going gonna looking trying intend intends intending aiming next".split())
# Words that say that something is so by now.
NOW = frozenset("now currently already nowadays recently lately far just moment current presently since".split())

EMPTY = frozenset(
    "get gets got getting gotten go goes going went gone make makes made making take takes took taking taken keep "
    "keeps kept feel feels felt feeling know knows knew known say says said ask asks asked tell told thought see seen "
    "saw really very quite pretty well actually even still only around approximately roughly over more most less "
    "least much many lot lots bit few several all both each every other others another same own new great good nice "
    "amazing awesome cool excited happy proud glad thing things stuff way kind sort type time times today tonight "
    "tomorrow yesterday day days week weeks month months year years morning afternoon evening night weekend ago "
    "before after during until again always usually often sometimes ever once twice latest last past total "
    "overall up down out off back here because though although however anyway oh hey hi yeah yes ok okay wow "
    "thanks thank please hand speaking part different definitely especially finally let lets pm first use used "
    "using longer anymore put gave given give giving started start starting starts begin began begun try tried "
    "tries instead raised increased lowered reduced postponed rescheduled extended delayed".split()
)
"""Words that occur in any sentence, in addition to the stop words of the index."""

TURNS = frozenset(
    "started began begun resumed restarted turned became raised increased lowered reduced upped bumped postponed "
    "rescheduled extended delayed pushed stopped quit gave".split()
)
"""Verbs of a change after which something else is true: "started", "raised"."""

PAST = frozenset(
    "was were had did went came saw took made got gave ran ate drank bought brought taught thought sold told said "
    "met sat stood slept swam sang spoke wrote read rode drove flew grew knew threw broke chose wore won lost "
    "left felt held kept led built sent spent caught found fell hurt cut put hit let began became used".split()
)
"""Irregular past forms."""

_SAME = (
    "live lives lived living reside resides resided relocate relocated relocating move moved moving moves based home",
    "work works working worked job jobs employed",
    "phone number mobile cell telephone",
    "buy buys bought purchase purchased purchasing",
    "finish finished finishing complete completed completing completes",
    "marry marries married marrying wedding weddings",
    "picture photo photograph",
    "movie film",
    "mom mother mum mama",
    "dad father papa",
    "bike bicycle",
    "love loves loved like likes liked enjoy enjoys enjoyed",
)
SAME_AS = {word: words.split()[0] for words in _SAME for word in words.split()}
"""Words that mean the same when two facts are compared, each with the first of its group."""
