"""A user whose conversations lead into the space of the memory tools, and all that surfaces show of what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import longmind
from longmind.models.message import Message
from tests.events.synonym_embedder import MeaningEmbedder

FACT = {"name": "notes", "kind": "FACT"}
OFFICE = "The office is in Graz"
"""A fact that the space of every person has."""
SECRET = "My automobile crashed"
BY_WORDS = "Which automobile crashed?"
BY_MEANING = "car failure"
"""A question without a word of the secret, for an embedder that knows that they mean the same."""
QUESTIONS = (BY_WORDS, BY_MEANING)


class FamiliarEmbedder(MeaningEmbedder):
    """One that tells how similar things usually are, as the built-in one does."""

    usual_similarity = (0.1, 0.1)


@dataclass(frozen=True)
class Person:
    """A user, and the space that is asked."""

    ctx: longmind.Context
    space_id: str

    def bind(self, namespace: str = "chat", space_id: str | None = None) -> longmind.Binding:
        scope = {"namespace": namespace, "user_id": self.ctx.scope.user_id}
        return self.ctx.memory.create_binding(scope, [space_id or self.space_id])

    def talk(self, namespace: str = "chat") -> str:
        """Begin a conversation."""
        return self.ctx.conversations.create_conversation(namespace).id

    def say(self, text: str, conversation_id: str | None = None, **more: Any) -> Message:
        """Say something in a conversation, or in a new one."""
        return self.ctx.conversations.append_user_message(conversation_id or self.talk(), text, **more)

    def learn(self, *messages: Message, space_id: str | None = None) -> longmind.Atom:
        """Learn a fact that rests on some messages and has none of their words."""
        cited = [message.id for message in messages]
        new = {"text": f"Learned from {' '.join(cited)}.", "category": FACT, "source_message_ids": cited}
        return self.ctx.memory.add_atom(space_id or self.space_id, new)

    def forget(self, *messages: Message) -> None:
        """Forget what was learned from some messages."""
        self.ctx.memory.delete_atom(self.learn(*messages).id)

    def quotes(self, query: str = BY_WORDS, space_id: str | None = None, **options: Any) -> list[str]:
        """The passages of a recall, best first."""
        found = self.ctx.memory.recall_by_topic(space_id or self.space_id, query, limit=200, **options)
        return [passage.text for passage in found.passages]

    def scored(self, query: str = BY_WORDS) -> list[tuple[str, float]]:
        """The passages of a recall with their scores, which depend on all that an index holds."""
        found = self.ctx.memory.recall_by_topic(self.space_id, query, limit=200)
        return [(passage.text, passage.score) for passage in found.passages]

    def tool_quotes(self, query: str = BY_WORDS) -> list[str]:
        """The passages that the tool of an agent shows."""
        return [passage.text for passage in self.ctx.tools.memory_search(query).passages]

    def prompt(self, query: str = BY_WORDS, space_id: str | None = None) -> str:
        """The memory part of a prompt in a conversation in which nothing was said yet."""
        built = self.ctx.working_context.build_working_context(
            self.talk("empty"), memory_space_id=space_id or self.space_id, recall_query=query
        )
        return built.context_block

    def recalled(self, query: str, space_id: str | None = None) -> str:
        """Everything that recall, the tools and a working context show about a question."""
        space_id = space_id or self.space_id
        memory = self.ctx.memory
        (tool,) = memory.agent_tools({"type": "RECALL_BY_TOPIC", "name": "recall", "memorySpaceId": space_id})
        return "\n".join(
            [
                memory.recall_by_topic(space_id, query, limit=200, explain=True).model_dump_json(),
                memory.recall_by_topic(space_id, query, exhaustive=True).model_dump_json(),
                self.ctx.tools.memory_search(query).model_dump_json(),
                tool.run({"query": query}),
                self.prompt(query, space_id),
            ]
        )

    def searched(self, query: str) -> str:
        """Everything that a search of the event log shows."""
        events = self.ctx.events
        found = [*events.search(query), *events.search(query, mode="lexical"), *events.search(query, mode="hybrid")]
        found += [
            *events.search(),
            *events.search(kinds=["chat.turn"]),
            *events.search(mode="structural", tags=["chat"]),
        ]
        return "\n".join(str(event.text) for event in found)


def meet(engine: longmind.Engine, user_id: str = "ada", tenant_id: str = "acme", app_id: str = "support") -> Person:
    """Make a user known, whose memory tools have a space."""
    ctx = engine.context(tenant_id=tenant_id, app_id=app_id, user_id=user_id)
    # Not by the tools, which would bind the space as well.
    space = ctx.memory.create_memory_space("default")
    ctx.memory.add_atom(space.id, {"text": OFFICE, "category": FACT})
    return Person(ctx, space.id)


def again(engine: longmind.Engine, person: Person) -> Person:
    """Return the same user in another engine."""
    scope = person.ctx.scope
    ctx = engine.context(tenant_id=scope.tenant_id, app_id=scope.app_id, user_id=scope.user_id)
    return Person(ctx, person.space_id)
