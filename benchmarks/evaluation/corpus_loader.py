"""Brings a history into memory as an app would: messages into conversations, and one atom for each turn."""

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
class FedTurn:
    turn: Turn
    text: str
    """What was appended and remembered: between people it begins with the speaker's name."""
    around: tuple[str, ...]
    """Ends and beginnings of the turns around, the nearest first; empty where there is none."""


@dataclass(frozen=True)
class FedCorpus:
    space_id: str
    turns: tuple[FedTurn, ...]
    turn_of: dict[str, str]
    """From the id of a message to the turn it was."""


def feed(context: Context, sessions: Sequence[Session]) -> FedCorpus:
    space = context.memory.create_memory_space("history")
    # Sets of questions mix histories whose dates overlap: everything is known from the beginning on.
    known_since = min(turn.at for session in sessions for turn in session.turns)
    fed: list[FedTurn] = []
    atoms: list[NewAtom] = []
    turn_of: dict[str, str] = {}
    for session in sessions:
        conversation = context.conversations.create_conversation("history", title=session.id)
        for each in turns_of(session):
            message = append(context, conversation.id, each, session)
            turn_of[message.id] = each.turn.id
            fed.append(each)
            atoms.append(_atom(each, message, known_since))
    context.memory.add_atoms(space.id, atoms)
    return FedCorpus(space.id, tuple(fed), turn_of)


def turns_of(session: Session) -> list[FedTurn]:
    people = not {turn.speaker for turn in session.turns} <= _ROLES
    texts = [turn.text for turn in session.turns]
    return [
        FedTurn(turn, f"{turn.speaker}: {turn.text}" if people else turn.text, around)
        for turn, around in zip(session.turns, build_search_contexts(texts), strict=True)
    ]


def append(context: Context, conversation_id: str, fed: FedTurn, session: Session) -> Message:
    first = "user" if fed.turn.speaker in _ROLES else session.turns[0].speaker
    append = (
        context.conversations.append_user_message
        if fed.turn.speaker == first
        else context.conversations.append_assistant_turn
    )
    return append(conversation_id, fed.text, created_at=fed.turn.at)


def _atom(fed: FedTurn, message: Message, known_since: str) -> NewAtom:
    trust: Trust = "user" if message.role == "user" else "assistant"
    return NewAtom(
        text=fed.text,
        category=_CATEGORY,
        valid_from=fed.turn.at,
        created_at=known_since,
        source_message_ids=[message.id],
        search_context=list(fed.around),
        speaker=fed.turn.speaker,
        trust=trust,
    )
