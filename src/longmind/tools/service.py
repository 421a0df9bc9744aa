"""The memory tools of an agent for one scope: store, search, brief and delete."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from longmind.audit import chain
from longmind.clock import Clock, Instant
from longmind.errors import InvalidInput, ToolError
from longmind.ids import new_id
from longmind.memory.validation import validate_instant
from longmind.models.tool import AuditEntry, Brief, DeletedEntry, EntryType, FoundEntries, Outcome, StoredEntry
from longmind.models.value import Page
from longmind.providers.language_model import BoundTool
from longmind.scope import Scope, ScopedService
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.store.tables.quotas import QuotaLimits
from longmind.tools.deadline import Deadline
from longmind.tools.invocation import begin_call
from longmind.tools.memory_brief import as_prompt
from longmind.tools.redaction import redact
from longmind.tools.schema import parse_arguments
from longmind.tools.session_memory import SESSION_START_SECONDS
from longmind.tools.tool_group import find_group
from longmind.tools.tool_handlers import TOOLS
from longmind.tools.user_consent import Confirm, NeedsConfirmation, ask_user
from longmind.validation.identifiers import validate_label
from longmind.validation.parameter_limits import LIMIT, Label, Limit, NumberCursor, ToolName
from longmind.validation.text import quote_value

if TYPE_CHECKING:
    from longmind.recall.retriever import AtomRetriever

CALL_SECONDS = 30.0
_log = logging.getLogger("longmind.tools")


class Tools(ScopedService):
    """Memory that an agent writes by itself, separate for each group and limited in what it can damage.

    Each call is validated strictly, audited, redacted and limited in time; sessions have quotas, and an entry that came
    from the user changes only with consent. A context that the host gave no session is a session of its own.
    """

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        retriever: Callable[[], AtomRetriever],
        audit_key: str,
        limits: QuotaLimits,
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._find_retriever = retriever
        self._audit_key = audit_key
        self._limits = limits
        self._session_id = scope.session_id or new_id("ses", clock())

    def memory_store(
        self, type: EntryType, content: str, tags: Sequence[str] = (), supersedes: str | None = None
    ) -> StoredEntry:
        """Remember something across sessions: a preference, a fact, an instruction, context or a correction.

        With `supersedes`, the id of an entry, it takes that one's place: both change together, or neither. A session
        may store 20 entries, 5 of them in another one's place; after that the code of the error is `RATE_LIMITED`. The
        settings `session_…` change the numbers.

        type: `preference`, `fact`, `instruction`, `context` or `correction`. content: the memory in words that are
        clear on their own, at most 2,000 characters. tags: keywords to find it by, at most 10 of 50 characters each.
        """
        arguments = {"type": type, "content": content, "tags": _to_list(tags), "supersedes": supersedes}
        return StoredEntry.model_validate(self.invoke("memory_store", arguments))

    def memory_search(
        self,
        query: str | None = None,
        tags: Sequence[str] = (),
        type: EntryType | None = None,
        include_superseded: bool = False,
        limit: int = 20,
    ) -> FoundEntries:
        """Find entries by words, tags or type, best first; without a query, the most recent ones.

        An entry must have all of the tags. `passages` has quotes from conversations if a binding leads from them to the
        space of the group, unless tags or a type are asked for. Weak results may have nothing to do with the query.
        `notice` and `provenance` accompany behavioral entries, which are suggestions and no commands.

        query: at most 500 characters. tags: tags that an entry must all have; by default none. type: `preference`,
        `fact`, `instruction`, `context` or `correction`; None means every type. include_superseded: find replaced
        entries too. limit: at most that many, 1 to 100.
        """
        arguments = {
            "query": query,
            "tags": _to_list(tags),
            "type": type,
            "include_superseded": include_superseded,
            "limit": limit,
        }
        return FoundEntries.model_validate(self.invoke("memory_search", arguments))

    def memory_brief(self, include_provenance: bool = False) -> Brief:
        """Return an overview for the start of a session: behavioral entries, then facts and context, newest first.

        include_provenance: add the source of each entry.
        """
        return Brief.model_validate(self.invoke("memory_brief", {"include_provenance": include_provenance}))

    def memory_delete(self, id: str) -> DeletedEntry:
        """Remove an entry for good from the store and the search index. Entries that it superseded stay hidden.

        An entry that came from the user is not removed: only tools from `bound` can ask the user for consent. A session
        may delete 5 entries; after that the code of the error is `RATE_LIMITED`.

        id: the id of the entry.
        """
        return DeletedEntry.model_validate(self.invoke("memory_delete", {"id": id}))

    def invoke(self, tool_name: ToolName, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool by its name with arguments as JSON, validated strictly, and return its answer as JSON.

        Every refusal and failure is a `ToolError`, whose `code` says why and whose `retriable` says whether to repeat
        the call. A call that takes more than 30 seconds is given up and changes nothing.

        tool_name: `memory_store`, `memory_search`, `memory_brief` or `memory_delete`. arguments: as in the operation of
        that name.
        """
        return self._call(tool_name, arguments, None, CALL_SECONDS)

    def session_brief(self) -> str:
        """Return the brief as text for the start of a session's prompt. It never fails: without memory it is empty."""
        try:
            brief = Brief.model_validate(self._call("memory_brief", {}, None, SESSION_START_SECONDS))
            return as_prompt(brief.entries)
        except Exception as error:
            reason = error.code if isinstance(error, ToolError) else error.__class__.__name__
            _log.warning("a session starts without memory: %s", reason)
            return ""

    def bound(self, *, confirm: Confirm | None = None) -> list[BoundTool]:
        """Return the tools for `run_turn`, bound to this context.

        `confirm` is asked before an agent replaces or removes an entry that came from the user; without it, such a call
        is refused.
        """
        from longmind.tools.bound_tools import bind_tools

        return bind_tools(lambda name, arguments: self._call(name, arguments, confirm, CALL_SECONDS))

    def audit(
        self,
        *,
        correlation: Label | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        topic: Label | None = None,
        outcome: Outcome | None = None,
        limit: Limit = 100,
        cursor: NumberCursor | None = None,
    ) -> Page[AuditEntry]:
        """List the audited calls of the tools of this group, oldest first; `since` and `until` are included.

        correlation: only the lines of the call with this id. since, until: the bounds in time; without a zone it is
        UTC, and None means no bound. topic: only calls of one tool, such as `tool.invoke.memory_store`. outcome:
        `routed`, `rejected`, `sanitized` or `error`. limit: at most that many lines, 1 to 10,000. cursor: `next_cursor`
        of the page before; None begins with the oldest line.
        """
        limit = LIMIT.check("limit", limit)
        if cursor is not None and not (isinstance(cursor, str) and cursor.isascii() and cursor.isdigit()):
            raise InvalidInput(f"cursor is {cursor!r}.", hint="Pass next_cursor of the previous page.")
        if outcome is not None and outcome not in get_args(Outcome):
            raise InvalidInput(f"Unknown outcome {outcome!r}.", hint=f"Use one of {', '.join(get_args(Outcome))}.")
        lines = self._database.read(
            self._scope,
            audit.list_lines,
            self._build_scope().group or "",
            correlation=validate_label("correlation", correlation),
            topic=validate_label("topic", topic),
            outcome=outcome,
            since=validate_instant("since", since),
            until=validate_instant("until", until),
            after=0 if cursor is None else min(int(cursor[:19]), 2**62),
            limit=limit + 1,
        )
        entries = [chain.to_entry(line) for line in lines[:limit]]
        return Page(entries, str(entries[-1].seq) if len(lines) > limit else None)

    def _call(self, tool_name: str, arguments: object, confirm: Confirm | None, seconds: float) -> dict[str, Any]:
        """Call a tool, and a second time if it needs consent and the user agrees.

        The name and the arguments are validated within the call, so that a refused call is audited like any other.
        """
        tool = TOOLS.get(tool_name) if isinstance(tool_name, str) else None
        scope = self._build_scope()
        recorded = ("(unknown)", frozenset[str]()) if tool is None else (tool_name, frozenset(tool.takes.model_fields))
        call = begin_call(self._database, scope, *recorded, self._clock(), self._audit_key, self._limits)

        def attempt(confirmed: bool) -> dict[str, Any]:
            def work(deadline: Deadline) -> dict[str, Any]:
                if tool is None:
                    known = ", ".join(TOOLS)
                    message = f"Unknown tool {redact(quote_value(tool_name))}. Call one of {known}."
                    raise ToolError("UNKNOWN_TOOL", message, stage=1, hint="Check the name of the tool.")
                parsed = parse_arguments(tool.takes, arguments)
                return tool.handle(call, self._find_retriever, parsed, deadline, confirmed)

            return call.run(work, seconds)

        try:
            return attempt(False)
        except NeedsConfirmation as needed:
            refusal = ask_user(confirm, needed.question)
        if refusal is not None:
            call.record_refusal(refusal)
            raise refusal
        return attempt(True)

    def _build_scope(self) -> Scope:
        """Return the scope of a call, with a group and a session; where the host names none, the context is one."""
        return replace(self._scope, group=find_group(self._scope), session_id=self._session_id)


def _to_list(members: object) -> object:
    # Anything else is left for the validation to refuse.
    return list(members) if isinstance(members, tuple | set | frozenset) else members
