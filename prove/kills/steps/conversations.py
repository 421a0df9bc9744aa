"""Operations on conversations: made, appended to in every way, summarised, closed."""

from __future__ import annotations

from longmind import ToolUseBlock
from longmind.providers.language_model import Tool
from longmind.providers.testing import ScriptedModel
from prove.kills.steps.step import SLEEPER, Ask, Given, Known, NothingToDo, Step, StepContext, always, with_key
from prove.kills.vendor import MODEL

BOUND = "chat"
"""The namespace whose conversations become memory."""


def _plan_create(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    if len(known.conversations) > 4:
        raise NothingToDo
    agent = SLEEPER if known.sleeps and by.dice.random() < 0.4 else None
    return {"namespace": BOUND if by.dice.random() < 0.7 else "side", "agent": agent}


def _create(ask: Ask, given: Given, token: str) -> Given:
    place = {"namespace": given["namespace"], "title": token}
    return {"id": ask("conversations.create_conversation", as_agent=given["agent"], **place).id}


def _plan_said(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    key = by.token if by.dice.random() < 0.8 else None
    return {"conversation_id": by.one_of(known.conversations), "text": f"{by.token} said {by.words()}", "key": key}


def _message(ask: Ask, given: Given, token: str) -> Given:
    arguments = {"conversation_id": given["conversation_id"], "content": given["text"]}
    return {"ids": [ask("conversations.append_user_message", **arguments, idempotency_key=given["key"]).id]}


def _answer(ask: Ask, given: Given, token: str) -> Given:
    content = f"{token} answered"
    answered = ask("conversations.append_assistant_turn", conversation_id=given["conversation_id"], content=content)
    return {"ids": [answered.id]}


def _turn(ask: Ask, given: Given, token: str) -> Given:
    turn = ask(
        "conversations.append_turn",
        conversation_id=given["conversation_id"],
        user_content=given["text"],
        assistant={"content": f"{token} answered"},
        idempotency_key=given["key"],
    )
    return {"ids": [turn.user_message.id, turn.assistant_message.id]}


def _run(ask: Ask, given: Given, token: str) -> Given:
    call = ToolUseBlock(id=f"{token}-call", name="look", arguments={"for": token})
    result = ask(
        "conversations.run_turn",
        conversation_id=given["conversation_id"],
        model=ScriptedModel([[call], f"{token} answered"]),
        user_text=given["text"],
        tools=[Tool("look")],
        tool_handler=lambda name, arguments: f"{token} found",
        idempotency_key=given["key"],
    )
    return {"ids": [message.id for message in result.appended_messages], "status": result.status}


def _run_served(ask: Ask, given: Given, token: str) -> Given:
    result = ask(
        "conversations.run_turn",
        conversation_id=given["conversation_id"],
        model=MODEL,
        user_text=given["text"],
        idempotency_key=given["key"],
    )
    return {"ids": [message.id for message in result.appended_messages], "status": result.status}


def _plan_with_conversation(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    return {"conversation_id": by.one_of(known.conversations)}


def _close(ask: Ask, given: Given, token: str) -> Given:
    return {"status": ask("conversations.close_conversation", **given).status}


def _summary(ask: Ask, given: Given, token: str) -> Given:
    summary = ask("conversations.refresh_rolling_summary", **given)
    return {"outcome": summary.outcome, "until": summary.rolling_summary_until_seq}


STEPS = (
    Step("create", 3, _plan_create, _create),
    Step("message", 4, _plan_said, _message, with_key),
    Step("answer", 2, _plan_with_conversation, _answer),
    Step("turn", 8, _plan_said, _turn, with_key),
    Step("run", 3, _plan_said, _run, with_key, only="process"),
    Step("run_served", 8, _plan_said, _run_served, with_key, only="server"),
    Step("close", 3, _plan_with_conversation, _close, always),
    Step("summary", 2, _plan_with_conversation, _summary, always),
)
