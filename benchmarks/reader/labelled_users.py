"""Labelled conversations that are appended user by user, and what the engine remembers of them.

It uses only what every version of the package offers, so that another commit can be measured in the same run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

NAMESPACE = "chat"
CONTEXT_TOKENS = 400
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)


class Clock:
    """A clock that follows the times of the conversations, in microseconds."""

    def __init__(self) -> None:
        self.now = datetime(2020, 1, 1, tzinfo=UTC)

    def __call__(self) -> int:
        return round(self.now.timestamp()) * 1_000_000


def remember(package: str, users: Sequence[dict[str, Any]], **settings: Any) -> dict[str, dict[str, Any]]:
    """Return what an engine remembers of each user, in the form that `score_reader.py` reads."""
    product = importlib.import_module(package)
    clock = Clock()
    system = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        product.open(f"sqlite:///{folder}/memory.db", clock=clock, **settings) as engine,
    ):
        for number, user in enumerate(users):
            system[user["user"]] = _remember_user(engine, clock, f"user{number}", user)
    return system


def _remember_user(engine: Any, clock: Clock, user_id: str, user: dict[str, Any]) -> dict[str, Any]:
    context = engine.context(tenant_id="bench", app_id="reader", user_id=user_id)
    times = [parse_time(each["at"]) for each in user["conversations"]]
    clock.now = min(times) - _DAY
    space = context.memory.create_memory_space("memory")
    context.memory.create_binding({"namespace": NAMESPACE, "userId": user_id}, [space.id])
    sources: dict[str, str] = {}
    for place, (conversation, at) in enumerate(zip(user["conversations"], times, strict=True)):
        clock.now = at
        started = context.conversations.create_conversation(NAMESPACE)
        for number, message in enumerate(conversation["messages"]):
            append = (
                context.conversations.append_user_message
                if message["role"] == "user"
                else context.conversations.append_assistant_turn
            )
            sources[append(started.id, message["text"]).id] = f"{place}#{number}"
            clock.now += _MINUTE
        context.conversations.close_conversation(started.id)
        done = engine.work()
        if done.failed or done.dead:
            raise RuntimeError(f"A job of {user['user']!r} failed: {context.jobs.list_jobs()[0].error}")
    clock.now = max(times) + _DAY
    atoms = [
        {
            "text": atom.text,
            "kind": atom.category.kind,
            "category": atom.category.name,
            "importance": atom.importance,
            "sources": [sources[each] for each in atom.source_message_ids if each in sources],
            "ended": atom.superseded_by is not None or _has_ended(atom, clock.now),
            "because": atom.because if hasattr(atom, "because") else None,
        }
        for atom in _list_atoms(context, space.id)
    ]
    asking = context.conversations.create_conversation(NAMESPACE)
    contexts = [
        context.working_context.build_working_context(
            asking.id,
            memory_space_id=space.id,
            recall_query=question["question"],
            recent_turns=0,
            token_budget=CONTEXT_TOKENS,
        ).context_block
        for question in user.get("questions", ())
    ]
    return {"atoms": atoms, "contexts": contexts}


def _list_atoms(context: Any, space_id: str) -> Iterator[Any]:
    cursor = None
    while True:
        page = context.memory.list_atoms(space_id, limit=200, cursor=cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return


def _has_ended(atom: Any, now: datetime) -> bool:
    return atom.valid_to is not None and datetime.fromisoformat(atom.valid_to.replace("Z", "+00:00")) <= now


def parse_time(text: str) -> datetime:
    """Return a time of a data set; those without a zone are UTC."""
    parsed = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gold", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--package", default="longmind")
    parser.add_argument("--settings", default="{}")
    options = parser.parse_args()
    users = json.loads(options.gold.read_text())
    system = remember(options.package, users, **json.loads(options.settings))
    options.output.write_text(json.dumps(system, indent=1))


if __name__ == "__main__":
    main()
