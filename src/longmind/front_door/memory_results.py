"""Results of a memory in three lines: facts with the words they rest on, search results, and what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, overload

from pydantic import Field

from longmind.models.atom import Atom, AtomKind
from longmind.models.message import Message, Role
from longmind.models.recall import Hit, Passage
from longmind.models.value import Value

_SHOWN_CHARACTERS = 60


def shorten(text: str) -> str:
    """Return the beginning of a text in one line, for representations."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"


class Citation(Value):
    """The words of a message that a fact rests on."""

    message_id: str
    conversation_id: str
    role: Role
    text: str
    said_at: str

    def __str__(self) -> str:
        return f'{self.role}: "{self.text}"'

    def __repr__(self) -> str:
        return f"Citation({self.role}: {shorten(self.text)!r})"


class RememberedFact(Value):
    """A fact of the memory, with the words that it rests on."""

    id: str
    text: str
    kind: AtomKind
    category: str
    importance: int
    valid_from: str
    """The time from which it is true."""
    valid_to: str | None
    """The time at which it ended; None while it holds."""
    said_at: str
    """The time when it was said, or recorded where nobody said it."""
    source: list[Citation]
    """The messages that it was learned from; empty for a fact that the program has added itself."""
    tags: list[str]
    metadata: dict[str, Any]
    key: str | None
    """The program's own name for it, if it has one."""
    replaces: str | None
    """The id of the fact that it has replaced."""
    replaced_by: str | None
    """The id of the fact that has replaced it."""

    @property
    def holds(self) -> bool:
        """Return whether it has neither ended nor been replaced."""
        return self.valid_to is None and self.replaced_by is None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Fact({shorten(self.text)!r}, {self.category}, since {self.valid_from[:10]})"


class Replaced(Value):
    """A fact that what was said has replaced or ended."""

    fact: RememberedFact
    by: RememberedFact | None
    """The fact that stands in its place; None if it only ended."""
    because: str

    def __repr__(self) -> str:
        successor = "nothing" if self.by is None else repr(shorten(self.by.text))
        return f"Replaced({shorten(self.fact.text)!r} by {successor})"


class Added(Value):
    """The outcome of `add`: the facts that were learned, with their sources, and what they have replaced."""

    conversation_id: str | None
    """The conversation that was stored; pass it as `conversation` to go on with it. None for a fact added directly."""
    message_ids: list[str]
    learned: list[RememberedFact]
    """The new facts, in the order in which they were said."""
    confirmed: list[RememberedFact]
    """Facts that were known already."""
    replaced: list[Replaced]
    pending: bool = False
    """True if nothing was read yet, because of `wait=False`."""

    def __iter__(self) -> Iterator[RememberedFact]:  # type: ignore[override]  # the facts, not the fields
        return iter(self.learned)

    def __len__(self) -> int:
        return len(self.learned)

    def __bool__(self) -> bool:
        # Something was stored even where nothing was learned.
        return True

    def __repr__(self) -> str:
        if self.pending:
            return f"Added({len(self.message_ids)} messages, to be read in the background)"
        parts = [f"learned {[fact.text for fact in self.learned]}"]
        parts += [f"confirmed {len(self.confirmed)}"] if self.confirmed else []
        parts += [f"replaced {[each.fact.text for each in self.replaced]}"] if self.replaced else []
        return f"Added({', '.join(parts)})"

    __str__ = __repr__


class FoundItem(Value):
    """A fact or a quote that was found."""

    id: str
    """The id of the fact, or of the first message of the quote."""
    kind: Literal["fact", "quote"]
    text: str
    score: float
    """The probability, from 0 to 1, that it is about the question."""
    weak: bool
    """True if the score is so low that it may have nothing to do with the question."""
    said_at: str
    source: list[Citation]
    """The messages that it rests on."""
    metadata: dict[str, Any]
    """The metadata of the fact; a quote has none."""
    fact: RememberedFact | None
    """The fact; None for a quote."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"FoundItem({shorten(self.text)!r}, {self.kind}, score={self.score:.2f})"


class Found(Value):
    """The results of a search, best first: facts, and quotes from conversations."""

    query: str
    items: list[FoundItem]

    @property
    def found(self) -> bool:
        """Return whether anything relevant is known: an item that is not weak."""
        return any(not item.weak for item in self.items)

    def __iter__(self) -> Iterator[FoundItem]:  # type: ignore[override]  # the items, not the fields
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> FoundItem: ...

    @overload
    def __getitem__(self, index: slice) -> list[FoundItem]: ...

    def __getitem__(self, index: int | slice) -> FoundItem | list[FoundItem]:
        return self.items[index]

    def __repr__(self) -> str:
        best = f", best {self.items[0].text!r}" if self.items else ""
        return f"Found({len(self.items)} about {shorten(self.query)!r}{best})"

    def __str__(self) -> str:
        return "\n".join(map(str, self.items)) or f"Nothing is remembered about {shorten(self.query)!r}."


class Forgetting(Value):
    """Facts that are forgotten, or would be, and messages that are not quoted any more."""

    query: str | None
    facts: list[RememberedFact]
    quotes: list[Citation]
    done: bool
    """False for a preview: nothing was forgotten yet. Pass it to `forget` to forget exactly what it lists."""

    def __len__(self) -> int:
        return len(self.facts) + len(self.quotes)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        state = "forgotten" if self.done else "to be forgotten, not done yet"
        texts = [fact.text for fact in self.facts] + [f'"{quote.text}"' for quote in self.quotes]
        return f"Forgetting({state}: {texts})"

    __str__ = __repr__


class Erasure(Value):
    """The outcome of `erase`: the numbers of deleted rows, and the receipt that proves the erasure."""

    deleted: dict[str, Any]
    receipt: dict[str, Any]
    """Keep it: `memory.ctx.admin.verify_receipt` checks it against the log of the app."""
    physical: dict[str, Any] = Field(default_factory=dict)
    """The outcome for the free pages of the database, which are rewritten too."""
    files: list[Any] | dict[str, Any] = Field(default_factory=list)

    def __repr__(self) -> str:
        rows = sum(count for count in self.deleted.values() if isinstance(count, int))
        return f"Erasure({rows:,} rows deleted, receipt {self.receipt.get('id', '')!r})"

    __str__ = __repr__


def make_fact(atom: Atom, messages: dict[str, Message]) -> RememberedFact:
    """Return an atom as a fact, with the messages that it cites as far as they are given."""
    source = [to_citation(messages[each]) for each in atom.source_message_ids if each in messages]
    return RememberedFact(
        id=atom.id,
        text=atom.text,
        kind=atom.category.kind,
        category=atom.category.name,
        importance=atom.importance,
        valid_from=atom.valid_from,
        valid_to=atom.valid_to,
        said_at=max((each.said_at for each in source), default=atom.created_at),
        source=source,
        tags=list(atom.tags),
        metadata=dict(atom.metadata),
        key=atom.key,
        replaces=atom.supersedes,
        replaced_by=atom.superseded_by,
    )


def to_citation(message: Message) -> Citation:
    """Return a message as the source of a fact."""
    return Citation(
        message_id=message.id,
        conversation_id=message.conversation_id,
        role=message.role,
        text=message.text,
        said_at=message.created_at,
    )


def make_found_fact(hit: Hit, fact: RememberedFact) -> FoundItem:
    """Return a hit, and its atom as a fact, as an item of a search."""
    return FoundItem(
        id=fact.id,
        kind="fact",
        text=fact.text,
        score=hit.score,
        weak=hit.weak,
        said_at=fact.said_at,
        source=fact.source,
        metadata=fact.metadata,
        fact=fact,
    )


def make_found_quote(passage: Passage) -> FoundItem:
    """Return a passage as an item of a search."""
    source = [
        Citation(
            message_id=message.id,
            conversation_id=passage.conversation_id,
            role=message.role,
            text=message.text,
            said_at=message.said_at,
        )
        for message in passage.messages
    ]
    return FoundItem(
        id=source[0].message_id,
        kind="quote",
        text=passage.text,
        score=passage.score,
        weak=passage.weak,
        said_at=passage.said_at,
        source=source,
        metadata={},
        fact=None,
    )
