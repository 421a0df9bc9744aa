"""The loader of histories: messages become conversations, and each turn one atom, as an app would do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.evaluation.dataset import Session, Turn
from longmind.context import Context
from longmind.extraction.search_context import build_search_contexts
from longmind.models.atom import Category, NewAtom, Trust
from longmind.models.message import Message

_ROLES = frozenset(("user", "assistant"))
_CATEGORY = Category(name="turn", kind="FACT")


@dataclass(frozen=True)
class LoadedTurn:
    """A turn with the text under which it is remembered."""

    turn: Turn
    text: str
    """The appended text; between people it begins with the name of the speaker."""
    around: tuple[str, ...]
    """Parts of the neighbouring turns, nearest first; empty where there is no neighbour."""


@dataclass(frozen=True)
class LoadedCorpus:
    """A history in memory."""

    space_id: str
    turns: tuple[LoadedTurn, ...]
    turn_of: dict[str, str]
    """The turn of each message, by id."""


def load_corpus(context: Context, sessions: Sequence[Session]) -> LoadedCorpus:
    """Append all sessions of a history, and add one atom per turn to a new space."""
    space = context.memory.create_memory_space("history")
    # Data sets mix histories whose dates overlap, so everything counts as recorded at the beginning.
    known_since = min(turn.at for session in sessions for turn in session.turns)
    loaded: list[LoadedTurn] = []
    atoms: list[NewAtom] = []
    turn_of: dict[str, str] = {}
    for session in sessions:
        conversation = context.conversations.create_conversation("history", title=session.id)
        for each in prepare_turns(session):
            message = append_turn(context, conversation.id, each, session)
            turn_of[message.id] = each.turn.id
            loaded.append(each)
            atoms.append(_make_atom(each, message, known_since))
    context.memory.add_atoms(space.id, atoms)
    return LoadedCorpus(space.id, tuple(loaded), turn_of)


def prepare_turns(session: Session) -> list[LoadedTurn]:
    """Return the turns of a session with their texts and neighbours."""
    people = not {turn.speaker for turn in session.turns} <= _ROLES
    texts = [turn.text for turn in session.turns]
    return [
        LoadedTurn(turn, f"{turn.speaker}: {turn.text}" if people else turn.text, around)
        for turn, around in zip(session.turns, build_search_contexts(texts), strict=True)
    ]


def append_turn(context: Context, conversation_id: str, loaded: LoadedTurn, session: Session) -> Message:
    """Append a turn to a conversation; the first speaker of a session is its user."""
    first = "user" if loaded.turn.speaker in _ROLES else session.turns[0].speaker
    append = (
        context.conversations.append_user_message
        if loaded.turn.speaker == first
        else context.conversations.append_assistant_turn
    )
    return append(conversation_id, loaded.text, created_at=loaded.turn.at)


def _make_atom(loaded: LoadedTurn, message: Message, known_since: str) -> NewAtom:
    trust: Trust = "user" if message.role == "user" else "assistant"
    return NewAtom(
        text=loaded.text,
        category=_CATEGORY,
        valid_from=loaded.turn.at,
        created_at=known_since,
        source_message_ids=[message.id],
        search_context=list(loaded.around),
        speaker=loaded.turn.speaker,
        trust=trust,
    )
