"""What holds for the summary of any conversation: it goes forward, ends with a turn, and tells what may be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.extraction.candidate import SourceMessage

TOOL_USE: list[Any] = [
    {"type": "text", "text": "look"},
    {"type": "tool_use", "id": "c", "name": "look_up", "arguments": {}},
]
How = Literal["user", "assistant", "tool use", "tool", "system", "turn", "refresh"]
Step = tuple[How, Literal["user", "internal", "hidden"], str]

steps: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from(["user", "assistant", "tool use", "tool", "system", "turn", "turn", "refresh", "refresh"]),
    st.sampled_from(["user", "internal", "hidden"]),
    st.sampled_from(["k1", "k2", "k3"]),
)
patiently = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class Verbatim:
    name = "verbatim@1"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        return "|".join([*filter(None, [earlier]), *(message.text for message in messages)])


@pytest.fixture
def talk(database_url: str) -> Iterator[longmind.Context]:
    """An engine that tells all it is given, so that a summary can be compared with what was said."""
    with longmind.open(database_url, summariser=Verbatim(), embedder=None) as engine:
        yield engine.context(tenant_id="acme", app_id="support", user_id="ada")


def take(ctx: longmind.Context, conversation_id: str, step: Step, number: int) -> None:
    how, visibility, key = step
    chat = ctx.conversations
    match how:
        case "user":
            chat.append_user_message(conversation_id, f"u{number}", visibility=visibility)
        case "assistant":
            chat.append_assistant_turn(conversation_id, f"a{number}", visibility=visibility)
        case "tool use":
            chat.append_assistant_turn(conversation_id, TOOL_USE, visibility=visibility)
        case "tool":
            chat.append_tool_result(conversation_id, "c", f"t{number}", visibility=visibility)
        case "system":
            chat.append_system_message(conversation_id, f"s{number}")
        case "turn":
            # The same key asks again, which is another answer to the turn of the first time.
            chat.append_turn(
                conversation_id, user_content=key, assistant={"content": f"a{number}"}, idempotency_key=key
            )


def rows_of(ctx: longmind.Context, conversation_id: str, *, latest: bool) -> list[longmind.Message]:
    return ctx.conversations.get_raw_turns(
        conversation_id, limit=200, include_hidden=not latest, latest_attempts=latest
    )


def is_end_of_turn(rows: Sequence[longmind.Message], until: int) -> bool:
    """Whether no turn is cut at this place and none before it waits for something."""
    before = {row.turn_id for row in rows if row.sequence <= until}
    if before & {row.turn_id for row in rows if row.sequence > until}:
        return False
    newest = max(rows, key=lambda row: row.sequence if row.role == "user" else 0).turn_id
    answers = [row for row in rows if row.turn_id == newest and row.role == "assistant"]
    if newest not in before:
        return True
    last = max(answers, key=lambda row: (row.attempt, row.sequence), default=None)
    return last is not None and not any(block.type == "tool_use" for block in last.content)


@pytest.mark.conforms("T24", "T2", "A1.16")
@patiently
@given(course=st.lists(steps, max_size=14))
def test_the_summary_of_any_conversation_goes_forward_by_whole_turns(
    talk: longmind.Context, course: list[Step]
) -> None:
    conversation_id = talk.conversations.create_conversation("any").id
    until = 0
    ending: list[Step] = [("user", "user", ""), ("assistant", "user", ""), ("refresh", "user", "")]
    for number, step in enumerate([*course, *ending]):
        if step[0] != "refresh":
            take(talk, conversation_id, step, number)
            continue
        refreshed = talk.conversations.refresh_rolling_summary(conversation_id)
        if refreshed.outcome != "updated":
            assert refreshed.rolling_summary_until_seq == until
            continue
        assert refreshed.rolling_summary_until_seq > until
        until = refreshed.rolling_summary_until_seq
        assert is_end_of_turn(rows_of(talk, conversation_id, latest=False), until)
        told = [
            message.content[0].content if message.role == "tool" else message.text  # type: ignore[union-attr]
            for message in rows_of(talk, conversation_id, latest=True)
            if message.sequence <= until and message.role != "system"
        ]
        assert refreshed.rolling_summary == "|".join(map(str, told))
    assert until == len(rows_of(talk, conversation_id, latest=False))
