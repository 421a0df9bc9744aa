"""Operations on working contexts: a conversation and a memory space become a prompt within a budget.

A context is read at several moments (messages and summary, always-on atoms, recalled atoms, blocks). What would show
if memory changed in between, an atom next to its newer version, is detected, and the two recalls are repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from longmind.assembly.assembler import assemble
from longmind.assembly.budget import FittedPrompt
from longmind.assembly.profile_text import PROFILE, limit_profile, make_profile_section
from longmind.assembly.sanitiser import sanitise
from longmind.assembly.sections import Piece, Section, list_atoms_in_order
from longmind.assembly.templates import Template, Templates
from longmind.assembly.tokens import TokenCounter
from longmind.assembly.wording import make_atom_piece, make_turns_piece
from longmind.clock import Clock, Instant, Micros, to_iso, to_micros
from longmind.conversations.validation import validate_policy
from longmind.errors import InvalidInput, LimitExceeded, NotFound
from longmind.extraction.consolidation.profile_facts import find_profile_facts
from longmind.memory.space_names import find_space_id
from longmind.models.atom import Atom
from longmind.models.block import MemoryPolicy
from longmind.models.recall import Hit, Passage
from longmind.models.working_context import ContextSection, LeftOut, WorkingContext
from longmind.recall.request import Filters, RecallRequest, TopicOptions
from longmind.scope import Scope, ScopedService
from longmind.store.database import Database, Transaction
from longmind.store.tables import atoms, conversations, grants, spaces, summaries
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import (
    QUERY,
    RECALLED_HITS,
    RECENT_TURNS,
    TOKEN_BUDGET,
    ConversationId,
    Identity,
    RecalledHits,
    RecentTurns,
    SpaceId,
    TokenBudget,
)
from longmind.validation.text import quote_value, validate_text
from longmind.working_context.quotes import count_spare_passages, make_quotes_section, split_sentences
from longmind.working_context.turns import Turn, join_inseparable_turns, read_last_turns
from longmind.working_context.user_memory import ContextBlocks, make_user_memory_section, normalise_wording

if TYPE_CHECKING:
    from longmind.recall.retriever import AtomRetriever

ALWAYS_ON_LIMIT = 500
"""Always-on atoms that are read, the most important ones."""
_TRIES = 3
"""Most times that the two recalls are made while memory changes between them."""
CATEGORIES_LIMIT = 100


@dataclass(frozen=True)
class _ConversationState:
    """The parts of a conversation that a context shows, read at one moment."""

    summary: str
    until_seq: int
    turns: list[Turn]
    own_space: bool
    """True if the space is the user's own; if not, it may be shared with the user."""
    several_speakers: bool
    """True if other users may have spoken of themselves in the space."""


class _Recalled(NamedTuple):
    """Hits and passages on a query, best first."""

    hits: list[Hit]
    passages: list[Passage]


class _Standing(NamedTuple):
    """The sections that do not depend on the query, and the atoms in them by their positions."""

    always_on: Section
    profile: Section
    shown: dict[int, Atom]


class WorkingContexts(ScopedService):
    """Prompts that remember, for the current user."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        retriever: Callable[[], AtomRetriever],
        blocks: ContextBlocks,
        templates: Templates,
        count: TokenCounter,
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._find_retriever = retriever
        self._blocks = blocks
        self._templates = templates
        self._count = count

    def build_working_context(
        self,
        conversation_id: ConversationId,
        *,
        memory_space_id: SpaceId,
        recall_query: str | None = None,
        recent_turns: RecentTurns = 10,
        recall_limit: RecalledHits = 8,
        token_budget: TokenBudget = 8000,
        include_rolling_summary: bool = True,
        include_quotes: bool = True,
        include_profile: bool = True,
        always_on_category_names: Sequence[str] = (),
        template_id: str | None = None,
        known_at: Instant | None = None,
        memory_policy: MemoryPolicy | dict[str, Any] | None = None,
        agent_id: Identity | None = None,
    ) -> WorkingContext:
        """Build the context for a model's next answer: the summary, its memory and the last turns.

        conversation_id: the conversation. memory_space_id: the id or the name of a space.
        recall_query: the topic to recall atoms and quotes about; without it, only always-on atoms are shown.
        recent_turns: 0 to 1,000. recall_limit: 0 to 200, of atoms and of quotes. token_budget: 1 to 10,000,000.
        include_rolling_summary: False leaves out the summary of the conversation.
        include_quotes: False leaves out what was said in conversations that lead to the space. Quotes that repeat other
        parts of the context or taught a fact that has changed since are left out. Weak facts are marked as perhaps
        unrelated; weak quotes as well, and they are left out where something fits the query far better.
        include_profile: False leaves out the profile of the user, which takes at most 150 tokens, and a fifth of
        the budget (see `get_profile`).
        always_on_category_names: categories whose atoms are shown whatever the query is, at most 100.
        template_id: one of `engine.templates`; by default the plain one.
        known_at: build the context as it would have been at that instant.
        memory_policy: the memory blocks to show: by default the core blocks of the user and of the agent; archival
        lines about the query too where the policy says so. agent_id: the agent; by default that of the context.

        If the budget is short, weak hits and quotes are dropped first, then the oldest turns, then the other hits and
        quotes, the least relevant first, then the least important always-on atoms, then lines of blocks, then those of
        the profile; at last the summary is cut. Raises NotFound for an unknown conversation or space.
        """
        return self._build(
            validate_id("conversation_id", conversation_id),
            memory_space_id,
            recall_query,
            recent_turns=recent_turns,
            recall_limit=recall_limit,
            token_budget=token_budget,
            include_rolling_summary=include_rolling_summary,
            include_quotes=include_quotes,
            include_profile=include_profile,
            always_on_category_names=always_on_category_names,
            template_id=template_id,
            known_at=known_at,
            memory_policy=memory_policy,
            agent_id=agent_id,
        )

    def build_memory_context(
        self,
        memory_space_id: SpaceId,
        *,
        query: str | None = None,
        recall_limit: RecalledHits = 8,
        token_budget: TokenBudget = 800,
        include_quotes: bool = True,
        include_profile: bool = True,
        always_on_category_names: Sequence[str] = (),
        template_id: str | None = None,
        known_at: Instant | None = None,
        memory_policy: MemoryPolicy | dict[str, Any] | None = None,
        agent_id: Identity | None = None,
    ) -> WorkingContext:
        """Build the memory part of a prompt, without a conversation: the profile, and facts and quotes about a query.

        memory_space_id: the id or the name of a space.
        query: the topic to recall facts and quotes about; without it, only the profile and always-on facts are shown.
        recall_limit: 0 to 200, of facts and of quotes. token_budget: 1 to 10,000,000.
        include_quotes, include_profile, always_on_category_names, template_id, known_at, memory_policy, agent_id: as in
        `build_working_context`.

        Raises NotFound for an unknown space.
        """
        # No conversation, so neither its summary nor its turns.
        return self._build(
            None,
            memory_space_id,
            query,
            recent_turns=0,
            recall_limit=recall_limit,
            token_budget=token_budget,
            include_rolling_summary=False,
            include_quotes=include_quotes,
            include_profile=include_profile,
            always_on_category_names=always_on_category_names,
            template_id=template_id,
            known_at=known_at,
            memory_policy=memory_policy,
            agent_id=agent_id,
        )

    def _build(
        self,
        conversation_id: str | None,
        memory_space_id: str,
        recall_query: str | None,
        *,
        recent_turns: int,
        recall_limit: int,
        token_budget: int,
        include_rolling_summary: bool,
        include_quotes: bool,
        include_profile: bool,
        always_on_category_names: Sequence[str],
        template_id: str | None,
        known_at: Instant | None,
        memory_policy: MemoryPolicy | dict[str, Any] | None,
        agent_id: str | None,
    ) -> WorkingContext:
        wanted_turns = RECENT_TURNS.check("recent_turns", recent_turns)
        wanted_hits = RECALLED_HITS.check("recall_limit", recall_limit)
        budget = TOKEN_BUDGET.check("token_budget", token_budget)
        names = _validate_categories(always_on_category_names)
        query = None if recall_query is None else QUERY.check("recall_query", recall_query)
        known = None if known_at is None else to_micros(known_at, "known_at")
        policy = validate_policy(memory_policy)
        agent = self._blocks.choose_agent(agent_id)
        template = self._templates.find(template_id)
        space_id = find_space_id(self._database, self._scope, memory_space_id)
        now = self._clock()
        state = self._database.read(self._scope, _read, conversation_id, space_id, wanted_turns, known)
        # A shared space is read in the scope of its owner, the conversation always in the user's own.
        owner = self._scope if state.own_space else grants.find_shared_owner(self._database, self._scope, space_id)
        if owner is None:
            raise NotFound("memory space", space_id)
        quoted = bool(include_quotes) and "quotes" in template.shows
        options = TopicOptions(wanted_hits, exhaustive=False, passages=quoted)
        if quoted:
            options = options._replace(limit=wanted_hits + count_spare_passages(state.turns))
        # Reads never lock memory, so it may change between the two recalls.
        for _ in range(_TRIES):
            standing, profile, shown = self._read_standing(
                owner, space_id, state, template, names, now, known, limit_profile(budget) if include_profile else 0
            )
            found = self._recall(owner, space_id, query or "", wanted_hits, options, tuple(shown), now, known)
            if {atom.id for atom in shown.values()}.isdisjoint(hit.atom.supersedes for hit in found.hits):
                break
            # A shown atom was superseded in between, and the prompt would show both versions.
        remembered = self._read_blocks(query or "", agent, policy, template, [profile, standing], known)
        summary = sanitise(state.summary) if include_rolling_summary else ""
        # A weak fact is marked rather than left out: a rule may hold whatever the question is about.
        stated_before = [*profile.pieces, *standing.pieces]
        recalled = [make_atom_piece(hit.atom, weak=hit.weak, relevance=hit.score) for hit in found.hits]
        # The order of sections is the order of importance: the last section is dropped first.
        sections = [
            profile,
            remembered,
            Section("summary", "text").with_text(summary),
            standing,
            Section("recalled", "memory", _drop_repeated(recalled, stated_before, remembered.pieces)),
        ]
        said = _list_said(template.select_visible(sections))
        best_score = max((hit.score for hit in found.hits), default=0.0)
        # A quote of what has changed would contradict the fact that stands above it.
        current = self._drop_outdated(owner, space_id, found.passages, now if known is None else known)
        sections += [
            make_quotes_section(current, query or "", state.turns, said, wanted_hits, best_score),
            _make_turns_section(state.turns),
        ]
        fitted = assemble(sections, template, budget, self._count)
        return _to_working_context(fitted, state.until_seq if summary else 0, now if known is None else known)

    def _read_standing(
        self,
        owner: Scope,
        space_id: str,
        state: _ConversationState,
        template: Template,
        names: tuple[str, ...],
        now: Micros,
        known_at: Micros | None,
        profile_tokens: int,
    ) -> _Standing:
        """Read what stands in the prompt whatever the query is: the always-on facts, and the profile."""
        always_on = self._read_always_on(owner, space_id, names, now, known_at)
        shown = dict(always_on)
        standing = Section("always_on", "memory", _drop_repeated(map(make_atom_piece, always_on.values())))
        profile = Section(PROFILE, "memory")
        if profile_tokens:
            facts = self._find_profile_facts(owner, space_id, state, template, tuple(always_on), now, known_at)
            profile = self._make_profile(facts.values(), template, standing, profile_tokens)
            chosen = {atom.id for atom in list_atoms_in_order([profile])}
            shown |= {position: atom for position, atom in facts.items() if atom.id in chosen}
        return _Standing(standing, profile, shown)

    def _read_blocks(
        self,
        query: str,
        agent: str | None,
        policy: MemoryPolicy,
        template: Template,
        before: Sequence[Section],
        known_at: Micros | None,
    ) -> Section:
        """Read the lines of memory blocks that the policy asks for, without what the sections before say."""
        section = Section("user_memory", "lines")
        if section.name not in template.shows:
            return section
        core = self._blocks.read_core(agent, policy, known_at)
        archival = self._blocks.find_reminders(query, agent, policy, known_at)
        # Only pieces that the template shows count as stated.
        stated = [piece for each in template.select_visible(before) for piece in each.pieces]
        return make_user_memory_section(core, archival, stated)

    def _read_always_on(
        self, owner: Scope, space_id: str, names: tuple[str, ...], now: Micros, known_at: Micros | None
    ) -> dict[int, Atom]:
        if not names:
            return {}
        filters = Filters(now=now, category_names=names, known_at=known_at, begun=True)
        return self._find_retriever().list_by_importance(owner, space_id, filters, ALWAYS_ON_LIMIT)

    def _drop_outdated(self, owner: Scope, space_id: str, passages: Sequence[Passage], at: Micros) -> list[Passage]:
        """Return passages without the messages of which a fact has changed since: the prompt is about what holds."""
        if not passages:
            return []
        # In the owner's scope, where the facts are; the passages are always the user's own.
        conversation_ids = sorted({passage.conversation_id for passage in passages})
        outdated = self._database.read(owner, atoms.find_outdated_messages, space_id, conversation_ids, at)
        if not outdated:
            return list(passages)
        return [passage for passage in passages if outdated.isdisjoint(each.id for each in passage.messages)]

    def _find_profile_facts(
        self,
        owner: Scope,
        space_id: str,
        state: _ConversationState,
        template: Template,
        shown_already: tuple[int, ...],
        now: Micros,
        known_at: Micros | None,
    ) -> dict[int, Atom]:
        """Return the facts that the profile may show, the first ones first; none if the template shows no profile."""
        if not any(part.startswith(f"{PROFILE}.") for part in template.shows):
            return {}
        return find_profile_facts(
            self._find_retriever(),
            owner,
            space_id,
            now=now,
            known_at=known_at,
            speaker=self._scope.user_id if state.several_speakers else None,
            without=shown_already,
        )

    def _make_profile(self, facts: Iterable[Atom], template: Template, standing: Section, most: int) -> Section:
        """Return the profile as far as the template shows it, without what the always-on facts say."""
        section = make_profile_section(facts, template.render_alone, self._count, standing.pieces, most)
        return template.select_visible([section])[0]

    def _recall(
        self,
        owner: Scope,
        space_id: str,
        query: str,
        limit: int,
        options: TopicOptions,
        shown_already: tuple[int, ...],
        now: Micros,
        known_at: Micros | None,
    ) -> _Recalled:
        """Return the best hits, at most `limit`, and the best passages, as many as the options say."""
        if not query.strip() or not limit:
            return _Recalled([], [])
        filters = Filters(now=now, known_at=known_at, begun=True, without=shown_already)
        found = self._find_retriever().find_by_topic(owner, space_id, RecallRequest(filters, query), options)
        return _Recalled(found.hits[:limit], found.passages)


def _list_said(sections: Iterable[Section]) -> list[str]:
    """Return the texts of sections, each of which may say what a quote says; of texts, each sentence."""
    texts = [(section, str(piece.fields["text"])) for section in sections for piece in section.pieces]
    return [part for section, text in texts for part in (split_sentences(text) if section.shape == "text" else [text])]


def _drop_repeated(
    pieces: Iterable[Piece], before: Sequence[Piece] = (), in_blocks: Sequence[Piece] = ()
) -> tuple[Piece, ...]:
    """Return the lines of facts, without those that repeat an earlier line, `before` or a line of a block."""
    earlier = {_normalise_with_kind(piece) for piece in before}
    # Lines of blocks have no kind.
    block_wordings = set(map(normalise_wording, in_blocks))
    lines: dict[tuple[str, bool], Piece] = {}
    for piece in pieces:
        lines.setdefault(_normalise_with_kind(piece), piece)
    return tuple(piece for words, piece in lines.items() if words not in earlier and words[0] not in block_wordings)


def _normalise_with_kind(piece: Piece) -> tuple[str, bool]:
    return normalise_wording(piece), piece.atom is not None and piece.atom.behavioral


def _read(
    run: Transaction, conversation_id: str | None, space_id: str, wanted_turns: int, known_at: Micros | None
) -> _ConversationState:
    """Read the summary and the last turns of a conversation in one transaction; raise NotFound if it is unknown.

    Also looks whether the memory space is the user's own, which spares a look at the grants.
    """
    if conversation_id is not None and conversations.read_status(run, conversation_id) is None:
        raise NotFound("conversation", conversation_id)
    own_space = spaces.is_live(run, space_id)
    several_speakers = not own_space or grants.is_shared(run, space_id)
    # A program that keeps the conversation itself asks for memory alone.
    if conversation_id is None:
        return _ConversationState("", 0, [], own_space, several_speakers)
    turns = read_last_turns(run, conversation_id, wanted_turns, known_at) if wanted_turns else []
    summary = summaries.find_latest(run, conversation_id, known_at)
    return _ConversationState(summary.text or "", summary.until, turns, own_space, several_speakers)


def _make_turns_section(turns: list[Turn]) -> Section:
    """Return the section of the turns in their order; the newest are dropped last."""
    pieces = tuple(make_turns_piece(together) for together in join_inseparable_turns(turns))
    return Section("turns", "turns", pieces, last_to_go=tuple(reversed(range(len(pieces)))))


def _to_working_context(fitted: FittedPrompt, until_seq: int, built_at: Micros) -> WorkingContext:
    """Return the value for a fitted prompt, with the ids of all that the budget dropped."""
    messages = [message for section in fitted.sections for piece in section.pieces for message in piece.messages]
    gone = fitted.dropped
    left_out = LeftOut(
        turns=len({message.turn_id for piece in gone.get("turns", ()) for message in piece.messages}),
        recalled=[piece.atom.id for piece in gone.get("recalled", ()) if piece.atom is not None],
        profile=[piece.atom.id for piece in gone.get("profile", ()) if piece.atom is not None],
        always_on=[piece.atom.id for piece in gone.get("always_on", ()) if piece.atom is not None],
        summary_shortened=fitted.shortened,
        user_memory=len(gone.get("user_memory", ())),
        quotes=[piece.quoted.id for piece in gone.get("quotes", ()) if piece.quoted is not None],
    )
    sections = [
        ContextSection.from_trusted(
            {
                "name": section.name,
                "atom_ids": [atom.id for atom in list_atoms_in_order([section])],
                "message_ids": [message_id for piece in section.pieces for message_id in piece.list_message_ids()],
            }
        )
        for section in fitted.sections
        if section.pieces
    ]
    return WorkingContext.from_trusted(
        {
            "context_block": fitted.text,
            "messages": messages,
            "atoms_used": list_atoms_in_order(fitted.sections),
            "tokens_estimated": fitted.tokens,
            "sections": sections,
            "left_out": left_out,
            "rolling_summary_until_seq": until_seq,
            "built_at": to_iso(built_at),
        }
    )


def _validate_categories(names: object) -> tuple[str, ...]:
    """Return the names of categories without duplicates; at most 100."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidInput(
            f"always_on_category_names is {quote_value(names)}.",
            hint="Pass a list of names, for example ['identity'].",
        )
    if len(names) > CATEGORIES_LIMIT:
        raise LimitExceeded("always_on_category_names", limit=CATEGORIES_LIMIT, given=len(names), unit="names")
    return tuple(dict.fromkeys(validate_text(f"always_on_category_names[{n}]", each) for n, each in enumerate(names)))
