"""What holds for any conversation: it reads back as a plain list in the test would."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import longmind

# The database lives as long as the test; every example has a conversation of its own in it.
moderately = settings(
    max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

Visibility = Literal["user", "internal", "hidden"]
visibilities: st.SearchStrategy[Visibility] = st.sampled_from(["user", "internal", "hidden"])


@dataclass(frozen=True)
class Append:
    how: Literal["user", "assistant", "tool", "system", "turn"]
    text: str
    visibility: Visibility
    key: str | None


appends = st.builds(
    Append,
    # Turns come more often, because they are what can be retried.
    how=st.sampled_from(["user", "assistant", "tool", "system", "turn", "turn"]),
    text=st.sampled_from(["one", "two"]),
    visibility=visibilities,
    key=st.sampled_from([None, None, "k1", "k2"]),
)


@dataclass(frozen=True)
class Row:
    sequence: int
    role: str
    text: str
    visibility: Visibility
    turn: int
    attempt: int
    key: str | None = None


@dataclass
class Reference:
    """A conversation as a list, with the rules said as plainly as possible."""

    rows: list[Row] = field(default_factory=list)
    turns: int = 0
    turn: int | None = None
    attempt: int = 1
    asked_again: bool = False

    def append(self, what: Append) -> bool:
        """Take the append, or say that it is refused."""
        if what.how not in ("user", "turn"):
            if what.how == "assistant" and self.asked_again:
                self.attempt += 1
            if what.how != "system":
                self.asked_again = False
            self._add(what.how, what.text, what.visibility)
            return True
        asked = next((row for row in self.rows if what.key is not None and row.key == what.key), None)
        if asked is not None and (asked.text, asked.visibility) != (what.text, what.visibility):
            return False
        if asked is None:
            self._open_turn()
            self._add("user", what.text, what.visibility, what.key)
            if what.how == "turn":
                self._add("assistant", what.text, "user")
        else:
            self._ask_again(asked, what.text if what.how == "turn" else None)
        return True

    def _open_turn(self) -> None:
        self.turns += 1
        self.turn, self.attempt, self.asked_again = self.turns, 1, False

    def _add(self, role: str, text: str, visibility: Visibility, key: str | None = None) -> None:
        if self.turn is None:
            self._open_turn()
        assert self.turn is not None
        self.rows.append(Row(len(self.rows) + 1, role, text, visibility, self.turn, self.attempt, key))

    def _ask_again(self, asked: Row, answer: str | None) -> None:
        answers = [row.attempt for row in self.rows if row.turn == asked.turn and row.role == "assistant"]
        attempt = max(answers, default=0) + 1
        if answer is not None:
            self.rows.append(Row(len(self.rows) + 1, "assistant", answer, "user", asked.turn, attempt))
            self.asked_again = False
            if self.turn == asked.turn:
                self.attempt = attempt
        elif answers and self.turn == asked.turn:
            self.asked_again = True

    def read(self, seen: set[str], limit: int, before: int | None, latest_attempts: bool = False) -> list[Row]:
        answers = [row for row in self.rows if row.role == "assistant" and row.visibility != "hidden"]
        found = [
            row
            for row in self.rows
            if row.visibility in seen
            and (before is None or row.sequence < before)
            and not (
                latest_attempts
                and row.role in ("assistant", "tool")
                and any(each.turn == row.turn and each.attempt > row.attempt for each in answers)
            )
        ]
        return found[-limit:]


def apply(service: Any, id: str, what: Append) -> None:
    if what.how == "user":
        service.append_user_message(id, what.text, visibility=what.visibility, idempotency_key=what.key)
    elif what.how == "assistant":
        service.append_assistant_turn(id, what.text, visibility=what.visibility)
    elif what.how == "tool":
        service.append_tool_result(id, "call", what.text, visibility=what.visibility)
    elif what.how == "system":
        service.append_system_message(id, what.text, visibility=what.visibility)
    else:
        service.append_turn(
            id,
            user_content=what.text,
            user_visibility=what.visibility,
            assistant={"content": what.text},
            idempotency_key=what.key,
        )


def extract_stored_words(block: object) -> str:
    match block:
        case longmind.TextBlock(text=text) | longmind.ToolResultBlock(content=str(text)):
            return text
    raise AssertionError(block)


def as_rows(messages: list[longmind.Message], turns: dict[str, int]) -> list[Row]:
    return [
        Row(
            message.sequence,
            message.role,
            extract_stored_words(message.content[0]),
            message.visibility,
            turns[message.turn_id],
            message.attempt,
            message.idempotency_key,
        )
        for message in messages
    ]


def numbered_turns(messages: list[longmind.Message]) -> dict[str, int]:
    """The turns by their first appearance, as the reference counts them."""
    numbers: dict[str, int] = {}
    for message in messages:
        numbers.setdefault(message.turn_id, len(numbers) + 1)
    return numbers


@pytest.mark.conforms("A1.11", "A1.13", "A1.14", "R-G", "R-I", "T2")
@moderately
@given(
    what=st.lists(appends, max_size=14),
    limit=st.integers(1, 16),
    before=st.none() | st.integers(1, 20),
    include_internal=st.booleans(),
    include_hidden=st.booleans(),
    latest_attempts=st.booleans(),
)
def test_any_sequence_of_appends_reads_back_as_a_list_would(
    ctx: longmind.Context,
    what: list[Append],
    limit: int,
    before: int | None,
    include_internal: bool,
    include_hidden: bool,
    latest_attempts: bool,
) -> None:
    service, reference = ctx.conversations, Reference()
    id = service.create_conversation("n").id
    for each in what:
        if reference.append(each):
            apply(service, id, each)
        else:
            with pytest.raises(longmind.IdempotencyMismatch):
                apply(service, id, each)
    everything = service.get_raw_turns(id, limit=10_000, include_hidden=True)
    turns = numbered_turns(everything)
    assert as_rows(everything, turns) == reference.rows
    conversation = service.get_conversation(id)
    assert conversation is not None
    assert conversation.message_count == len(reference.rows)

    visible = {"user", "internal"} if include_internal else {"user"}
    messages = service.get_messages(id, limit=limit, before=before, include_internal=include_internal)
    assert as_rows(messages, turns) == reference.read(visible, limit, before)

    raw = {"user", "internal", "hidden"} if include_hidden else {"user", "internal"}
    messages = service.get_raw_turns(
        id, limit=limit, before=before, include_hidden=include_hidden, latest_attempts=latest_attempts
    )
    assert as_rows(messages, turns) == reference.read(raw, limit, before, latest_attempts)


storable = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")


@pytest.mark.conforms("A1.6", "A1.19")
@moderately
@given(text=st.text(storable, max_size=300))
@example("🙂👩‍👩‍👧‍👦🇳🇴")
@example("שלום, مرحبا \u202eabc\u202c")
@example("e\u0301 é \ufeff\u200b")
@example("line\r\nbreaks\rof\nevery\u2028kind\u2029\x85\x0b\x0c")
@example("x" * 100_000)
@example("\\ \" ' {} %s :name $1 -- /* ; \x01\x7f \ue000 \uffff \U0010ffff")
@example("")
def test_any_text_comes_back_as_it_was_said(ctx: longmind.Context, text: str) -> None:
    service = ctx.conversations
    id = service.create_conversation("n").id
    said = service.append_assistant_turn(id, text)
    service.append_tool_result(id, "call", [{"type": "text", "text": text}])
    spoken, answered = service.get_messages(id)
    assert spoken == said
    assert spoken.text.encode() == text.encode()
    assert spoken.content == [longmind.TextBlock(text=text)]
    assert answered.content == [longmind.ToolResultBlock(tool_use_id="call", content=[longmind.TextBlock(text=text)])]


texts = st.text(storable, max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4),
    max_leaves=20,
)


@pytest.mark.patient
@pytest.mark.conforms("A1.22")
@moderately
@given(
    metadata=st.dictionaries(texts, json_values, max_size=5), arguments=st.dictionaries(texts, json_values, max_size=5)
)
@example({"": "", "$": 2**200, "f": 1e-320, "-": -0.0, "t": True, "one": 1, "1.0": 1.0}, {"a": [[], {}, [[None]]]})
def test_any_json_comes_back_as_it_was_given(
    ctx: longmind.Context, metadata: dict[str, Any], arguments: dict[str, Any]
) -> None:
    service = ctx.conversations
    made = service.create_conversation("n", metadata=metadata)
    service.append_assistant_turn(made.id, [{"type": "tool_use", "id": "call", "name": "tool", "arguments": arguments}])
    read = service.get_conversation(made.id)
    assert read is not None
    called = service.get_messages(made.id)[0].content[0]
    assert isinstance(called, longmind.ToolUseBlock)
    # As texts, because to Python 1, 1.0 and True are equal.
    assert json.dumps(read.metadata) == json.dumps(made.metadata) == json.dumps(metadata)
    assert json.dumps(called.arguments) == json.dumps(arguments)
