"""Memory in three lines: the memory of one user, with a default for everything else.

    memory = longmind.Memory("ada")
    memory.add("I live in Vienna and I'm allergic to peanuts.")
    for hit in memory.search("what can't I eat?"): print(hit.text, hit.score, hit.said_at)

It is a thin face over an engine and a context: all that it writes is seen by them, the command line, MCP and REST.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from longmind.clock import Instant, to_iso, to_micros
from longmind.errors import Conflict, ExtractionFailed, InvalidInput, NotFound
from longmind.front_door.arguments import (
    read_id,
    read_query,
    read_window,
)
from longmind.front_door.learned_facts import read_facts, read_learned
from longmind.front_door.memory_results import (
    Added,
    Erasure,
    Forgetting,
    Found,
    RememberedFact,
    Replaced,
    make_found_fact,
    make_found_quote,
    to_citation,
)
from longmind.front_door.message_shapes import read_messages
from longmind.front_door.model_tools import ToolShape, describe_tools, run_tool
from longmind.front_door.open_memory import OpenMemory
from longmind.memory.validation import validate_kinds
from longmind.models.atom import AtomKind, MetadataFilter
from longmind.models.job import Job, JobStatus
from longmind.models.profile import Profile
from longmind.models.recall import WEAK_BELOW
from longmind.models.space import MemorySpace
from longmind.providers.language_model import BoundTool
from longmind.store.triggers.extraction_requests import EXTRACT
from longmind.validation.parameter_limits import HITS, LIMIT, TOKEN_BUDGET, Hits, Limit, Name, Query, Score, TokenBudget
from longmind.validation.text import quote_value

T = TypeVar("T")
_MOST_SEARCHED = 200
_ID_PREFIXES = ("atom_", "msg_")
_MOST_FORGOTTEN = 50
_PAGE = 200
_DIRECT_CATEGORY = "note"
"""The category of facts that a program adds by itself."""
_RECALL_TOOLS = ("recall_by_topic", "recall_by_entity", "recall_timeline")


class Memory(OpenMemory):
    """The memory of one user. Threads may share it; close it when done, or use it in a `with` statement."""

    def add(
        self,
        content: object,
        *,
        conversation: str | None = None,
        at: Instant | None = None,
        metadata: dict[str, Any] | None = None,
        key: Name | None = None,
        wait: bool = True,
    ) -> Added:
        """Remember what was said, read it, and return what was learned, with its sources and what it replaced.

        content: a text of the user, a message, or a list of messages with `role` and `content` as OpenAI and Anthropic
        write them, blocks of content, calls and results of tools included; an answer of their SDKs; our own messages.
        conversation: the `conversation_id` of an earlier `add`, to go on with it, so that a short answer is read with
        its question; by default a new conversation.
        at: the time when it was said, for older conversations; by default now. A message may have its own `created_at`.
        metadata: JSON of your own, at most 64 keys and 16 KiB, for the facts that are learned; `search` and `facts` can
        filter by it.
        key: your own name for a fact: the text is one fact, stored as it is. Another text under the same key replaces
        it, and the same text confirms it.
        wait: False returns as soon as it is stored, and a worker of this process reads it; `flush` waits for that.

        All messages are stored, or none. What is said can be found as a quote at once. If the reader fails, this raises
        ExtractionFailed; what was said is stored then, and is read again later.
        """
        ctx = self.ctx
        if key is not None:
            return self._add_fact(content, key, conversation, at, metadata)
        messages = read_messages(content)
        if at is not None:
            said_at = to_iso(to_micros(at, "at"))
            messages = [
                each if each.created_at else each.model_copy(update={"created_at": said_at}) for each in messages
            ]
        space = self._find_space()
        appended = ctx.conversations.append_messages(
            messages,
            conversation_id=conversation,
            namespace=None if conversation is not None else self._namespace,
            extract=True,
            fact_metadata=metadata,
        )
        # The worker, or `flush`, reads it later.
        if not wait:
            return read_learned(ctx, space.id, appended, pending=bool(appended.jobs))
        done = [self._run_job(job) for job in appended.jobs]
        return read_learned(ctx, space.id, appended, pending=any(job.status != "succeeded" for job in done))

    def flush(self) -> int:
        """Read now what was added with `wait=False`; return the number of conversations that were waiting."""
        ctx = self.ctx
        waiting: list[Job] = []
        unfinished: tuple[JobStatus, ...] = ("running", "queued", "failed")
        for status in unfinished:
            cursor: str | None = None
            while True:
                page = ctx.jobs.list_jobs(status=status, kind=EXTRACT, cursor=cursor)
                waiting += page
                cursor = page.next_cursor
                if cursor is None:
                    break
        # In the order in which it was said: what came later replaces what came before.
        for job in sorted(waiting, key=lambda each: each.created_at):
            self._run_job(job)
        return len({job.payload["conversationId"] for job in waiting})

    def search(
        self,
        query: Query,
        *,
        limit: Hits = 10,
        min_score: Score | None = None,
        metadata: MetadataFilter | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        quotes: bool = True,
    ) -> Found:
        """Find what is known about a question, best first: facts, and quotes of what was said.

        limit: from 1 to 200 items.
        min_score: the least score, from 0 to 1; by default weak items are returned too, and marked.
        metadata: only facts whose metadata has all of these keys with these values; quotes have none.
        since, until: only what was said within this time, both ends included.
        quotes: False finds facts alone.
        """
        ctx = self.ctx
        asked = read_query(query)
        begin, end = read_window(since, until)
        in_time = since is not None or until is not None
        most = HITS.check("limit", limit)
        recall = self._with_space(
            lambda space: ctx.memory.recall_by_topic(
                space.id,
                asked,
                # The time when something was said is looked at afterwards, so more is asked for.
                limit=_MOST_SEARCHED if in_time else most,
                min_score=min_score,
                metadata=metadata,
                passages=bool(quotes),
            )
        )
        facts = {fact.id: fact for fact in read_facts(ctx, [hit.atom for hit in recall.hits])}
        items = [make_found_fact(hit, facts[hit.atom.id]) for hit in recall.hits]
        items += [make_found_quote(passage) for passage in recall.passages]
        if in_time:
            items = [item for item in items if begin <= item.said_at <= end]
        # Stable: of two equal scores the fact comes first.
        items.sort(key=lambda item: -item.score)
        return Found(query=asked, items=items[:most])

    def context(self, query: Query | None = None, *, tokens: TokenBudget = 800, at: Instant | None = None) -> str:
        """Build the part of a prompt that remembers, within a budget of tokens; empty if nothing is known.

        It begins with the profile of the user; facts and quotes about the query follow.

        at: the memory as it was known at that instant.
        """
        ctx = self.ctx
        asked = None if query is None else read_query(query)
        budget = TOKEN_BUDGET.check("tokens", tokens)
        built = self._with_space(
            lambda space: ctx.working_context.build_memory_context(
                space.id, query=asked, token_budget=budget, known_at=at
            )
        )
        return built.context_block if built.sections else ""

    def facts(
        self,
        *,
        category: str | None = None,
        kind: AtomKind | None = None,
        metadata: MetadataFilter | None = None,
        past: bool = False,
        limit: Limit = 100,
    ) -> list[RememberedFact]:
        """List the facts that hold, the newest first.

        category: only of this category, such as `health`. kind: only `FACT`, `PREFERENCE`, `RULE` and so on.
        metadata: only those whose metadata has all of these keys with these values.
        past: also facts that have ended or were replaced.
        """
        ctx = self.ctx
        most = LIMIT.check("limit", limit)
        kinds = validate_kinds(None if kind is None else [kind])
        now = to_iso(int(datetime.now(UTC).timestamp() * 1_000_000))

        def read(space: MemorySpace) -> list[RememberedFact]:
            found: list[RememberedFact] = []
            cursor: str | None = None
            while True:
                page = ctx.memory.list_atoms(
                    space.id, category=category, metadata=metadata, limit=max(most, _PAGE), cursor=cursor
                )
                chosen = [
                    atom
                    for atom in page
                    if (kinds is None or atom.category.kind in kinds)
                    and (past or (atom.superseded_by is None and (atom.valid_to is None or atom.valid_to > now)))
                ]
                found += read_facts(ctx, chosen)
                cursor = page.next_cursor
                if len(found) >= most or cursor is None:
                    return found[:most]

        return self._with_space(read)

    def profile(self) -> Profile:
        """Return what is stable about the user, in at most 150 tokens: its lines cite the facts that they state."""
        ctx = self.ctx
        return self._with_space(lambda space: ctx.memory.get_profile(space.id))

    def history(self, attribute: Name, *, about: Name = "user") -> list[RememberedFact]:
        """List the values that an attribute has had, oldest first, such as `history("home")`.

        attribute: words such as `home`, `phone number` or `favourite colour`.
        about: the name of another person or thing.
        """
        ctx = self.ctx
        return self._with_space(
            lambda space: read_facts(ctx, ctx.memory.get_history(space.id, attribute, subject=about))
        )

    def get(self, id: str) -> RememberedFact | None:
        """Return a fact, or None if the user has none with this id."""
        ctx = self.ctx
        atom = ctx.memory.get_atom(read_id(id))
        return None if atom is None else read_facts(ctx, [atom])[0]

    def update(self, id: str, text: str) -> RememberedFact:
        """Replace the text of a fact, and return the new version. The old one stays in its history.

        Raises NotFound for an unknown id, and Conflict, which names the newest version, for an old one.
        """
        ctx = self.ctx
        atom = ctx.memory.get_atom(read_id(id))
        if atom is None:
            raise NotFound("fact", id)
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"text is {quote_value(text)}.", hint="Pass the new text; to remove a fact, forget it.")
        # The same text again would be a version that says nothing new.
        if text == atom.text:
            return read_facts(ctx, [atom])[0]
        newer = ctx.memory.supersede_atom(
            atom.id,
            {
                "text": text,
                "category": atom.category.model_dump(),
                "importance": atom.importance,
                "entity_ids": atom.entity_ids,
                "tags": atom.tags,
                "metadata": atom.metadata,
                "key": atom.key,
                "trust": atom.trust,
            },
        )
        return read_facts(ctx, [newer])[0]

    def forget(
        self,
        what: str | Forgetting | None = None,
        *,
        query: Query | None = None,
        preview: bool = True,
        min_score: Score = WEAK_BELOW,
    ) -> Forgetting:
        """Forget a fact, or all that is known about a query; `forget(query="my old job")` lists it and deletes nothing.

        what: the id of a fact or of a quoted message, or the preview that an earlier call returned.
        query: forget facts and quotes about it, at most 50 of either.
        preview: True only lists them; pass the result to `forget`, which forgets exactly what it lists. False does it
        in this call.
        min_score: with a query, the least score of what is forgotten.

        A forgotten fact is deleted and not learned again, and the messages it rests on are not quoted any more. The
        messages themselves stay in their conversations until `erase`.
        """
        ctx = self.ctx
        if (what is None) == (query is None):
            raise InvalidInput(
                "forget takes an id, a preview or a query.", hint='Write forget(id) or forget(query="…").'
            )
        if query is not None:
            found = self.search(query, limit=_MOST_FORGOTTEN, min_score=min_score)
            plan = Forgetting(
                query=query,
                facts=[item.fact for item in found if item.fact is not None],
                quotes=[each for item in found if item.fact is None for each in item.source],
                done=False,
            )
            return plan if preview else self._forget(plan)
        if isinstance(what, Forgetting):
            return what if what.done else self._forget(what)
        id = read_id(what)
        atom = ctx.memory.get_atom(id)
        # The item of a search is a fact, or a quote, whose id is that of a message.
        if atom is not None:
            return self._forget(Forgetting(query=None, facts=read_facts(ctx, [atom]), quotes=[], done=False))
        messages = ctx.conversations.find_messages([id])
        if not messages:
            missing = NotFound("fact", id)
            if not id.startswith(_ID_PREFIXES):
                missing.hint = 'An id is needed here. For all that is known about a topic, write forget(query="…").'
            raise missing
        return self._forget(Forgetting(query=None, facts=[], quotes=[to_citation(messages[0])], done=False))

    def export(self, path: str | Path | None = None) -> dict[str, Any]:
        """Return everything stored about the user as one document, ready for JSON.

        path: write a ZIP archive there instead, for memories of any size, and return the number of lines in its files.
        """
        admin = self.ctx.admin
        return admin.export_user_data() if path is None else dict(admin.export_user_archive(path))

    def erase(self) -> Erasure:
        """Erase everything about the user for good, conversations included, and return the receipt of it.

        This cannot be undone. The memory can be used again, and begins empty.
        """
        # The space goes too; the next call makes a new one.
        self._space = None
        erased = self.ctx.admin.delete_user_data(confirm=True)
        return Erasure.model_validate(erased)

    def tools(self, shape: ToolShape = "openai") -> list[dict[str, Any]]:
        """Return tools with which a model remembers and looks up by itself, in the shape that its SDK takes.

        shape: `openai` for chat completions, `openai-responses`, or `anthropic`. Run a call with `run_tool`.

        In the default space they store, search, sum up and delete; in another space they only look up.
        """
        return describe_tools(self._bind_tools(), shape)

    def run_tool(self, call: object) -> dict[str, Any]:
        """Run a tool that a model has called, and return the result as a message or block in the shape of the call.

        call: one of `message.tool_calls`, one item `function_call`, or one block `tool_use`, as a dict or an object of
        the SDK. A tool that refuses or fails raises nothing: its result says why.
        """
        return run_tool(self._bind_tools(), call)

    def _add_fact(
        self,
        text: object,
        key: str,
        conversation: str | None,
        at: Instant | None,
        metadata: dict[str, Any] | None,
    ) -> Added:
        """Add one fact under a key, as it is."""
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(
                f"With a key, one text is added, not {quote_value(text)}.", hint="Leave key out to add messages."
            )
        if conversation is not None:
            raise InvalidInput("A fact with a key belongs to no conversation.", hint="Leave conversation or key out.")
        ctx = self.ctx
        new = {
            "text": text,
            "category": {"name": _DIRECT_CATEGORY, "kind": "FACT"},
            "key": key,
            "metadata": metadata or {},
            **({} if at is None else {"valid_from": at}),
        }
        atom = self._with_space(lambda space: ctx.memory.add_atom(space.id, new))
        former = None if atom.supersedes is None else ctx.memory.get_atom(atom.supersedes)
        facts = read_facts(ctx, [atom, *([former] if former else [])])
        # Only what is stated again has a time of confirmation.
        is_known = atom.last_confirmed_at is not None
        because = f"It has the same key {key!r}."
        return Added(
            conversation_id=None,
            message_ids=[],
            learned=[] if is_known else facts[:1],
            confirmed=facts[:1] if is_known else [],
            replaced=[Replaced(fact=each, by=facts[0], because=because) for each in facts[1:] if not is_known],
        )

    def _run_job(self, job: Job) -> Job:
        """Read a conversation now; raise ExtractionFailed if that fails."""
        try:
            done = self._ctx.jobs.run_job(job.id)
        except Conflict:
            # An engine without an extractor leaves the reading to another one.
            return job
        if done.status in ("failed", "dead"):
            raise ExtractionFailed(done.error)
        return done

    def _forget(self, plan: Forgetting) -> Forgetting:
        """Forget what a preview lists, and return what was still there."""
        memory = self._ctx.memory
        gone: list[RememberedFact] = []
        for fact in plan.facts:
            try:
                memory.delete_atom(fact.id)
            except NotFound:
                # Forgotten by somebody else since it was listed.
                continue
            gone.append(fact)
        if plan.quotes:
            memory.forget_messages([quote.message_id for quote in plan.quotes])
        return plan.model_copy(update={"facts": gone, "done": True})

    def _bind_tools(self) -> Sequence[BoundTool]:
        """Return the tools for a model, bound to the space in use."""
        ctx = self.ctx
        if self._space_name is None:
            self._find_space()
            return ctx.tools.bound()
        space_id = self._find_space().id
        return ctx.memory.agent_tools(
            [{"type": name.upper(), "name": name, "memorySpaceId": space_id} for name in _RECALL_TOOLS]
        )
