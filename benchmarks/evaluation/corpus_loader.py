"""The loader of histories: messages become conversations in a bound namespace, and the engine does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.evaluation.dataset import Session, Turn
from benchmarks.evaluation.scripted_clock import ScriptedClock
from longmind.clock import to_micros
from longmind.context import Context
from longmind.engine import Engine
from longmind.extraction.search_context import build_search_contexts
from longmind.models.message import Message, Role

NAMESPACE = "history"
_ROLES = frozenset(("user", "assistant"))


@dataclass(frozen=True)
class LoadedTurn:
    """A turn with the text under which it is remembered."""

    turn: Turn
    text: str
    """The appended text; between people it begins with the name of the speaker."""
    around: tuple[str, ...]
    """Parts of the neighbouring turns, nearest first; empty where there is no neighbour."""


class LoadedHistory:
    """A history that is appended session by session, in a space of its own.

    The clock follows the times of the turns, as if everything happened live.
    """

    def __init__(self, engine: Engine, context: Context, clock: ScriptedClock, sessions: Sequence[Session]) -> None:
        self._engine = engine
        self._context = context
        self._clock = clock
        # The clock begins with the history, because spaces and bindings must not be newer than messages.
        clock.now = min(to_micros(turn.at) for session in sessions for turn in session.turns)
        self._latest = clock.now
        self.space_id = context.memory.create_memory_space("history").id
        context.memory.create_binding({"namespace": NAMESPACE, "userId": context.scope.user_id}, [self.space_id])
        self.turn_of: dict[str, str] = {}
        """The turn of each message, by id."""
        self._works = False

    @property
    def turns(self) -> int:
        """The number of turns that were appended."""
        return len(self.turn_of)

    def append(self, session: Session) -> None:
        """Append a session as a conversation, and close it."""
        conversations = self._context.conversations
        self._clock.now = self._latest
        conversation = conversations.create_conversation(NAMESPACE, title=session.id)
        for loaded in prepare_turns(session):
            self._latest = self._clock.now = max(self._latest, to_micros(loaded.turn.at))
            message = append_turn(self._context, conversation.id, loaded, session)
            self.turn_of[message.id] = loaded.turn.id
        conversations.close_conversation(conversation.id)
        self._works = True

    def finish_work(self) -> None:
        """Do the jobs of all sessions: facts are extracted, and messages embedded."""
        if not self._works:
            return
        self._clock.now = self._latest
        done = self._engine.work()
        if done.failed or done.dead:
            raise RuntimeError(f"A job failed: {self._context.jobs.list_jobs()[0].error}")
        self._works = False


def prepare_turns(session: Session) -> list[LoadedTurn]:
    """Return the turns of a session with their texts and neighbours."""
    people = not {turn.speaker for turn in session.turns} <= _ROLES
    texts = [turn.text for turn in session.turns]
    return [
        LoadedTurn(turn, f"{turn.speaker}: {turn.text}" if people else turn.text, around)
        for turn, around in zip(session.turns, build_search_contexts(texts), strict=True)
    ]


def append_turn(context: Context, conversation_id: str, loaded: LoadedTurn, session: Session) -> Message:
    """Append a turn to a conversation."""
    append = (
        context.conversations.append_user_message
        if find_role(loaded.turn, session) == "user"
        else context.conversations.append_assistant_turn
    )
    return append(conversation_id, loaded.text, created_at=loaded.turn.at)


def find_role(turn: Turn, session: Session) -> Role:
    """Return the role of the speaker of a turn; between people, the first speaker of the session is its user."""
    first = "user" if turn.speaker in _ROLES else session.turns[0].speaker
    return "user" if turn.speaker == first else "assistant"
