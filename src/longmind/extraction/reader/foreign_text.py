"""Stretches of a message that are not the speaker's own statement: code, logs, quotations, drafts, pasted documents.

Nothing is read from them, so nothing in them can become a fact or a rule of the user. Other stretches are the
speaker's, but must stay letter for letter: addresses, paths, identifiers, code within a sentence.

All patterns are tried line by line, on lines of bounded length, so the time grows with the length of the message only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Stretch = tuple[int, int]

_LONGEST_LINE = 4_000
"""Characters of a line; a longer one is no chat, but data."""
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_QUOTED_LINE = re.compile(r"[ \t]*(?:>|\|)(?!\w)")
# Headers of a mail, and what stands above a forwarded one.
_HEADER = re.compile(
    r"[ \t*]*(?:from|to|cc|bcc|subject|sent|date|reply-to|betreff|von|an)[ \t]*\**:[ \t]*\S|"
    r"[- ]*(?:original message|forwarded message|begin forwarded message)\b|on .{4,80} wrote:[ \t]*$",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"[ \t\"\u201c]*(?:(?:dear|hello|hi|hey|good (?:morning|afternoon|evening)) (?!there\b|again\b|all i\b)"
    r"(?:(?:mr|mrs|ms|dr|prof|sir|madam|team|all|hiring|customer|professor)\b\.?|[A-Z][\w'-]+)[^.!?\n]{0,40},"
    r"|to whom it may concern\b.{0,3})[ \t]*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"[ \t]*(?:(?:best|kind|warm|many|with kind|with best|warmest)?[ ]?(?:regards|wishes)|sincerely|yours (?:sincerely|"
    r"faithfully|truly)|cheers|best|thanks,|many thanks|love|xoxo|respectfully)[,.!]?[ \t]*(?:\n|$)",
    re.IGNORECASE,
)
_LOG = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|(?:\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|"
    r"CRITICAL|NOTICE|PANIC)\]?[ :\]])|Traceback \(most|File \"|at [\w.$<>]+\(|goroutine \d+|(?:[\w.]+(?:Error|"
    r"Exception|Warning)|fatal|panic|error)(?:\[\w+\])?: |[A-Z]{2,5}\d{2,}: |npm ERR|\w+@[\w.-]+[:~][^ ]*[$#] |[$%] "
    r"\w|>>> |\.\.\. |In \[\d+\]:)"
)
_CODE = re.compile(
    r"[ \t]*(?:(?:def|class|import|from|return|function|const|let|var|public|private|static|async|await|func|fn|impl|"
    r"struct|enum|package|using|namespace|include|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN|GROUP BY|"
    r"ORDER BY|RUN|COPY|CMD|ENV|EXPOSE|WORKDIR|ENTRYPOINT)\b (?=.*[=(){};:<>*/\"'_.])|#(?:include|define|!)|//|/\*|\*/|--"
    r" |<[!/?a-zA-Z][^ >]*[ >]|[\w.\[\]\"']+[ \t]*(?:[-+*/|]?=|:=|=>|->)[ \t]*\S|@[\w.]+(?:\(|$)|(?:if|for|while|else|elif|"
    r"switch|try|catch|except|with)\b.*[:{][ \t]*$|[})\]]+[;,)]*[ \t]*$|[\w.]+\(.*\)[;{:]?[ \t]*$|- (?:name|uses|run|image|"
    r"id):|[\"']?[\w.-]+[\"']?:[ \t]*(?:[\"'\[{|>\d]|true\b|false\b|null\b))"
)
_CODE_END = re.compile(r"[;{}\\][ \t]*$")
_COMMENT = re.compile(r"[ \t]*(?:#+[ \t]|//|/\*|\*[ \t]|--[ \t]|<!--|;;?[ \t]|TODO\b|FIXME\b|NOTE:|XXX\b)")
# A line that says that what follows it is not the speaker's.
_PASTE = re.compile(
    r"\b(?:proof-?read|spell-?check|translate|rephrase|paraphrase|reword|rewrite|summari[sz]e|shorten|polish|edit|"
    r"correct|format|grammar|improve|tidy|clean up|here(?:'s| is| are)|this is|below|following|pasted?|paste|copied|got "
    r"this|received|forward(?:ed|ing)?|fwd|(?:he|she|they|it|who|boss|manager|landlord|client|customer|mom|mum|dad) "
    r"(?:just )?(?:wrote|sent|says|said|texted|replied|answered)|(?:wrote|says|said|reads|goes|texted)|readme|log|logs|"
    r"output|stack ?trace|error|mail|e-?mail|letter|message|review|lyrics|poem|quote|article|page|post|tweet|doc|"
    r"document|paragraph|text|abstract|essay|cover letter|bio|ad|listing|transcript|minutes|agenda|prompt|snippet|code|"
    r"script|config|file|draft)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:proof-?read|spell-?check|translate|rephrase|paraphrase|reword|rewrite|summari[sz]e|shorten|polish|fix the "
    r"(?:grammar|typos?|tone)|check (?:the|my) (?:grammar|spelling)|grammar check|correct (?:this|the|my|these)|make "
    r"(?:this|it) (?:sound|more|less)|(?:sound|polite|formal)er?)\b",
    re.IGNORECASE,
)
# "Write a mail that says …", "draft a review: …"
_DRAFT = re.compile(
    r"\b(?:write|draft|compose|prepare|make|type|reply|respond|answer|tell|text|email|say|send|put|generate|create)\b"
    r"(?:[^\n.!?:]{0,60}?)\b(?:mail|e-?mail|letter|message|text|note|reply|response|post|tweet|review|bio|ad|advert|"
    r"listing|story|poem|song|speech|toast|dialogue|scene|essay|script|persona|prompt|comment|caption|status|invite|"
    r"invitation|complaint|apology|resignation|sms|whatsapp|slack|card|monologue|letter of \w+|cover letter|"
    r"testimonial|him|her|them)\b",
    re.IGNORECASE,
)
_DRAFT_CONTENT = re.compile(
    r"\b(?:that says?|which says?|saying|says|telling (?:him|her|them|\w+)|stating|explaining|smth like|something like|"
    r"along the lines of|where i|in which i|as if i|from the (?:view|perspective|point of view) of|in the voice of|"
    r"to say|that|with the text|like|about how)\b|[:\u201c\"]",
    re.IGNORECASE,
)
_PLAY = re.compile(
    r"\b(?:pretend|role-?play(?:ing)?|act as|imagine|suppose|supposing|hypothetically|let'?s say|lets say|let us say|"
    r"say i (?:were|was|had|am)|what if|if i (?:were|was|had|ever|lived|owned|worked)|if we (?:were|had)|you are (?:a|an|"
    r"the|my) |you're (?:a|an|the) |play (?:a|an|the) \w+|in character|stay in character|for the (?:story|novel|game|"
    r"character|scene|role)|my character|the narrator|the protagonist|in the (?:story|novel|book|play|film|movie|"
    r"script))\b",
    re.IGNORECASE,
)
_STORY = re.compile(
    r"\b(?:pretend|role-?play(?:ing)?|act as|in character|play (?:a|an|the|my) \w+|be my interviewer)\b", re.I
)
_QUOTATION = re.compile('"([^"\n]{1,600})"|\u201c([^\u201d\n]{1,600})\u201d|\u00ab([^\u00bb\n]{1,600})\u00bb')
_FEWEST_QUOTED_WORDS = 3
_VERBATIM = re.compile(
    r"`[^`\n]{1,300}`"
    r"|[A-Za-z][\w+.-]{0,30}://[^\s<>\"')\]]{1,600}"
    r"|(?<![\w.])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"
    r"|(?<![\w/.~])(?:~|\.{1,2})?/[\w.@%+-]+(?:/[\w.@%+-]*)*"
    r"|\b[A-Za-z]:\\[^\s\"<>|]{1,300}"
    r"|(?<![\w.@])(?:[\w-]{1,63}\.){1,8}(?:com|org|net|io|dev|me|us|eu|de|at|ch|uk|fr|it|es|nl|co|ai|app|edu|gov|info|"
    r"example|local|internal|test|invalid)\b(?:[:/][^\s,;)\"']*)?"
    r"|\b[\w-]*\w\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|php|c|h|cpp|cs|sh|sql|md|txt|json|ya?ml|toml|ini|cfg|csv|xlsx?|"
    r"docx?|pdf|png|jpe?g|log|env|lock|html?|css|scss|vue|svelte|ipynb|tf|proto)\b"
    r"|(?<!\w)--?[a-z][\w-]*(?:=\S+)?"
    r"|\b\w*(?:\w_\w|[a-z]\d+[a-z]|[a-z][A-Z])\w*\b"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"
    r"|\bU\.?S\.?(?:A\.?)?\b"
)


@dataclass(frozen=True)
class OwnText:
    """A message as far as its speaker speaks in it."""

    foreign: tuple[Stretch, ...]
    """Stretches from which nothing is read, in their order."""
    pasted: bool
    """True if most of the message is foreign: what is left over is rarely about its speaker."""

    def is_foreign(self, start: int, end: int) -> bool:
        """Return whether a stretch lies in foreign text, even in part."""
        return any(low < end and high > start for low, high in self.foreign)


def find_own_text(text: str) -> OwnText:
    """Find what of a message is not its speaker's."""
    lines = list(_split_lines(text))
    marks = [_is_foreign_line(line) for _, line in lines]
    _mark_fences(lines, marks)
    _mark_neighbours(lines, marks)
    _mark_mails(lines, marks)
    _mark_after_introduction(lines, marks)
    foreign = [(at, at + len(line)) for (at, line), mark in zip(lines, marks, strict=True) if mark]
    for (at, line), mark in zip(lines, marks, strict=True):
        if not mark:
            foreign += [(at + low, at + high) for low, high in _find_in_line(line)]
    joined = tuple(_join(sorted(foreign)))
    size = sum(high - low for low, high in joined)
    return OwnText(joined, size * 2 > len(text))


def find_verbatim(text: str) -> list[Stretch]:
    """Return the stretches of a text that no rule of language may touch: addresses, paths, identifiers, code."""
    return [found.span() for found in _VERBATIM.finditer(text)]


def _split_lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _is_foreign_line(line: str) -> bool:
    if len(line) > _LONGEST_LINE or _QUOTED_LINE.match(line):
        return True
    return bool(line.strip()) and (_LOG.match(line) is not None or _looks_like_code(line))


def _looks_like_code(line: str) -> bool:
    words = line.split()
    if _CODE.match(line):
        # "Budget = 400 euros for the whole trip" is no code, though it has an equals sign.
        return len(words) < 12 or _CODE_END.search(line) is not None
    return _CODE_END.search(line) is not None and len(words) > 1


def _mark_fences(lines: list[tuple[int, str]], marks: list[bool]) -> None:
    inside = False
    for place, (_, line) in enumerate(lines):
        fence = _FENCE.match(line) is not None
        if inside or fence:
            marks[place] = True
        if fence and line.count("```") != 2:
            inside = not inside


def _mark_neighbours(lines: list[tuple[int, str]], marks: list[bool]) -> None:
    """A comment, or an indented line, beside code is code."""
    for order in (range(1, len(lines)), range(len(lines) - 2, -1, -1)):
        step = 1 if order.step > 0 else -1
        for place in order:
            line = lines[place][1]
            beside = marks[place - step]
            if beside and not marks[place] and (_COMMENT.match(line) or line.startswith(("    ", "\t", "  "))):
                marks[place] = True


def _mark_mails(lines: list[tuple[int, str]], marks: list[bool]) -> None:
    """A mail begins with its headers or its salutation, and ends with its closing and a name, or with the message."""
    place = 0
    while place < len(lines):
        line = lines[place][1]
        headers = sum(_HEADER.match(each) is not None for _, each in lines[place : place + 3])
        begins = (headers >= 2 and _HEADER.match(line)) or (
            len(lines) - place > 2 and _SALUTATION.match(line) and _has_closing(lines, place)
        )
        if not begins:
            place += 1
            continue
        end = _find_end_of_mail(lines, place)
        marks[place:end] = [True] * (end - place)
        place = end


def _has_closing(lines: list[tuple[int, str]], place: int) -> bool:
    return any(_CLOSING.match(line) for _, line in lines[place + 1 :])


def _find_end_of_mail(lines: list[tuple[int, str]], place: int) -> int:
    for number in range(place + 1, len(lines)):
        if _CLOSING.match(lines[number][1]):
            end = number + 1
            # The name under the closing.
            while end < len(lines) and end <= number + 2 and 0 < len(lines[end][1].split()) <= 4:
                end += 1
            return end
    return len(lines)


def _mark_after_introduction(lines: list[tuple[int, str]], marks: list[bool]) -> None:
    """What follows "translate this:" or "here is what she wrote:" on lines of its own is not the speaker's."""
    for place, (_, line) in enumerate(lines[:-1]):
        if marks[place]:
            continue
        ended = line.rstrip()
        introduces = ended.endswith((":", ":-")) and _PASTE.search(ended[-200:]) is not None
        if introduces or (_TASK.search(line) is not None and place == 0):
            end = _find_end_of_paste(lines, place + 1)
            marks[place + 1 : end] = [True] * (end - place - 1)
            if introduces or end > place + 1:
                return


def _find_end_of_paste(lines: list[tuple[int, str]], first: int) -> int:
    """A paste ends with the message, or with the last paragraph if that speaks to the assistant again."""
    for place in range(len(lines) - 1, first, -1):
        if not lines[place - 1][1].strip() and re.search(
            r"\?\s*$|^\s*(?:can|could|would|please|pls|what|how|why|is|does|do|any|make|just|only)\b",
            lines[place][1],
            re.I,
        ):
            return place
    return len(lines)


def _find_in_line(line: str) -> Iterator[Stretch]:
    """Yield the foreign stretches of a line: quotations, drafts, and what is only imagined."""
    for found in _QUOTATION.finditer(line):
        words = (found[1] or found[2] or found[3]).split()
        if len(words) >= _FEWEST_QUOTED_WORDS:
            yield found.span()
    draft = _DRAFT.search(line)
    if draft is not None:
        content = _DRAFT_CONTENT.search(line, draft.end())
        if content is not None and content.start() - draft.end() < 80:
            yield content.start(), _end_of_draft(line, content.start())
    task = _TASK.search(line)
    if task is not None:
        colon = line.find(":", task.end())
        if colon >= 0:
            yield colon, len(line)
    if _STORY.search(line):
        yield 0, len(line)
    else:
        for found in _PLAY.finditer(line):
            yield _sentence_around(line, found.start())


def _end_of_draft(line: str, start: int) -> int:
    """A draft after a colon goes to the end of the line, another one to the end of the sentence."""
    if line[start] in ':\u201c"':
        return len(line)
    return _sentence_around(line, start)[1]


_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)")


def _sentence_around(line: str, place: int) -> Stretch:
    begins = 0
    for found in _SENTENCE_END.finditer(line):
        if found.end() <= place:
            begins = found.end()
        else:
            return begins, found.end()
    return begins, len(line)


def _join(stretches: list[Stretch]) -> Iterator[Stretch]:
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
