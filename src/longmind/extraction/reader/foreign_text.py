"""Stretches of a message that are not the speaker's own statement: code, logs, quotations, drafts, pasted documents.

Nothing is read from them, so nothing in them can become a fact or a rule of the user. Other stretches are the
speaker's, but must stay letter for letter: addresses, paths, identifiers, code within a sentence.

A message is read line by line, then sentence by sentence, each of bounded length, so the time grows with the length of
the message only. Where a sign may be wrong, the text is taken for the speaker's: a paste mostly shows several signs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Stretch = tuple[int, int]
Lines = list[tuple[int, str]]
"""The lines of a message with their places."""

_LONGEST_WORDLESS = 400
"""Characters of a line without spaces; a longer one is data."""
_LONGEST_SENTENCE = 1_000
_FEWEST_QUOTED_WORDS = 3
_COVERED = 2 / 3
"""The share of foreign text from which a stretch is foreign that begins outside of it."""

# --- lines ---

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_QUOTED_LINE = re.compile(r"[ \t]*(?:>|\|)(?!\w)")
# Times at the beginning, levels, exceptions, prompts of a shell, tables of a command.
_LOG = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|\[\d{1,2}:\d\d(?::\d\d)?\]|"
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|NOTICE|PANIC)"
    r"(?:\]|:|[ ]+[\[{(\w])|Traceback \(most|File \"|at [\w.$<>]+\(|goroutine \d+|"
    r"(?:[\w.]+(?:Error|Exception|Warning)|fatal|panic|error)(?:\[\w+\])?: |[A-Z]{2,5}\d{2,}: |npm (?:ERR|WARN)|"
    r"\w+@[\w.-]+[:~][^ ]*[$#] |[$%] \w|>>> \w|In \[\d+\]:|[^ ]+(?: [^ ]+)*?(?<![.!?,;:])(?:[ ]{2,}|\t)[^ ]+"
    r"(?: [^ ]+)*?(?<![.!?,;:])(?:[ ]{2,}|\t)[^ ])"
)
_CODE = re.compile(
    r"[ \t]*(?:(?:def|class|import|from|return|function|const|let|var|public|private|static|async|await|func|fn|impl|"
    r"struct|enum|package|using|namespace|include|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN|"
    r"GROUP BY|ORDER BY|RUN|COPY|CMD|ENV|EXPOSE|WORKDIR|ENTRYPOINT)\b (?=.*[=(){};:<>*/\"'_.])|#(?:include|define|!)|"
    r"//|/\*|\*/|-- |<[!/?a-zA-Z][^ >]*[ >]|[\w.\[\]\"']+[ \t]*(?:[-+*/|]?=|:=|=>|->)[ \t]*\S|@[\w.]+(?:\(|$)|"
    r"(?:if|for|while|else|elif|switch|try|catch|except|with)\b.*[:{][ \t]*$|[})\]]+[;,)]*[ \t]*$|"
    r"[\w.]+\(.*\)[;{:]?[ \t]*$|- (?:name|uses|run|image|id):|[\w-]+:[ \t]*[*/]|\[[\w.-]+\][ \t]*$|"
    r"[\"']?[\w.-]+[\"']?:[ \t]*(?:[\"'\[{|>]|true\b|false\b|null\b))"
)
_CODE_END = re.compile(r"[;{}\\][ \t]*$")
_COMMENT = re.compile(r"[ \t]*(?:#+[ \t]|//|/\*|\*[ \t]|--[ \t]|<!--|;;?[ \t]|TODO\b|FIXME\b|NOTE:|XXX\b)")
_KEY = re.compile(r"[ \t]*[\w.-]+:[ \t]*$")
_MOST_WORDS_OF_CODE = 12

# --- mails ---

_HEADER = re.compile(
    r"[ \t*]*(?:from|to|cc|bcc|subject|sent|date|reply-to|betreff|von|an)[ \t]*\**:[ \t]*\S|"
    r"[- ]*(?:original message|forwarded message|begin forwarded message)\b|on .{4,80} wrote:[ \t]*$",
    re.IGNORECASE,
)
_HEADER_WITH_ADDRESS = re.compile(r"[ \t*]*(?:from|to|cc|reply-to)[ \t]*\**:[^\n@]{0,80}@", re.IGNORECASE)
_SALUTATION = re.compile(
    r"[ \t\"\u201c]*(?:(?:(?P<formal>dear)|hello|hi|hey|ol\u00e1|good (?:morning|afternoon|evening)) "
    r"(?!there\b|again\b|all i\b|assistant\b)(?:(?:mr|mrs|ms|dr|prof|sir|madam|team|all|everyone|hiring|customer|"
    r"client|guests|parents|editor|homeowner|professor)\b\.?|[A-Z][\w'-]+)[^.!?\n]{0,40}[,!]|"
    r"(?:hello|hi|hey|ol\u00e1)[!,] (?:i'm|i am|my name)\b|(?P<formal_too>to whom it may concern)\b)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"[ \t]*(?:(?:best|kind|warm|many|with kind|with best|warmest)?[ ]?(?:regards|wishes)|sincerely|yours (?:sincerely|"
    r"faithfully|truly)|cheers|best|thanks,|many thanks|love|xoxo|respectfully)(?:[,.!]|[ \t]*$)",
    re.IGNORECASE,
)

# --- lines that introduce what is not the speaker's ---

_TASK = re.compile(
    r"(?<!\bI )\b(?:proof-?read|spell-?check|translate|rephrase|paraphrase|reword|rewrite|summari[sz]e|shorten|polish|"
    r"tl;?dr|classify|fix (?:the |teh |my )?(?:\w+ )?(?:grammar|typos?|tone|spelling)|check (?:the|my) (?:grammar|"
    r"spelling|tone)|(?:is|check) the grammar|grammar check|grade th\w+|correct (?:this|the|my|these)|make (?:this|it) "
    r"(?:sound|more|less)|(?:sound|polite|formal)er|improve th\w+|explain th\w+|sounds? natural|what does "
    r"(?:this|that) (?:mean|do)|(?:\w+) (?:word )?for (?=[\"\u201c]))\b",
    re.IGNORECASE,
)
_TEXT_NOUN = (
    r"(?:(?:e-?)?mails?|letter|message|text|note|reply|response|post|tweet|review|bio|ad|listing|story|poem|song|"
    r"lyrics|speech|essay|script|prompt|comment|caption|clause|contract|article|page|abstract|paragraph|quote|blog|"
    r"readme|guide|ticket|chat|log|output|trace|snippet|config|file|transcript|minutes|verse|rules|toast|code|paste|"
    r"draft|presentation|sign)"
)
# "Is this mail from the bank real?", "tell me if the English makes sense".
_JUDGED = re.compile(
    r"\b(?:check|judge|review|look over|read (?:this|it|that)|tell me if|is (?:it|this|that|the)|does (?:it|this|that)|"
    r"which|legit|genuine|a scam|phishing|real\?|rubbish|too long|any (?:good|use)|what (?:do )?(?:you|u) think|"
    r"what is this|what'?s this|who sounds|make (?:a|an) \w+ (?:of|from) (?:it|this|them)|could this be)\b",
    re.IGNORECASE,
)
_NOUN = re.compile(rf"\b{_TEXT_NOUN}\b", re.IGNORECASE)
_RELAYED = re.compile(
    r"\b(?:sent (?:me |us )?(?:this|it|these|that|\w+ rules)|gave (?:me|us) th\w+|(?:she|he|they|who|\w+) (?:just )?"
    r"(?:wrote|posted|texted|replied) (?:this|me|us|it)\b|got this|forwarded|lemme paste|(?:i|let me) paste|pasted|"
    r"here(?:'s| is) what \w+ (?:wrote|sent|said|posted)|from a (?:blog|book|site|website|forum)|read (?:this|it|that) "
    r"(?:out|to me))\b|\bhere (?:it )?(?:is|goes|you go)\W*$",
    re.IGNORECASE,
)
_COLON = re.compile(
    r"(?:\b(?:wrote|sent|says|said|texted|replied|answered|reads|goes|pasted?|copied|forwarded|readme|stack ?trace|"
    rf"error|(?:the|a|an|his|her|their|its|my|our) {_TEXT_NOUN})\b[^:]*|\b(?:this|these|below|look)|"
    rf"\bfollowing(?: {_TEXT_NOUN})?):-?$",
    re.IGNORECASE,
)
# A list that such a line introduces is for the assistant: "remember this:", "for future answers:".
_OWN = re.compile(
    r"\b(?:remember|keep in mind|note|about me|facts|for you|future|from now|always|i told you|points|needs?|wants?|"
    r"rules? for|mails)\b",
    re.IGNORECASE,
)
_BACK_TO_ASSISTANT = re.compile(
    r"\?\s*$|^\s*(?:can|could|would|please|pls|what|how|why|is|does|do|any|make|just|only)\b", re.IGNORECASE
)

# --- sentences ---

_SENTENCE = re.compile(r"[^\s](?:[^.!?]|[.!?](?!\s|$)){0,1000}[.!?]*")
# "Write a mail that says …", "draft a review: …"
_DRAFT = re.compile(
    r"(?:^|[,;:] |\b(?:(?:can|could|would|will) (?:you|u|ya)|please|pls|plz|help me|and|then|now|just|ok|okay|me) |"
    r"\bto (?=write|draft|compose|prepare|reply|respond|generate|create))"
    r"(?:write|draft|compose|prepare|make|type|reply|respond|answer|tell|text|email|send|generate|create|put)\b"
    r"[^\n:\"\u201c]{0,60}?\b(?:mail|e-?mail|letter|message|text|note|reply|response|post|tweet|review|bio|ad|advert|"
    r"listing|story|poem|song|speech|toast|dialogue|scene|essay|script|persona|comment|caption|status|invite|"
    r"invitation|complaint|apology|resignation|sms|whatsapp|slack|card|monologue|testimonial|template|opening|"
    r"greeting|him|her|them)\b",
    re.IGNORECASE,
)
_DRAFT_CONTENT = re.compile(
    r"\b(?:that says?|which says?|saying|says|telling (?:him|her|them|\w+)|stating|explaining|something like|along the "
    r"lines of|where (?:i|the)|in which i|as if i|from the (?:view|perspective|point of view) of|in the voice of|"
    r"to say|that i|that we|that my|with the text|like i|about how i|(?:starts?|begins?|starting) with|first line|"
    r"do it say|say i|say my|in first person)\b|[:\u201c\"]",
    re.IGNORECASE,
)
_NEAR = 80
"""Characters between a draft and its content."""
_ADDITION = re.compile(
    r"\s*(?:(?:and|now|please|pls|also|ok|then|yes|no),? )*(?:add|include|mention|say|write|put in)(?: in it)? "
    r"(?:that |something like )?(?=(?:i|i'm|im|i've|my|we|we're)\b)",
    re.IGNORECASE,
)
_IMAGINED = re.compile(
    r"(?:(?:^|[,:;] )(?:(?:ok|so|now|just|and|but) )?(?:imagine|suppose|supposing|hypothetically|assume)"
    r"|\b(?:let'?s|lets|let us) (?:say|assume|suppose|imagine|pretend)|\bsay (?:i|we) (?:were|was|had|am|earn|live|own)"
    r"|\bif (?:i|we|it) (?:were|was|had(?! to)|ever|lived|owned|worked|would|won|could have)|\bwhat if|\bfor the "
    r"(?:story|novel|game|character|scene|role)|\bmy character|\bthe (?:narrator|protagonist|speaker says)|\bin the "
    r"(?:story|novel|film|movie|script)|\bin this story|\b(?:it'?s|this is) from a (?:textbook|book|film|novel))\b",
    re.IGNORECASE,
)
# "Yeah right, and tomorrow I quit": the opposite is meant.
_IRONY = re.compile(
    r"(?:oh |well |haha )?(?:yeah,? right|yeah,? sure|as if|oh (?:great|joy|sure|wonderful)|(?:great|"
    r"wonderful), another)\b",
    re.IGNORECASE,
)
# "In Dallas you need a car": it is so for anybody.
_ANYBODY = re.compile(
    r"\b(?:[Hh]ere|[Ii]n [A-Z][\w-]+),? (?=you (?:just |really |always )?(?:need|have to|can|can't|must|never|get)\b)"
)
# "Use bullet points here": it ends with the answer.
_FOR_NOW = re.compile(
    r"\b(?:this time|for now|just this once|(?:in|for|keep) this (?:one|answer|reply|story|chat|mail))\b|"
    r"\bhere(?=[.!]?$)",
    re.IGNORECASE,
)
# "The function should always return a list": what is asked to be written.
_SPECIFICATION = re.compile(
    r"(?:the|your) (?:function|script|method|class|query|regex|code|program) (?:should|must|has to|"
    r"may)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"(?:\W*\b(?:and|ok|please|pls|just|only|now|so)\b)*\W*(?:use|write|make|keep|give|show|don'?t|do not|no|answer|"
    r"explain|"
    r"put|tell|skip|leave|in this|for this|recipe|without)\b",
    re.IGNORECASE,
)
# Questions that tell nothing of who asks; "can you recommend …" often does.
_ASKING = re.compile(
    r"(?:(?:and|so|but|ok|hey|also|um|like|well),? )*(?:who|whose|what(?! about)|which|where|when|why|how(?! about)|"
    r"is|are|"
    r"was|were|do|does|did)\b(?!.*(?:recommend|suggest|\$))[^.!]{0,100}\?$",
    re.IGNORECASE,
)
# "My answers get cut off" speaks of the talk, and not of the speaker.
_OF_ANSWERS = re.compile(r"(?:my|the|your) answers? (?:keep|keeps|get|gets|are|is|was|were)\b", re.IGNORECASE)
_OF_SPEAKER = re.compile(
    r"\b(?:i|i'm|im|i've|ive|i'd|i'll|me|my|mine|myself|we|we're|we've|us|our|ours)\b", re.IGNORECASE
)
# All that follows on the line is played.
_PLAYED = re.compile(
    r"(?<!\bI )(?<!he )(?<!ey )\bpretend (?:to be|that|you|i|i'?m|we|this|it)\b|\brole-?play|"
    r"\bact as (?:a|an|if|my|the)\b|"
    r"\bin character\b|\bbe my interviewer\b|\bplay(?:ing)? (?:a |an |the |my |your )?(?:\w+ )?(?:interviewer|"
    r"recruiter|customer|client|examiner|judge|pirate|detective|patient|waiter|character|role of|part of the|devil)\b|"
    r"\bdialogue for\b|\bcontinue the (?:rhyme|story|poem|song)\b",
    re.IGNORECASE,
)
_SPOKEN_QUOTE = re.compile(
    r"\b(?:says?|saying|said|goes|reads|wrote|posted)[,:]? (?:(?=(?:hi|hello|hey|dear)\b)|(?:listen )?quote )",
    re.IGNORECASE,
)
_UNQUOTE = re.compile(r"\bunquote\b", re.IGNORECASE)
_BUT = re.compile(r"[,;]? (?:but|though|however|and then|anyway)\b|; | - | \u2013 ", re.IGNORECASE)
_IMAGINED_BEFORE = re.compile(r"\b(?:i'd|i would|we'd|we would)\b[^.!?]{0,80}$", re.IGNORECASE)

# --- quotations ---

# What was sent along, as chat exports write it: "[shared photo: a red bike]".
_ATTACHMENT = re.compile(r"\[(?:shared|sent|attached)\b[^\[\]\n]{0,600}\]", re.IGNORECASE)
_QUOTATION = re.compile(
    '"([^"\n]{1,600})"|\u201c([^\u201d\n]{1,600})\u201d|\u00ab([^\u00bb\n]{1,600})\u00bb'
    "|(?<!\\w)'((?=[A-Z])(?:[^'\n]|(?<=\\w)'(?=\\w)){15,600})'(?!\\w)"
)
_PASTED_QUOTATION = re.compile('(?m)^[ \t]*(?:"[^"\u201c\u201d]{1,3000}"|\u201c[^"\u201c\u201d]{1,3000}\u201d)[ \t]*$')
# A title or a name has none of these.
_SAYS_SOMETHING = re.compile(
    r"\b(?:i|i'm|im|i've|i'd|i'll|my|me|mine|we|we're|our|us|you|your|he|she|they|it|it's|is|are|was|were|have|has|"
    r"had|do|does|don't|did|will|would|can|cannot|can't|should|must|always|never|please|from now|not|no|only|use)\b",
    re.IGNORECASE,
)

# --- words that stay as they are ---

_VERBATIM = re.compile(
    r"`[^`\n]{1,300}`"
    r"|[A-Za-z][\w+.-]{0,30}://[^\s<>\"')\]]{1,600}"
    r"|(?<![\w.])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"
    r"|(?<![\w.])@[\w.]{2,40}\w"
    r"|(?<![\w/.~])(?:~|\.{1,2})?/[\w.@%+-]+(?:/[\w.@%+-]*)*"
    r"|\b[A-Za-z]:\\(?:[^\s\"<>|\\]+(?: [^\s\"<>|\\]+)*\\)*[^\s\"<>|]{0,100}"
    r"|(?<![\w.@])(?:[\w-]{1,63}\.){1,8}(?:com|org|net|io|dev|me|us|eu|de|at|ch|uk|fr|it|es|nl|co|ai|app|edu|gov|info|"
    r"example|local|internal|test|invalid)\b(?:[:/][^\s,;)\"']*)?"
    r"|(?<![\w-])[\w-]{0,80}\w\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|php|c|h|cpp|cs|sh|sql|md|txt|json|ya?ml|toml|ini|"
    r"cfg|csv|xlsx?|"
    r"docx?|pdf|png|jpe?g|log|env|lock|html?|css|scss|vue|svelte|ipynb|tf|proto)\b"
    r"|(?<!\w)--?[a-z][\w-]*(?:=\S+)?"
    r"|\b\w{0,80}?(?:\w_\w|[a-z]\d{1,9}[a-z]|[a-z][A-Z])\w*\b"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"
    # The country, which is no pronoun: "the US and EU", "ships to the us".
    r"|\bU\.S\.(?:A\.)?|\bUSA?\b|(?<=\bthe )us\b(?= (?:and|or|so|but|market|office|embassy)\b|[.,;!?]|$)"
)


@dataclass(frozen=True)
class OwnText:
    """A message as far as its speaker speaks in it."""

    foreign: tuple[Stretch, ...]
    """Stretches from which nothing is read, in their order; they do not overlap."""
    pasted: bool
    """True if most of the message is foreign: what is left over is rarely about its speaker."""

    def is_foreign(self, start: int, end: int) -> bool:
        """Return whether a stretch begins in foreign text, or lies mostly in it.

        A statement may end in a quotation: "he says 'I only eat beige food', and he means it".
        """
        place = max(0, bisect_right(self.foreign, (start, start)) - 1)
        covered = 0
        while place < len(self.foreign) and self.foreign[place][0] < end:
            low, high = self.foreign[place]
            if low <= start < high:
                return True
            covered += max(0, min(high, end) - max(low, start))
            place += 1
        return covered > _COVERED * (end - start)


def find_own_text(text: str) -> OwnText:
    """Find what of a message is not its speaker's."""
    lines = list(_split_lines(text))
    marks = [_is_foreign_line(line) for _, line in lines]
    _mark_fences(lines, marks)
    _mark_neighbours(lines, marks)
    _mark_mails(lines, marks)
    _mark_after_introduction(lines, marks)
    foreign = [(at, at + len(line)) for (at, line), mark in zip(lines, marks, strict=True) if mark]
    foreign += [found.span() for found in _PASTED_QUOTATION.finditer(text) if len(found[0].split()) > 3]
    for (at, line), mark in zip(lines, marks, strict=True):
        if not mark:
            foreign += [(at + low, at + high) for low, high in _find_in_line(line)]
    size = sum(high - low for low, high in _join(sorted(foreign)))
    for (at, line), mark in zip(lines, marks, strict=True):
        if not mark:
            foreign += [(at + low, at + high) for low, high in _find_passing(line)]
    return OwnText(tuple(_join(sorted(foreign))), size * 2 > len(text))


def find_verbatim(text: str) -> list[Stretch]:
    """Return the stretches of a text that no rule of language may touch: addresses, paths, identifiers, code."""
    return [found.span() for found in _VERBATIM.finditer(text)]


def _split_lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _is_foreign_line(line: str) -> bool:
    if _QUOTED_LINE.match(line):
        return True
    if len(line) > _LONGEST_WORDLESS * 2 and len(line) > _LONGEST_WORDLESS // 10 * (line.count(" ") + 1):
        return True
    head = line[:_LONGEST_SENTENCE]
    return bool(head.strip()) and (_LOG.match(head) is not None or _looks_like_code(head))


def _looks_like_code(line: str) -> bool:
    words = len(line.split())
    if _CODE.match(line):
        # "Budget = 400 euros for the whole trip" is no code, though it has an equals sign.
        return words < _MOST_WORDS_OF_CODE or _CODE_END.search(line) is not None
    return _CODE_END.search(line) is not None and words > 1


def _mark_fences(lines: Lines, marks: list[bool]) -> None:
    inside = False
    for place, (_, line) in enumerate(lines):
        fence = _FENCE.match(line) is not None
        if inside or fence:
            marks[place] = True
        if fence and line.count("```") != 2:
            inside = not inside


def _mark_neighbours(lines: Lines, marks: list[bool]) -> None:
    """Mark comments and indented lines beside code, and the indented lines under a key: they are code, too."""
    for place in range(len(lines) - 1):
        if _KEY.match(lines[place][1]) and lines[place + 1][1].startswith(("  ", "\t")):
            marks[place] = marks[place + 1] = True
    for step in (1, -1):
        for place in range(1, len(lines)) if step > 0 else range(len(lines) - 2, -1, -1):
            line = lines[place][1]
            beside = marks[place - step]
            if beside and not marks[place] and (_COMMENT.match(line) or line.startswith(("  ", "\t"))):
                marks[place] = True


def _mark_mails(lines: Lines, marks: list[bool]) -> None:
    """Mark mails: from their headers or salutation to their closing and a name, or to the end of the message."""
    closings = [place for place, (_, line) in enumerate(lines) if _CLOSING.match(line)]
    last_closing = closings[-1] if closings else -1
    place = 0
    while place < len(lines):
        if not _begins_mail(lines, place, closes=last_closing > place):
            place += 1
            continue
        end = _find_end_of_mail(lines, place)
        marks[place:end] = [True] * (end - place)
        place = end


def _begins_mail(lines: Lines, place: int, *, closes: bool) -> bool:
    line = lines[place][1]
    if _HEADER.match(line):
        headers = sum(_HEADER.match(each) is not None for _, each in lines[place : place + 3])
        return headers >= 2 or _HEADER_WITH_ADDRESS.match(line) is not None
    found = _SALUTATION.match(line)
    if found is None:
        return False
    # "Hi Claude, …" greets the assistant, unless a closing follows or something stands before it.
    formal = found["formal"] or found["formal_too"]
    return (closes and len(lines) - place > 2) or place > 0 or formal is not None


def _find_end_of_mail(lines: Lines, place: int) -> int:
    for number in range(place + 1, len(lines)):
        if _CLOSING.match(lines[number][1]):
            end = number + 1
            # The name under the closing.
            while end < len(lines) and end <= number + 2 and 0 < len(lines[end][1].split()) <= 4:
                end += 1
            return end
    return _find_end_of_paste(lines, place + 1)


def _mark_after_introduction(lines: Lines, marks: list[bool]) -> None:
    """Mark what follows "translate this", "here is what she wrote:" or "is this mail real?" on lines of its own."""
    for place, (_, line) in enumerate(lines[:-1]):
        if marks[place] or not _introduces(line[-_LONGEST_SENTENCE:].strip()):
            continue
        end = _find_end_of_paste(lines, place + 1)
        marks[place + 1 : end] = [True] * (end - place - 1)
        return


def _introduces(line: str) -> bool:
    if _TASK.search(line):
        return True
    if _RELAYED.search(line) or (_NOUN.search(line) and _JUDGED.search(line)):
        return True
    return _COLON.search(line) is not None and _OWN.search(line) is None


def _find_end_of_paste(lines: Lines, first: int) -> int:
    """Return the end of a paste: of its quotation, or else of the message.

    The last paragraph is none of it if that speaks to the assistant again.
    """
    if first < len(lines) and lines[first][1].lstrip()[:1] in tuple('"\u201c'):
        for place in range(first, len(lines)):
            if lines[place][1].rstrip()[1:].endswith(('"', "\u201d")):
                return place + 1
    for place in range(len(lines) - 1, first, -1):
        if not lines[place - 1][1].strip() and _BACK_TO_ASSISTANT.search(lines[place][1]):
            return place
    return len(lines)


def _find_in_line(line: str) -> Iterator[Stretch]:
    """Yield the foreign stretches of a line: quotations, drafts, attachments, what is played."""
    for found in _QUOTATION.finditer(line):
        words = found[1] or found[2] or found[3] or found[4]
        if len(words.split()) >= _FEWEST_QUOTED_WORDS and _SAYS_SOMETHING.search(words):
            yield found.span()
    for found in _ATTACHMENT.finditer(line):
        yield found.span()
    played = _PLAYED.search(line)
    if played is not None:
        yield played.start(), len(line)
    task = _TASK.search(line)
    if task is not None and (colon := line.find(":", task.end(), task.end() + _LONGEST_SENTENCE)) >= 0:
        yield colon, len(line)
    for sentence in _SENTENCE.finditer(line):
        yield from _find_in_sentence(line, sentence[0], sentence.start())


def _find_in_sentence(line: str, sentence: str, at: int) -> Iterator[Stretch]:
    draft = _DRAFT.search(sentence)
    if draft is not None:
        content = _DRAFT_CONTENT.search(sentence, draft.end(), draft.end() + _NEAR)
        if content is not None:
            # A draft after a colon goes to the end of the line, another one to the end of the sentence.
            whole = content[0] in ':\u201c"'
            yield at + content.start(), len(line) if whole else at + len(sentence)
    addition = _ADDITION.match(sentence)
    if addition is not None:
        yield at + addition.end(), at + len(sentence)
    if _IRONY.match(sentence) or _SPECIFICATION.match(sentence):
        yield at, at + len(sentence)
    for anybody in _ANYBODY.finditer(sentence):
        yield at + anybody.end(), at + len(sentence)
    spoken = _SPOKEN_QUOTE.search(sentence)
    if spoken is not None:
        unquote = _UNQUOTE.search(line, at + spoken.end(), at + spoken.end() + _LONGEST_SENTENCE)
        yield at + spoken.end(), unquote.end() if unquote else len(line)
    for low, high in _find_imagined(sentence):
        yield at + low, at + high


def _find_passing(line: str) -> Iterator[Stretch]:
    """Yield the sentences that only ask, and the instructions that end with the answer: they state nothing."""
    for found in _SENTENCE.finditer(line):
        sentence, at = found[0], found.start()
        asks = _ASKING.match(sentence) is not None and not _OF_SPEAKER.search(sentence)
        if asks or _OF_ANSWERS.match(sentence):
            yield at, at + len(sentence)
        passing = _FOR_NOW.search(sentence)
        if passing is not None and _REQUEST.match(sentence) and not _OF_SPEAKER.search(sentence, 0, passing.start()):
            yield at, at + passing.end()


def _find_imagined(sentence: str) -> Iterator[Stretch]:
    """Yield the parts of a sentence that are only imagined, up to a "but"."""
    for found in _IMAGINED.finditer(sentence):
        before = _IMAGINED_BEFORE.search(sentence, max(0, found.start() - 120), found.start())
        end = _BUT.search(sentence, found.end())
        yield before.start() if before else found.start(), end.start() if end else len(sentence)


def _join(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    pending: Stretch | None = None
    for low, high in stretches:
        if pending is not None and low <= pending[1] + 1:
            pending = (pending[0], max(pending[1], high))
        else:
            if pending is not None:
                yield pending
            pending = (low, high)
    if pending is not None:
        yield pending
