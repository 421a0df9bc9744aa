"""The report of an import: counts, first examples, and what was left out and why.

A preview and the import after it make the same report, so that a person can decide by it. Parts that stay out are
counted by their reason, each with a few examples, since an export may have thousands of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from longmind.clock import Micros, to_iso
from longmind.conversations.conversation_archive import NewPart
from longmind.errors import InvalidInput
from longmind.interchange.records import ForeignConversation, ForeignFact, Format, Omission, shorten
from longmind.memory.fact_archive import FactVerdict
from longmind.models.value import Value

_EXAMPLES = 5
_USERS_NAMED = 10
_EVERYBODY = "*"


class LeftOutCount(Value):
    """A reason for which parts of a file are not imported."""

    reason: str
    count: int
    examples: list[str]


class ImportReport(Value):
    """The outcome of an import, or of its preview."""

    file: str
    format: str
    applied: bool
    """False for a preview: nothing was written, and the counts say what would be."""
    facts_new: int
    facts_changed: int
    """Facts whose text has changed at the source: they supersede their former version."""
    facts_known: int
    """Facts that were imported before."""
    facts_changed_here: int
    """Facts whose former version was changed here since, which counts."""
    facts_forgotten: int
    """Facts that were deleted here, and stay so."""
    conversations_new: int
    conversations_grown: int
    """Conversations with new messages, which become a conversation of their own: a closed one stays closed."""
    conversations_known: int
    messages_new: int
    earliest: str | None
    """The earliest time in the file."""
    latest: str | None
    users: dict[str, int]
    """The users that the file names, each with the number of their records."""
    examples: list[str]
    """The first texts that come in."""
    left_out: list[LeftOutCount]


@dataclass
class _Reason:
    """The number and the first examples of what is left out for one reason."""

    count: int = 0
    examples: list[str] = field(default_factory=list)


class ReportBuilder:
    """Counts the records of one file."""

    def __init__(self, file: str, format: Format, users: frozenset[str]) -> None:
        self.format = format
        self.has_taken = False
        self._file = file
        self._wanted = users
        self._users: Counter[str] = Counter()
        self._taken_owners: set[str] = set()
        self._reasons: dict[str, _Reason] = {}
        self._facts: Counter[FactVerdict] = Counter()
        self._conversations: Counter[str] = Counter()
        self._messages = 0
        self._examples: list[str] = []
        self._earliest: Micros | None = None
        self._latest: Micros | None = None

    def leave_out(self, part: Omission) -> None:
        """Count a part that is not imported."""
        reason = self._reasons.setdefault(part.reason, _Reason())
        reason.count += part.count
        if part.example and len(reason.examples) < 3:
            reason.examples.append(shorten(part.example))

    def take(self, record: ForeignFact | ForeignConversation) -> bool:
        """Return whether a record belongs to a user whose records are wanted, and note its user and its time."""
        # The first name is the fullest; the others are parts of it.
        for owner in record.owners[:1]:
            self._users[owner] += 1
        if self._wanted and _EVERYBODY not in self._wanted and self._wanted.isdisjoint(record.owners):
            self.leave_out(Omission("Records of other users", record.owners[0] if record.owners else "no user"))
            return False
        self.has_taken = True
        if record.owners:
            self._taken_owners.add(record.owners[0])
        # Of a conversation, the times of its messages: it may have begun long before.
        times = [record.at] if isinstance(record, ForeignFact) else [each.at for each in record.messages]
        for at in times:
            if at is not None:
                self._earliest = at if self._earliest is None else min(self._earliest, at)
                self._latest = at if self._latest is None else max(self._latest, at)
        return True

    def refuse_mixed_users(self) -> None:
        """Raise InvalidInput if records of several users would come into one memory without that being asked for."""
        if not self._wanted and len(self._taken_owners) > 1:
            raise InvalidInput(
                f"{self._file} has the records of {len(self._users):,} users, and a memory is that of one.",
                hint=self.list_users(),
            )

    def list_users(self) -> str:
        """Return a hint that names the users of the file."""
        if not self._users:
            return "The file names no users; import it without choosing one."
        named = ", ".join(f"{name} ({count:,})" for name, count in self._users.most_common(_USERS_NAMED))
        more = "" if len(self._users) <= _USERS_NAMED else f" and {len(self._users) - _USERS_NAMED:,} more"
        return f"Choose with --source-user, or source_user=, one or several of: {named}{more}; '*' takes all."

    def count_fact(self, fact: ForeignFact, verdict: FactVerdict) -> None:
        """Count a fact by its outcome."""
        self._facts[verdict] += 1
        if verdict in ("new", "changed") and len(self._examples) < _EXAMPLES:
            self._examples.append(shorten(fact.text))

    def count_conversation(self, conversation: ForeignConversation, part: NewPart) -> None:
        """Count a conversation by the messages of it that are new."""
        outcome = "known" if not part.messages else "new" if part.number == 1 else "grown"
        self._conversations[outcome] += 1
        self._messages += len(part.messages)
        if part.messages and len(self._examples) < _EXAMPLES:
            first = conversation.messages[0].content
            words = conversation.title or (first if isinstance(first, str) else conversation.id)
            self._examples.append(f"{shorten(words)} ({len(part.messages):,} messages)")

    def build(self, *, applied: bool) -> ImportReport:
        """Return the report."""
        reasons = sorted(self._reasons.items(), key=lambda each: -each[1].count)
        return ImportReport(
            file=self._file,
            format=self.format.name,
            applied=applied,
            facts_new=self._facts["new"],
            facts_changed=self._facts["changed"],
            facts_known=self._facts["known"],
            facts_changed_here=self._facts["changed_here"],
            facts_forgotten=self._facts["forgotten"],
            conversations_new=self._conversations["new"],
            conversations_grown=self._conversations["grown"],
            conversations_known=self._conversations["known"],
            messages_new=self._messages,
            earliest=None if self._earliest is None else to_iso(self._earliest),
            latest=None if self._latest is None else to_iso(self._latest),
            users=dict(self._users),
            examples=self._examples,
            left_out=[LeftOutCount(reason=reason, count=it.count, examples=it.examples) for reason, it in reasons],
        )
