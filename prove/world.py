"""The expected state of a memory after some operations, in terms of the public interface.

A world is a plain dictionary from questions to answers. A workload notes the answers that must be given from now on,
and a checker asks the questions again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import longmind

World = dict[str, Any]
ADA, BOB = "ada", "bob"


def context_of(engine: longmind.Engine, user: str) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id=user, session_id="desk", capabilities={"admin"})


def answers(engine: longmind.Engine, questions: Iterable[str]) -> World:
    """Return an engine's answer to each question."""
    return {question: _answer(engine, *question.split(" ")) for question in questions}


def differences(engine: longmind.Engine, world: Mapping[str, Any]) -> list[str]:
    """Return the differences between an engine's answers and a world."""
    found = answers(engine, world)
    return [
        f"{question}: {found[question]!r} instead of {expected!r}"
        for question, expected in world.items()
        if found[question] != expected
    ]


def _answer(engine: longmind.Engine, user: str, what: str, id: str) -> Any:
    ctx = context_of(engine, user)
    match what:
        case "conversation":
            conversation = ctx.conversations.get_conversation(id)
            return None if conversation is None else [conversation.title, conversation.status]
        case "messages":
            return [[each.role, each.text] for each in ctx.conversations.get_raw_turns(id, limit=10_000)]
        case "atom":
            atom = ctx.memory.get_atom(id)
            return None if atom is None else [atom.text, atom.status, atom.superseded_by is not None]
        case "block":
            block = ctx.blocks.get(id)  # type: ignore[arg-type]
            return None if block is None else block.content
        case "entry":
            found = ctx.tools.memory_search(limit=50, include_superseded=True).results
            return next((each.content for each in found if each.id == id), None)
        case "event":
            event = ctx.events.get_event(id)
            return None if event is None else event.data
        case "job":
            job = ctx.jobs.get_job(id)
            return None if job is None else job.status
        case "conversations":
            return len(ctx.conversations.list_conversations(limit=1000))
        case _:
            raise ValueError(f"{what} is not a known kind of question.")
