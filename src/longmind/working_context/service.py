"""The working context of a conversation, for one scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longmind.assembly.assembler import assemble
from longmind.assembly.budget import FittedPrompt
from longmind.assembly.sanitiser import sanitise
from longmind.assembly.sections import Piece, Section, list_atoms_in_order
from longmind.assembly.templates import Templates
from longmind.assembly.tokens import TokenCounter
from longmind.assembly.wording import make_atom_piece, make_turns_piece
from longmind.clock import Clock, Instant, Micros, to_iso, to_micros
from longmind.conversations.validation import validate_policy
from longmind.errors import InvalidInput, LimitExceeded, NotFound
from longmind.models.atom import Atom
from longmind.models.block import MemoryPolicy
from longmind.models.working_context import ContextSection, LeftOut, WorkingContext
from longmind.recall.request import Filters, RecallRequest
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import conversations, grants, spaces, summaries
from longmind.validation.annotated import (
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
from longmind.validation.identifiers import validate_id
from longmind.validation.text import quote_value, validate_text
from longmind.working_context.turns import Turn, join_inseparable_turns, read_last_turns
from longmind.working_context.user_memory import BlockMemory, make_user_memory_section, normalise_wording

if TYPE_CHECKING:
    from longmind.recall.retriever import AtomRetriever

ALWAYS_ON_LIMIT = 500
"""How many always-on atoms are looked at, the most important ones."""
_TRIES = 3
"""How often memory is read that changes each time between its two parts."""
CATEGORIES_LIMIT = 100


@dataclass(frozen=True)
class _ConversationState:
    """What was said, as of one look at the database."""

    summary: str
    until_seq: int
    turns: list[Turn]
    own_space: bool
    """Whether the memory is the user's own; else it may be shared with them."""


class WorkingContexts:
    """Prompts that remember."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        retriever: Callable[[], AtomRetriever],
        blocks: BlockMemory,
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
        always_on_category_names: Sequence[str] = (),
        template_id: str | None = None,
        known_at: Instant | None = None,
        memory_policy: MemoryPolicy | dict[str, Any] | None = None,
        agent_id: Identity | None = None,
    ) -> WorkingContext:
        """Put together what a model is to know before it answers: the summary, what it remembers, and the last turns.

        Atoms of the always-on categories are there whatever is asked; others are recalled by the query. When the
        budget is short the oldest turns go first, then the hits that fit least, then always-on atoms that matter least.
        `known_at` builds it as it would have been built at that instant.

        With a `memory_policy` it begins with the core memory blocks of the user and of the agent (by default the
        context's), and where the policy says so with what archival memory has on the query. They go only when all
        else but the summary has gone.
        """
        space_id = validate_id("memory_space_id", memory_space_id)
        wanted_turns = RECENT_TURNS.check("recent_turns", recent_turns)
        wanted_hits = RECALLED_HITS.check("recall_limit", recall_limit)
        budget = TOKEN_BUDGET.check("token_budget", token_budget)
        names = _validate_categories(always_on_category_names)
        query = None if recall_query is None else QUERY.check("recall_query", recall_query)
        known = None if known_at is None else to_micros(known_at, "known_at")
        policy = None if memory_policy is None else validate_policy(memory_policy)
        agent = self._blocks.choose_agent(agent_id)
        template = self._templates.find(template_id)
        now = self._clock()
        said = self._database.read(
            self._scope, _read, validate_id("conversation_id", conversation_id), space_id, wanted_turns, known
        )
        owner = self._scope if said.own_space else grants.find_shared_owner(self._database, self._scope, space_id)
        if owner is None:
            raise NotFound("memory space", space_id)
        for _ in range(_TRIES):
            always_on = self._read_always_on(owner, space_id, names, now, known)
            recalled = self._recall(owner, space_id, query or "", wanted_hits, tuple(always_on), now, known)
            if {atom.id for atom in always_on.values()}.isdisjoint(atom.supersedes for atom in recalled):
                break
            # It was replaced while the question took its time, and a prompt would say both.
        standing = Section("always_on", "memory", _make_unique_pieces(always_on.values()))
        remembered = Section("user_memory", "lines")
        if policy is not None and remembered.name in template.shows:
            core = self._blocks.read_core(agent, policy, known)
            archival = self._blocks.find_reminders(query or "", agent, policy, known)
            # Only what the template shows is said already.
            remembered = make_user_memory_section(core, archival, template.select_visible([standing])[0].pieces)
        summary = sanitise(said.summary) if include_rolling_summary else ""
        sections = [
            remembered,
            Section("summary", "text").with_text(summary),
            standing,
            Section("recalled", "memory", _make_unique_pieces(recalled, standing.pieces, remembered.pieces)),
            _make_turns_section(said.turns),
        ]
        fitted = assemble(sections, template, budget, self._count)
        return _to_working_context(fitted, said.until_seq if summary else 0, now if known is None else known)

    def _read_always_on(
        self, owner: Scope, space_id: str, names: tuple[str, ...], now: Micros, known_at: Micros | None
    ) -> dict[int, Atom]:
        if not names:
            return {}
        filters = Filters(now=now, category_names=names, known_at=known_at, begun=True)
        return self._find_retriever().list_by_importance(owner, space_id, filters, ALWAYS_ON_LIMIT)

    def _recall(
        self,
        owner: Scope,
        space_id: str,
        query: str,
        limit: int,
        shown_already: tuple[int, ...],
        now: Micros,
        known_at: Micros | None,
    ) -> list[Atom]:
        if not query.strip() or not limit:
            return []
        filters = Filters(now=now, known_at=known_at, begun=True, without=shown_already)
        hits = self._find_retriever().find_by_topic(owner, space_id, RecallRequest(filters, query), limit).hits
        return [hit.atom for hit in hits]


def _make_unique_pieces(
    atoms: Iterable[Atom], before: Sequence[Piece] = (), in_blocks: Sequence[Piece] = ()
) -> tuple[Piece, ...]:
    """The lines of atoms, without those that say the same in the same words as one before them or one of a block."""
    told = {_normalise_with_kind(piece) for piece in before}
    # The lines of blocks are of no kind.
    said = set(map(normalise_wording, in_blocks))
    lines: dict[tuple[str, bool], Piece] = {}
    for piece in map(make_atom_piece, atoms):
        lines.setdefault(_normalise_with_kind(piece), piece)
    return tuple(piece for words, piece in lines.items() if words not in told and words[0] not in said)


def _normalise_with_kind(piece: Piece) -> tuple[str, bool]:
    return normalise_wording(piece), piece.atom is not None and piece.atom.behavioral


def _read(
    run: Transaction, conversation_id: str, space_id: str, wanted_turns: int, known_at: Micros | None
) -> _ConversationState:
    if conversations.read_status(run, conversation_id) is None:
        raise NotFound("conversation", conversation_id)
    own_space = spaces.is_live(run, space_id)
    turns = read_last_turns(run, conversation_id, wanted_turns, known_at) if wanted_turns else []
    summary = summaries.find_latest(run, conversation_id, known_at)
    return _ConversationState(summary.text or "", summary.until, turns, own_space)


def _make_turns_section(turns: list[Turn]) -> Section:
    """The turns in their order, of which the newest stay the longest."""
    pieces = tuple(make_turns_piece(together) for together in join_inseparable_turns(turns))
    return Section("turns", "turns", pieces, last_to_go=tuple(reversed(range(len(pieces)))))


def _to_working_context(fitted: FittedPrompt, until_seq: int, built_at: Micros) -> WorkingContext:
    messages = [message for section in fitted.sections for piece in section.pieces for message in piece.messages]
    gone = fitted.dropped
    left_out = LeftOut(
        turns=len({message.turn_id for piece in gone.get("turns", ()) for message in piece.messages}),
        recalled=[piece.atom.id for piece in gone.get("recalled", ()) if piece.atom is not None],
        always_on=[piece.atom.id for piece in gone.get("always_on", ()) if piece.atom is not None],
        summary_shortened=fitted.shortened,
        user_memory=len(gone.get("user_memory", ())),
    )
    sections = [
        ContextSection.from_trusted(
            {
                "name": section.name,
                "atom_ids": [atom.id for atom in list_atoms_in_order([section])],
                "message_ids": [message.id for piece in section.pieces for message in piece.messages],
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
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidInput(
            f"always_on_category_names is {quote_value(names)}.",
            hint="It is a list of names, for example ['identity'].",
        )
    if len(names) > CATEGORIES_LIMIT:
        raise LimitExceeded("always_on_category_names", limit=CATEGORIES_LIMIT, given=len(names), unit="names")
    return tuple(dict.fromkeys(validate_text(f"always_on_category_names[{n}]", each) for n, each in enumerate(names)))
