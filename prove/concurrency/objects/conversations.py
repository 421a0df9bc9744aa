"""Conversations: places are taken one after another, a key is used once, and what is closed takes nothing more."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import longmind
from longmind.providers.testing import ScriptedModel
from prove.concurrency.history import Operation
from prove.concurrency.linearizable import IMPOSSIBLE, Impossible
from prove.concurrency.objects.player import Player

_KEYS = 6
"""Few enough for clients to meet on the same key."""
_CLOSED = ["closed", "conversation"]


class TalkRow(NamedTuple):
    text: str
    asked: int
    """The place of the user's message that it answers; its own if it is one."""


class UsedKey(NamedTuple):
    """A key that was used, with the message that it stands for."""

    key: str
    text: str
    sequence: int
    id: str | None
    """None while it is unknown."""


class Talk(NamedTuple):
    rows: tuple[TalkRow, ...] = ()
    used: frozenset[UsedKey] = frozenset()
    closed: bool = False

    def find_key(self, key: str | None) -> UsedKey | None:
        return next((used for used in self.used if used.key == key), None)

    def add_question(self, key: str | None, text: str, id: str | None) -> Talk:
        place = len(self.rows) + 1
        used = self.used if key is None else self.used | {UsedKey(key, text, place, id)}
        return self._replace(rows=(*self.rows, TalkRow(text, place)), used=used)

    def add_answer(self, asked: int, text: str) -> Talk:
        return self._replace(rows=(*self.rows, TalkRow(text, asked)))

    def attempts(self, asked: int) -> int:
        return sum(row.asked == asked for row in self.rows) - 1


class TalkModel:
    initial = Talk()
    reads = frozenset({"read"})

    def step(self, state: Talk, operation: Operation) -> Talk | Impossible:
        match operation.name:
            case "read":
                rows = tuple((place, row.text) for place, row in enumerate(state.rows, 1))
                return state if rows[-operation.given :] == operation.answer else IMPOSSIBLE
            case "close":
                return state._replace(closed=True)
            case "answer":
                return _apply_answer(state, operation, *operation.given)
        key, text, *answers = operation.given
        return _apply_question(state, operation, key, text, answers)


def _apply_question(
    state: Talk, operation: Operation, key: str | None, text: str, answers: list[str]
) -> Talk | Impossible:
    """Return the state after a user's message, new or replayed by its key, and after its answers."""
    outcome, result = operation.answer if operation.known else ("unknown", None)
    used = state.find_key(key)
    if outcome == "mismatch":
        return state if used is not None and used.text != text else IMPOSSIBLE
    if used is not None and used.text != text:
        return IMPOSSIBLE
    # A message that is there is given back also when nothing more can be said; an answer is something more.
    refused = state.closed and (used is None or operation.name != "say")
    if outcome == "closed" or refused:
        return state if outcome == "closed" and refused else IMPOSSIBLE
    id = result[1] if result else None
    if used is None:
        after, sequence, replayed = state.add_question(key, text, id), len(state.rows) + 1, False
    else:
        after, sequence, replayed = _learn_id(state, used, id), used.sequence, True
        if used.id is not None and id not in (None, used.id):
            return IMPOSSIBLE
    if result and tuple(result[:3]) != (sequence, id, replayed):
        return IMPOSSIBLE
    for answer in answers:
        after = after.add_answer(sequence, answer)
        if result and tuple(result[3:]) != (len(after.rows), after.attempts(sequence)):
            return IMPOSSIBLE
    return after


def _learn_id(state: Talk, used: UsedKey, id: str | None) -> Talk:
    if id is None or used.id is not None:
        return state
    return state._replace(used=state.used - {used} | {used._replace(id=id)})


def _apply_answer(state: Talk, operation: Operation, key: str | None, text: str, answer: str) -> Talk | Impossible:
    if operation.refusal == "closed":
        return state if state.closed else IMPOSSIBLE
    if state.closed or (asked := _place_of(state, key, text)) is None:
        return IMPOSSIBLE
    after = state.add_answer(asked, answer)
    expected = (len(after.rows), after.attempts(asked))
    return after if not operation.known or operation.answer == expected else IMPOSSIBLE


def _place_of(state: Talk, key: str | None, text: str) -> int | None:
    """Return the place of a user's message: the one with the key, or the only one with this text."""
    if key is not None:
        used = state.find_key(key)
        return used.sequence if used else None
    return next((row.asked for row in state.rows if row.text == text), None)


class Conversations:
    claim = "appends, turns and run turns are linearizable: one sequence, each idempotency key once"
    model = TalkModel()

    def prepare(self, ctx: longmind.Context) -> list[str]:
        return [ctx.conversations.create_conversation(f"talk {number}").id for number in range(3)]

    def move(self, player: Player, name: str) -> None:
        chance = player.dice.random()
        key = f"key {player.dice.randrange(_KEYS)}" if player.dice.random() < 0.5 else None
        # Mostly what others say with the same key too, now and then something else.
        text = player.client.fresh() if key is None else f"{key} said {int(player.dice.random() < 0.1)}"
        if chance < 0.25:
            self.look(player, name, player.dice.choice([1, 10, 1000]))
        elif chance < 0.55:
            self._say(player, name, key, text)
        elif chance < 0.8:
            self._turn(player, name, key, text)
        elif chance < 0.995:
            self._run(player, name, key, text)
        else:
            player.client.do(name, "close", None, lambda: _close(player, name))

    def look(self, player: Player, name: str, limit: int = 1000) -> None:
        talks = player.context().conversations
        player.client.do(name, "read", limit, lambda: [_to_pair(row) for row in talks.get_messages(name, limit=limit)])

    def _say(self, player: Player, name: str, key: str | None, text: str) -> None:
        talks = player.context().conversations

        def say() -> list[Any]:
            message = talks.append_user_message(name, text, idempotency_key=key)
            return [message.sequence, _identity(message), message.replayed]

        player.client.do(name, "say", [key, text], lambda: _or_refusal(say))

    def _turn(self, player: Player, name: str, key: str | None, text: str) -> None:
        talks, answer = player.context().conversations, player.client.fresh()

        def turn() -> list[Any]:
            done = talks.append_turn(name, user_content=text, assistant={"content": answer}, idempotency_key=key)
            asked, said = done.user_message, done.assistant_message
            return [asked.sequence, _identity(asked), asked.replayed, said.sequence, said.attempt]

        player.client.do(name, "turn", [key, text, answer], lambda: _or_refusal(turn))

    def _run(self, player: Player, name: str, key: str | None, text: str) -> None:
        """Record a run as two writes, separated by the call of the model: the first is done by then."""
        client, talks, answer = player.client, player.context().conversations, player.client.fresh()
        answering = asked_at = 0

        def reply(_: object) -> str:
            nonlocal answering, asked_at
            asked_at = time.monotonic_ns()
            answering = client.call(name, "answer", [key, text, answer], asked_at)
            return answer

        asking = client.call(name, "ask", [key, text])
        try:
            outcome, done = _or_refusal(
                lambda: talks.run_turn(name, model=ScriptedModel(reply), user_text=text, idempotency_key=key)
            )
        except longmind.StoreError:
            return
        if outcome != "ok":
            client.note_answer(asking, [outcome, done])
            return
        asked, *answers = done.appended_messages
        # Without an instant the model was not asked, since what was said before could not be read.
        client.note_answer(asking, ["ok", [asked.sequence, _identity(asked), asked.replayed]], asked_at or None)
        if answers:
            client.note_answer(answering, [answers[0].sequence, answers[0].attempt])
        elif answering and "is closed" in (done.error or ""):
            client.note_answer(answering, _CLOSED)


def _close(player: Player, name: str) -> str:
    player.context().conversations.close_conversation(name)
    return "done"


def _or_refusal(act: Any) -> list[Any]:
    try:
        return ["ok", act()]
    except longmind.IdempotencyMismatch:
        return ["mismatch", "key"]
    except longmind.ConversationClosed:
        return _CLOSED


def _identity(message: longmind.Message) -> str:
    return f"{message.id} {message.turn_id}"


def _to_pair(message: longmind.Message) -> list[Any]:
    return [message.sequence, message.text]
