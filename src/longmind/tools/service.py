"""The memory tools of an agent: store, search, brief and delete, for one scope."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from longmind.audit import chain
from longmind.clock import Clock, Instant, Micros, to_iso
from longmind.errors import InvalidInput, ToolError
from longmind.memory.validation import validate_instant
from longmind.models.tool import AuditEntry, Brief, DeletedEntry, EntryType, FoundEntries, Outcome, StoredEntry
from longmind.models.value import Page
from longmind.providers.language_model import BoundTool
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.tools.brief import as_prompt
from longmind.tools.consent import Confirm, NeedsConfirmation, ask
from longmind.tools.deadline import Deadline
from longmind.tools.invocation import new_call
from longmind.tools.schema import parse_arguments
from longmind.tools.tool_handlers import TOOLS
from longmind.validation.annotated import LIMIT, Label, Limit, NumberCursor, Query
from longmind.validation.identifiers import validate_label

if TYPE_CHECKING:
    from longmind.recall.retriever import AtomRetriever

DEFAULT_GROUP = "default"
CALL_SECONDS = 30.0
SESSION_START_SECONDS = 5.0
_GROUP = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]*")
_log = logging.getLogger("longmind.tools")


class Tools:
    """What an agent remembers by itself, apart for each group, with little to do damage with."""

    def __init__(
        self, database: Database, scope: Scope, clock: Clock, retriever: Callable[[], AtomRetriever], audit_key: str
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._find_retriever = retriever
        self._audit_key = audit_key

    def memory_store(
        self, type: EntryType, content: str, tags: Sequence[str] = (), supersedes: str | None = None
    ) -> StoredEntry:
        """Remember something across sessions: a preference, a fact, an instruction, context or a correction.

        With `supersedes`, the id of an entry, it takes that one's place: both change together, or neither.
        """
        arguments = {"type": type, "content": content, "tags": _listed(tags), "supersedes": supersedes}
        return StoredEntry.model_validate(self.invoke("memory_store", arguments))

    def memory_search(
        self,
        query: Query | None = None,
        tags: Sequence[str] = (),
        type: EntryType | None = None,
        include_superseded: bool = False,
        limit: Limit = 20,
    ) -> FoundEntries:
        """Find entries by words, tags or type, best first; without a query, the most recent ones."""
        arguments = {
            "query": query,
            "tags": _listed(tags),
            "type": type,
            "include_superseded": include_superseded,
            "limit": limit,
        }
        return FoundEntries.model_validate(self.invoke("memory_search", arguments))

    def memory_brief(self, include_provenance: bool = False) -> Brief:
        """What to know at the start: what tells how to behave first, then facts and context, newest first."""
        return Brief.model_validate(self.invoke("memory_brief", {"include_provenance": include_provenance}))

    def memory_delete(self, id: str) -> DeletedEntry:
        """Remove an entry for good, from the store and the search index. What it had superseded stays hidden."""
        return DeletedEntry.model_validate(self.invoke("memory_delete", {"id": id}))

    def invoke(self, tool_name: Label, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool by its name, as a model does: strict about its arguments, and answered in JSON."""
        return self._call(tool_name, arguments, None, CALL_SECONDS)

    def session_brief(self) -> str:
        """The brief as text for the start of a session's prompt. It never fails: without memory it is empty."""
        try:
            return as_prompt(Brief.model_validate(self._call("memory_brief", {}, None, SESSION_START_SECONDS)))
        except Exception as error:
            why = error.code if isinstance(error, ToolError) else error.__class__.__name__
            _log.warning("a session starts without memory: %s", why)
            return ""

    def bound(self, *, confirm: Confirm | None = None) -> list[BoundTool]:
        """The tools as `run_turn` takes them, bound to this context.

        `confirm` is asked before an agent replaces or removes what the user has told; without it, that is refused.
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
        """What was asked of the tools of this group, oldest first; both instants are part of the range."""
        most = LIMIT.check("limit", limit)
        if cursor is not None and not (isinstance(cursor, str) and cursor.isascii() and cursor.isdigit()):
            raise InvalidInput(f"cursor {cursor!r} is not one.", hint="Pass next_cursor of the page before.")
        if outcome is not None and outcome not in get_args(Outcome):
            raise InvalidInput(f"outcome is {outcome!r}.", hint=f"It is one of {', '.join(get_args(Outcome))}.")
        lines = self._database.read(
            self._scope,
            audit.list_lines,
            self._acting(self._clock()).group or "",
            correlation=validate_label("correlation", correlation),
            topic=validate_label("topic", topic),
            outcome=outcome,
            since=validate_instant("since", since),
            until=validate_instant("until", until),
            after=0 if cursor is None else min(int(cursor[:19]), 2**62),
            limit=most + 1,
        )
        entries = [chain.to_entry(line) for line in lines[:most]]
        return Page(entries, str(entries[-1].seq) if len(lines) > most else None)

    def _call(self, tool_name: str, arguments: object, confirm: Confirm | None, seconds: float) -> dict[str, Any]:
        tool = TOOLS.get(tool_name) if isinstance(tool_name, str) else None
        scope = self._acting(self._clock())
        known = ("(unknown)", frozenset[str]()) if tool is None else (tool_name, frozenset(tool.takes.model_fields))
        call = new_call(self._database, scope, *known, self._clock(), self._audit_key)

        def attempt(confirmed: bool) -> dict[str, Any]:
            def work(deadline: Deadline) -> dict[str, Any]:
                if tool is None:
                    hint = f"There are {', '.join(TOOLS)}."
                    raise ToolError("UNKNOWN_TOOL", "There is no such tool.", stage=1, hint=hint)
                asked = parse_arguments(tool.takes, arguments)
                return tool.handle(call, self._find_retriever, asked, deadline, confirmed)

            return call.run(work, seconds)

        try:
            return attempt(False)
        except NeedsConfirmation as needed:
            refusal = ask(confirm, needed.question)
        if refusal is not None:
            call.refuse(refusal)
            raise refusal
        return attempt(True)

    def _acting(self, now: Micros) -> Scope:
        """The scope of a call, with a group and a session; without one from the host, a session lasts a day."""
        group = self._scope.group or DEFAULT_GROUP
        if not _GROUP.fullmatch(group):
            raise ToolError(
                "VALIDATION_FAILED",
                "The group of this context cannot be the name of one.",
                stage=2,
                field="group",
                hint="It is made of letters, digits, '-' and '_', and begins with a letter or a digit.",
            )
        return replace(self._scope, group=group, session_id=self._scope.session_id or f"day-{to_iso(now)[:10]}")


def _listed(members: object) -> object:
    return list(members) if isinstance(members, tuple | set | frozenset) else members
