"""Import of a file of another product: a preview of what would come in, and the import itself.

The whole file is read and checked first. Then each conversation is written in a transaction of its own, and facts a few
hundred at a time. An import that is interrupted leaves whole conversations and facts, and doing it again adds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from longmind.clock import system_clock
from longmind.context import Context
from longmind.conversations import conversation_archive
from longmind.conversations.conversation_archive import ConversationArchive, NewPart
from longmind.errors import InvalidInput
from longmind.interchange.formats import check_format, find_format
from longmind.interchange.record_limits import number_repeats, to_archived_conversation, to_archived_fact
from longmind.interchange.records import ForeignConversation, ForeignFact, Format, Omission, shorten
from longmind.interchange.report import ImportReport, ReportBuilder
from longmind.interchange.source_files import SourceFiles
from longmind.interchange.spool import Spool
from longmind.memory import fact_archive
from longmind.memory.default_space import DEFAULT_NAMESPACE
from longmind.memory.fact_archive import ArchivedFact, FactArchive, FactVerdict
from longmind.memory.space_lookup import find_default_space

_FACTS_AT_ONCE = 200
Progress = Callable[[str, int, int], None]
"""Called with the noun, the number done, and the number in all."""


def preview_import(
    context: Context, path: str | Path, format: str, *, source_user: str | Sequence[str] | None = None
) -> ImportReport:
    """Return what an import would add, what is known already, and what is left out and why. Nothing is written.

    format: one of `longmind.interchange.FORMATS`.
    source_user: whose records to take, as the file names them; `*` takes all. Needed if the file has several users.

    Raises InvalidInput, with the line and the format that the file looks like, if it is none of this format.
    """
    with Spool() as spool:
        builder = _read_file(context, path, find_format(format), _parse_users(source_user), spool)
        return _Importer(context, builder, spool).preview()


def apply_import(
    context: Context,
    path: str | Path,
    format: str,
    *,
    source_user: str | Sequence[str] | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import a file into the user's default memory, and return what was added.

    Conversations come in closed, with their times, and are read by the extractor like others. Facts keep their times,
    metadata and ids, with the origin `import`. Importing the same file again, or a later export of the same
    product, adds only what is new.

    Raises InvalidInput like `preview_import`, and if the file has the records of several users and none was chosen.
    """
    with Spool() as spool:
        builder = _read_file(context, path, find_format(format), _parse_users(source_user), spool)
        # Before the first write: what two users have said must not come into one memory by mistake.
        builder.refuse_mixed_users()
        return _Importer(context, builder, spool, progress).apply()


def _parse_users(given: str | Sequence[str] | None) -> frozenset[str]:
    """Return the chosen users as a set; an empty one stands for no choice."""
    return frozenset() if given is None else frozenset([given] if isinstance(given, str) else given)


def _read_file(
    context: Context, path: str | Path, format: Format, users: frozenset[str], spool: Spool
) -> ReportBuilder:
    """Read a file to its end into a spool."""
    source = SourceFiles(path).choose(format.files)
    check_format(source, format)
    builder = ReportBuilder(source.name, format, users)
    for record in _list_usable(source, format, builder):
        if isinstance(record, Omission):
            builder.leave_out(record)
        elif builder.take(record):
            spool.put(record)
    if users and not builder.has_taken:
        raise InvalidInput(f"{source.name} has no records of {', '.join(sorted(users))}.", hint=builder.list_users())
    return builder


def _list_usable(
    source: SourceFiles, format: Format, builder: ReportBuilder
) -> Iterator[ForeignFact | ForeignConversation | Omission]:
    """Yield the records of a file. Facts and messages that cannot be stored come as left out."""
    now = system_clock()
    for record in format.read(source):
        if isinstance(record, ForeignFact):
            refused = fact_archive.explain_refusal(to_archived_fact(record, format, now).atom, now)
            yield (
                record
                if refused is None
                else Omission(f"A fact that cannot be stored: {refused}", shorten(record.text))
            )
        elif isinstance(record, ForeignConversation):
            yield from _check_messages(number_repeats(record), format)
        else:
            yield record


def _check_messages(record: ForeignConversation, format: Format) -> Iterator[ForeignConversation | Omission]:
    """Yield a conversation without the messages that cannot be stored, which come as left out."""
    archived = to_archived_conversation(record, format)
    # One message that is too long does not keep the rest of its conversation out.
    kept = []
    for message, checked in zip(record.messages, archived.messages, strict=True):
        refused = conversation_archive.explain_refusal(checked)
        if refused is None:
            kept.append(message)
        else:
            yield Omission(f"A message that cannot be stored: {refused}", record.title or record.id)
    if kept:
        yield ForeignConversation(**{**vars(record), "messages": tuple(kept)})


class _Importer:
    """One import into the memory of a user."""

    def __init__(
        self, context: Context, builder: ReportBuilder, spool: Spool, progress: Progress | None = None
    ) -> None:
        self._context = context
        self._builder = builder
        self._spool = spool
        self._progress = progress or (lambda noun, done, total: None)
        self._facts = FactArchive(context.memory)
        self._conversations = ConversationArchive(context.conversations)

    def preview(self) -> ImportReport:
        """Compare the records with what is stored, and write nothing."""
        space = find_default_space(self._context.memory, self._context.scope.group)

        def judge(facts: Sequence[ArchivedFact]) -> Sequence[FactVerdict]:
            """Return the outcomes that an import would have; all facts are new to a user without memory."""
            return ["new"] * len(facts) if space is None else self._facts.judge(space.id, facts)

        # The same way through the records as the import takes, with reads in the place of writes.
        self._go_through_facts(judge)
        for conversation in self._spool.read_conversations():
            archived = to_archived_conversation(conversation, self._builder.format)
            self._builder.count_conversation(conversation, self._conversations.find_new(archived))
        return self._builder.build(applied=False)

    def apply(self) -> ImportReport:
        """Write the records that are new, facts first."""
        space = self._context.memory.open_default_space()
        self._go_through_facts(lambda facts: self._facts.write(space.id, facts))
        total = self._spool.conversation_count
        for done, conversation in enumerate(self._spool.read_conversations(), 1):
            archived = to_archived_conversation(conversation, self._builder.format)
            self._builder.count_conversation(conversation, self._write(archived))
            self._progress("conversations", done, total)
        return self._builder.build(applied=True)

    def _write(self, conversation: conversation_archive.ArchivedConversation) -> NewPart:
        """Write the messages of a conversation that are new."""
        # Most of a repeated import is known, which a read finds without a turn of the writer.
        part = self._conversations.find_new(conversation)
        return self._conversations.write(conversation, DEFAULT_NAMESPACE) if part.messages else part

    def _go_through_facts(self, judge: Callable[[Sequence[ArchivedFact]], Sequence[FactVerdict]]) -> None:
        """Pass the facts in groups to a function that returns their outcomes, and count these."""
        done, total = 0, self._spool.fact_count
        for facts in self._split_facts():
            now = system_clock()
            verdicts = judge([to_archived_fact(each, self._builder.format, now) for each in facts])
            for fact, verdict in zip(facts, verdicts, strict=True):
                self._builder.count_fact(fact, verdict)
            done += len(facts)
            self._progress("facts", done, total)

    def _split_facts(self) -> Iterator[list[ForeignFact]]:
        """Yield the facts in groups. Two versions of a fact are never in one, since the second replaces the first."""
        group: list[ForeignFact] = []
        ids: set[str] = set()
        for fact in self._spool.read_facts():
            if len(group) >= _FACTS_AT_ONCE or fact.id in ids:
                yield group
                group, ids = [], set()
            group.append(fact)
            ids.add(fact.id)
        if group:
            yield group
