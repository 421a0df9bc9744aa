"""Types of parameters with their limits, declared once.

An operation names the type in its signature (`limit: Limit`) and checks the argument by the limits of the same name
(`LIMIT.check("limit", limit)`). The OpenAPI description and the reference read the limits from the signature. pydantic
ignores them: a value out of bounds is refused by the operation, whose message says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, get_args, get_origin

from longmind.errors import InvalidInput
from longmind.scope import IDENTITY_LIMIT
from longmind.validation.identifiers import validate_count
from longmind.validation.text import quote_value, validate_text

Schema = Mapping[str, Any]

STORABLE: Schema = {"pattern": r"^[^\u0000]*$"}
NOT_BLANK: Schema = {"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"}


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits that are published in the OpenAPI description and checked elsewhere."""

    published: Schema
    words: str = ""
    """The limits as the reference describes them."""


@dataclass(frozen=True, eq=False)
class TextLimits:
    """Limits of a text, in characters."""

    most: int | None = None
    blank: bool = True
    """True if it may be empty or consist of white space alone."""
    length_is_published: bool = True

    def check(self, name: str, value: object) -> str:
        """Return the text; raise InvalidInput if it cannot be stored, LimitExceeded if it is too long."""
        return validate_text(name, value, limit=self.most, blank=self.blank)

    @property
    def published(self) -> Schema:
        """The limits as keywords of a JSON schema."""
        schema = STORABLE if self.blank else NOT_BLANK
        return {**schema, "maxLength": self.most} if self.most is not None and self.length_is_published else schema

    @property
    def words(self) -> str:
        """The limits as the reference describes them."""
        length = "" if self.most is None else f"at most {self.most:,} characters"
        return ", ".join(filter(None, (length, "" if self.blank else "not blank")))


@dataclass(frozen=True, eq=False)
class CountLimits:
    """Limits of a whole number.

    is_published: whether the OpenAPI description shows them; clients generated from it check what it shows.
    """

    most: int
    least: int = 1
    is_published: bool = True

    def check(self, name: str, value: object) -> int:
        """Return the number; raise InvalidInput if it is too small or not whole, LimitExceeded if it is too large."""
        if self.least == 0 and value == 0 and type(value) is int:
            return 0
        return validate_count(name, value, most=self.most)

    @property
    def published(self) -> Schema:
        return {"minimum": self.least, "maximum": self.most} if self.is_published else {}

    @property
    def words(self) -> str:
        return f"{self.least} to {self.most:,}"


@dataclass(frozen=True, eq=False)
class ScaleLimits:
    """Limits of a number on a scale, the ends included."""

    least: int
    most: int
    whole: bool = False

    def check(self, name: str, value: object) -> Any:
        """Return the number; raise InvalidInput if it is not on the scale."""
        kinds = int if self.whole else (int, float)
        if isinstance(value, kinds) and not isinstance(value, bool) and self.least <= value <= self.most:
            return value
        raise InvalidInput(
            f"{name} is {quote_value(value)}.", hint=f"Pass a {'whole ' if self.whole else ''}number {self.words}."
        )

    @property
    def published(self) -> Schema:
        return {"minimum": self.least, "maximum": self.most}

    @property
    def words(self) -> str:
        return f"from {self.least} to {self.most}"


# Numbers

LIMIT = CountLimits(10_000)
HISTORY_LIMIT = CountLimits(10_000, least=0)
HITS = CountLimits(200)
TAIL_LIMIT = CountLimits(10_000, least=0, is_published=False)
RECENT_TURNS = CountLimits(1_000, least=0, is_published=False)
RECALLED_HITS = CountLimits(200, least=0, is_published=False)
TOKEN_BUDGET = CountLimits(10_000_000, is_published=False)
CYCLES = CountLimits(1_000)
ATTEMPTS = CountLimits(100)
IMPORTANCE = ScaleLimits(1, 5, whole=True)
CONFIDENCE = ScaleLimits(0, 1)
SCORE = ScaleLimits(0, 1)
ORDINAL = Limits({"minimum": 1}, "at least 1")
IDLE = Limits({"minimum": 0}, "seconds from 0, or a timedelta")

Limit = Annotated[int, LIMIT]
HistoryLimit = Annotated[int, HISTORY_LIMIT]
Hits = Annotated[int, HITS]
TailLimit = Annotated[int, TAIL_LIMIT]
RecentTurns = Annotated[int, RECENT_TURNS]
RecalledHits = Annotated[int, RECALLED_HITS]
TokenBudget = Annotated[int, TOKEN_BUDGET]
Cycles = Annotated[int, CYCLES]
Attempts = Annotated[int, ATTEMPTS]
Importance = Annotated[int, IMPORTANCE]
Confidence = Annotated[float, CONFIDENCE]
Score = Annotated[float, SCORE]
Ordinal = Annotated[int, ORDINAL]
Idle = Annotated[timedelta | float, IDLE]

# Ids, and other texts that name something. An id of another form is not refused: nothing is found by it.

ID = Limits({"pattern": "^[A-Za-z0-9_-]+$"}, "letters, digits, `_` and `-`")
SPACE = Limits(STORABLE, "the id of a space, or its name")
IDENTITY = Limits(
    {"minLength": 1, "maxLength": IDENTITY_LIMIT, "pattern": r"^[^\s\u0000-\u001f\u007f-\u009f*]+$"},
    f"at most {IDENTITY_LIMIT} characters, not blank, not `*`, no control characters",
)
LABEL = TextLimits(IDENTITY_LIMIT, blank=False)
NAME = TextLimits(255, blank=False)
TOOL_NAME = Limits(LABEL.published, "the name of a memory tool")
JOB_KIND = Limits(
    {"pattern": "^[a-z0-9_.-]+$", "maxLength": IDENTITY_LIMIT},
    "at most 100 characters: lower-case letters, digits, `_`, `-` and `.`",
)
INSTANT = Limits({"format": "date-time"}, "an ISO 8601 text or a datetime; without a zone it is UTC")
CONVERSATION_CURSOR = Limits({"pattern": "^[0-9]+/conv_[0-9a-f]+$"}, "`next_cursor` of the previous page")
DECISION_CURSOR = Limits({"pattern": "^[0-9]{1,18}-[0-9]{1,18}$"}, "`next_cursor` of the previous page")
NUMBER_CURSOR = Limits({"pattern": "^[0-9]{1,18}$"}, "`next_cursor` of the previous page")

ConversationId = Annotated[str, ID]
SpaceId = Annotated[str, SPACE]
AtomId = Annotated[str, ID]
EntityId = Annotated[str, ID]
BindingId = Annotated[str, ID]
DecisionId = Annotated[str, ID]
JobId = Annotated[str, ID]
MessageId = Annotated[str, ID]
Identity = Annotated[str, IDENTITY]
Namespace = Annotated[str, IDENTITY]
Label = Annotated[str, LABEL]
Name = Annotated[str, NAME]
ToolName = Annotated[str, TOOL_NAME]
JobKind = Annotated[str, JOB_KIND]
ConversationCursor = Annotated[str, CONVERSATION_CURSOR]
DecisionCursor = Annotated[str, DECISION_CURSOR]
NumberCursor = Annotated[str, NUMBER_CURSOR]

# Texts that say something

TEXT = TextLimits()
SPOKEN_TEXT = TextLimits(blank=False)
ATOM_TEXT = TextLimits(1024 * 1024, blank=False, length_is_published=False)
QUERY = TextLimits(10_000, length_is_published=False)
DESCRIPTION = TextLimits(10_000, length_is_published=False)
TITLE = TextLimits(1_000)
CATEGORY_NAME = Limits(STORABLE, NAME.words)

Text = Annotated[str, TEXT]
SpokenText = Annotated[str, SPOKEN_TEXT]
AtomText = Annotated[str, ATOM_TEXT]
Query = Annotated[str, QUERY]
Description = Annotated[str, DESCRIPTION]
Title = Annotated[str, TITLE]
CategoryName = Annotated[str, CATEGORY_NAME]


def find_limits(annotation: object) -> AnyLimits | None:
    """Return the limits that an annotation names, also inside of an alternative or a list; None if there are none."""
    if get_origin(annotation) is Annotated:
        for note in get_args(annotation)[1:]:
            if isinstance(note, AnyLimits):
                return note
    for part in get_args(annotation):
        limits = find_limits(part)
        if limits is not None:
            return limits
    return None


def strip_limits(annotation: Any) -> Any:
    """Return an annotated type without its limits, which mean nothing to pydantic; other annotations as they are."""
    inner, *notes = get_args(annotation)
    notes = [note for note in notes if not isinstance(note, AnyLimits)]
    return Annotated[(inner, *notes)] if notes else inner


AnyLimits = Limits | TextLimits | CountLimits | ScaleLimits
