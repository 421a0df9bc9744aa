"""Operations on the agents of an app, and their invocation for the current user."""

from __future__ import annotations

from typing import Any

from longmind.agents.definition import bind_definition, validate_arguments, validate_definition, validate_name
from longmind.clock import Clock
from longmind.conversations import Conversations
from longmind.errors import InvalidInput, LongmindError, NotFound
from longmind.models.agent import Agent, AgentDefinition
from longmind.models.turn import TurnOptions, TurnResult
from longmind.models.value import Page
from longmind.providers.language_model import Cancel, LanguageModel, OnText
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import agents as store
from longmind.validation.identifiers import validate_label
from longmind.validation.parameter_limits import LIMIT, ConversationId, Label, Limit, Name
from longmind.working_context import WorkingContexts


class Agents:
    """The agents of the app. Administrators register them, and every user of the app may invoke them.

    A definition holds no data of users: the space, the message and whatever else differs between users are arguments of
    an invocation, which runs with the rights of the current user alone.
    """

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        conversations: Conversations,
        working_context: WorkingContexts,
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._conversations = conversations
        self._working_context = working_context

    def register(self, definition: AgentDefinition | dict[str, Any]) -> Agent:
        """Register an agent for all users of the app. It replaces one of the same name.

        definition: its JSON, at most 64 KiB. A text that is a `$` and a name stands for the argument of that name.
        """
        self._scope.require("admin")
        checked, text = validate_definition(definition)
        return self._database.write(self._scope, store.put, self._scope, checked.name, text, self._clock())

    def get(self, name: Name) -> Agent | None:
        """Return an agent, or None if the app has none of this name.

        name: at most 64 letters, digits, `_` and `-`.
        """
        return self._database.read(self._scope, store.get, self._scope, validate_name(name))

    def list(self, *, limit: Limit = 100, cursor: str | None = None) -> Page[Agent]:
        """List the agents of the app by name; pass `next_cursor` of the page as `cursor` for more.

        limit: at most that many, 1 to 10,000.
        """
        most = LIMIT.check("limit", limit)
        after = "" if cursor is None else validate_name(cursor)
        found = self._database.read(self._scope, store.list_all, self._scope, after, most + 1)
        return Page(found[:most], found[most - 1].name if len(found) > most else None)

    def remove(self, name: Name) -> None:
        """Remove an agent. Removing one that does not exist is no error; conversations with it stay.

        name: at most 64 letters, digits, `_` and `-`.
        """
        checked = validate_name(name)
        self._scope.require("admin")
        self._database.write(self._scope, store.remove, self._scope, checked, self._clock())

    def invoke(
        self,
        name: Name,
        *,
        arguments: dict[str, Any] | None = None,
        conversation_id: ConversationId | None = None,
        model: Label | LanguageModel | None = None,
        idempotency_key: Label | None = None,
        trace_id: Label | None = None,
        on_text: OnText | None = None,
        cancel: Cancel | None = None,
    ) -> TurnResult:
        """Let an agent answer the user in one turn, with its memory and its tools.

        name: the agent's name.
        arguments: the values of the `$variables` in its definition, such as `userMessage`; others are ignored.
        conversation_id: the conversation to go on with; by default a new one begins, whose id is in every message.
        model: a model in place of the agent's own.
        idempotency_key: as in `run_turn`; it counts within a conversation, so it needs `conversation_id`.
        trace_id: stored with every message of the turn; at most 255 characters.
        on_text: receives each piece of the answer. cancel: by this `Cancel` another thread can end the model's call.

        Raises NotFound for an unknown agent, and InvalidInput for a missing argument; nothing is written then.
        """
        validate_label("idempotency_key", idempotency_key)
        validate_label("trace_id", trace_id)
        if isinstance(model, str):
            validate_label("model", model)
        if idempotency_key is not None and conversation_id is None:
            raise InvalidInput(
                "An idempotency key counts within a conversation, and the call names none.",
                hint="Create a conversation first, and pass its id with every attempt.",
            )
        agent = self.get(name)
        if agent is None:
            raise NotFound("agent", name)
        values = validate_arguments(arguments)
        bound = bind_definition(agent.definition, values)
        # A model in place of the agent's own is of another vendor, or names its vendor itself.
        chosen = {"model": bound.model, "provider": bound.provider} if model is None else {"model": model}
        told = {"idempotency_key": idempotency_key, "trace_id": trace_id, "on_text": on_text, "cancel": cancel}
        prompt = self._write_prompt(bound, conversation_id)
        if conversation_id is not None:
            return self._run(bound, conversation_id, prompt, values, {**chosen, **told})
        begun = self._conversations.create_conversation(bound.namespace or bound.name)
        try:
            return self._run(bound, begun.id, prompt, values, {**chosen, **told})
        except LongmindError:
            # Refused before anything was said: nobody has the id of the conversation, so nobody could close it.
            self._conversations.close_conversation(begun.id)
            raise

    def _run(
        self,
        agent: AgentDefinition,
        conversation_id: str,
        prompt: str | None,
        values: dict[str, Any],
        given: dict[str, Any],
    ) -> TurnResult:
        options = TurnOptions(system_prompt=prompt, max_tokens=agent.max_tokens, temperature=agent.temperature)
        return self._conversations.run_turn(
            conversation_id,
            user_text=agent.user_text,
            tools=agent.tools,
            tool_arguments=values,
            options=options,
            max_cycles=agent.max_cycles,
            **given,
        )

    def _write_prompt(self, agent: AgentDefinition, conversation_id: str | None) -> str | None:
        """Return the instructions of an agent, followed by what its memory says about the question."""
        memory = agent.memory
        if memory is None:
            return agent.system_prompt
        if conversation_id is None:
            context = self._working_context.build_memory_context(
                memory.memory_space_id,
                query=memory.recall_query,
                recall_limit=memory.recall_limit,
                token_budget=memory.token_budget,
                always_on_category_names=memory.always_on_category_names,
            )
        else:
            context = self._working_context.build_working_context(
                conversation_id,
                memory_space_id=memory.memory_space_id,
                recall_query=memory.recall_query,
                # The turn itself brings the last turns along.
                recent_turns=0,
                recall_limit=memory.recall_limit,
                token_budget=memory.token_budget,
                always_on_category_names=memory.always_on_category_names,
            )
        return "\n\n".join(filter(None, [agent.system_prompt, context.context_block])) or None
