"""Plants words that exist nowhere else in every field that takes text, through every operation that writes."""

from __future__ import annotations

import random
import re
import string
from typing import Any

import pytest

import longmind
from harness.operation_calls import BY_PATH, Call, RequestRefused
from longmind.models.content import TextBlock, ToolUseBlock
from longmind.providers.testing import ScriptedModel

WORD = re.compile(r"\b[Qq][a-z]{15}\b")


class Words:
    """Words that nobody has ever said, each given out once."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.given: list[str] = []

    def __call__(self) -> str:
        word = "Q" + "".join(self._random.choices(string.ascii_lowercase, k=15))
        self.given.append(word)
        return word

    def sentence(self) -> str:
        return f"I met {self()} and {self()} at {self()}."


class Service:
    """A service, called in one of several ways, that notes where words were planted."""

    def __init__(self, name: str, call: Call, planted: set[str]) -> None:
        self._name = name
        self._call = call
        self._planted = planted

    def __getattr__(self, name: str) -> Any:
        operation = BY_PATH[f"{self._name}.{name}"]

        def call(*args: Any, **kwargs: Any) -> Any:
            given = operation.signature.bind(*args, **kwargs).arguments
            self._planted.add(operation.path)
            self._planted |= {f"{operation.path}.{each}" for each, value in given.items() if WORD.search(repr(value))}
            return self._call(operation, given)

        return call


def user_of(engine: longmind.Engine, word: Words, user_id: str) -> longmind.Context:
    """A user whose every id is a planted word too."""
    return engine.context(
        tenant_id="acme",
        app_id="support",
        user_id=user_id,
        agent_id=word(),
        group=word(),
        session_id=word(),
        run_id=word(),
        client_id=word(),
        graph_id=word(),
        node_id=word(),
    )


def plant(engine: longmind.Engine, call: Call, user_id: str, word: Words, *, models: bool = True) -> set[str]:
    """One round of everything; gives the operations that were called, and their parameters that words were given as.

    Without models, nothing is done that takes one: it is an object of the program's own.
    """
    planted: set[str] = set()
    names = ("conversations", "memory", "blocks", "tools", "events", "jobs", "front_door")
    chat, memory, blocks, tools, events, jobs, front_door = (Service(name, call, planted) for name in names)
    _remember(memory, word)
    _add_in_three_lines(front_door, word)
    conversation = _talk(chat, memory, word, user_id)
    if models:
        _run(chat, word)
    _finish(chat, memory, word, conversation)
    _note(blocks, word)
    _use_tools(tools, word)
    _record(events, word)
    _distill(events, word, models)
    jobs.enqueue(word().lower(), {word(): word()}, unique_key=word())
    engine.register_job("fail", _fail)
    failed = jobs.enqueue("fail", {"words": word()})
    engine.work()
    jobs.retry_job(failed.id)
    jobs.run_job(failed.id)
    return planted


def _fail(run: longmind.JobRun) -> None:
    raise RuntimeError(f"{run.job.payload['words']} went wrong.")


def _talk(chat: Any, memory: Any, word: Words, user_id: str) -> Any:
    namespace = word()
    space = memory.create_memory_space(word())
    binding = memory.create_binding(
        {"namespace": namespace, "userId": user_id}, [space.id], extraction_policy={"extraction_version": "v2"}
    )
    memory.update_binding(binding.id, extraction_policy={"extraction_version": "v3"})
    spare = memory.create_binding({"namespace": word(), "userId": user_id}, [space.id])
    memory.delete_binding(spare.id)
    conversation = chat.create_conversation(
        namespace, title=word(), session_id=word(), metadata={word(): {"nested": [word()]}}
    )
    chat.append_user_message(conversation.id, word.sentence(), idempotency_key=word(), trace_id=word())
    chat.append_assistant_turn(
        conversation.id,
        [TextBlock(text=word()), ToolUseBlock(id=word(), name=word(), arguments={word(): word()})],
        stop_reason=word(),
        model=word(),
        provider=word(),
        trace_id=word(),
    )
    chat.append_messages(
        [{"role": "user", "content": word()}],
        namespace=namespace,
        title=word(),
        metadata={word(): word()},
        extract=True,
        fact_metadata={word(): word()},
    )
    chat.append_tool_result(conversation.id, word(), word(), tool_name=word(), trace_id=word())
    chat.append_system_message(conversation.id, word(), visibility="hidden", trace_id=word())
    chat.append_turn(
        conversation.id,
        # Long enough to be kept apart from its row, and of one letter so that PostgreSQL packs it.
        user_content=word() + " " + "a" * 9_000 + " " + word(),
        assistant={"content": word(), "model": word(), "provider": word()},
        idempotency_key=word(),
        trace_id=word(),
    )
    return conversation


def _run(chat: Any, word: Words) -> None:
    conversation = chat.create_conversation(word())
    model = ScriptedModel([ToolUseBlock(id=word(), name="look", arguments={word(): word()}), word()])
    looked = word()
    chat.run_turn(
        conversation.id,
        user_text=word.sentence(),
        options={"system_prompt": word()},
        model=model,
        tools=[{"name": "look", "description": word()}],
        tool_handler=lambda name, arguments: looked,
        idempotency_key=word(),
        trace_id=word(),
        agent_id=word(),
    )
    chat.run_turn(conversation.id, content=[TextBlock(text=word())], model=ScriptedModel([word()]))


def _finish(chat: Any, memory: Any, word: Words, conversation: Any) -> None:
    chat.refresh_rolling_summary(conversation.id)
    memory.run_extraction_for_conversation(conversation.id, extraction_version="v1")
    chat.close_conversation(conversation.id)
    stale = chat.create_conversation(name := word())
    chat.append_user_message(stale.id, word())
    chat.close_stale(0, namespace=name)


def _remember(memory: Any, word: Words) -> None:
    memory.create_memory_space("default")
    memory.open_default_space()
    space = memory.create_memory_space(word(), metadata={word(): word()})
    shared = memory.create_memory_space(word(), kind="shared")
    memory.grant_space(shared.id, word())
    memory.grant_space(shared.id, reader := word())
    memory.revoke_space(shared.id, reader)
    person, other = (
        memory.create_entity(
            space.id, "PERSON", word(), aliases=[word()], description=word(), attributes={word(): word()}
        )
        for _ in range(2)
    )
    atom = {
        "text": word.sentence(),
        "category": {"name": word(), "kind": "EPISODE"},
        "tags": [word()],
        "search_context": [word()],
        "speaker": word(),
        "entity_ids": [person.id, other.id],
    }
    first = memory.add_atom(space.id, atom)
    many = memory.add_atoms(space.id, [{**atom, "text": word.sentence()} for _ in range(3)])
    newer = memory.supersede_atom(first.id, {**atom, "text": word.sentence()})
    # Some fields as keywords too, which may be the app's own words for a fact.
    keyed = memory.add_atom(space.id, {"text": word.sentence()}, **_named(word))
    memory.supersede_atom(keyed.id, {"text": word.sentence()}, **_named(word))
    memory.archive_atom(many[0].id, rejected=True)
    memory.delete_atom(many[1].id)
    memory.merge_entities(person.id, other.id)
    memory.mine_patterns(space.id)
    memory.recall_by_topic(space.id, newer.text)
    gone = memory.create_memory_space(word())
    memory.add_atom(gone.id, {**atom, "entity_ids": []})
    memory.delete_memory_space(gone.id)


def _named(word: Words) -> dict[str, Any]:
    return {"category": word(), "tags": [word()], "metadata": {word(): word()}, "key": word()}


def _add_in_three_lines(memory: Any, word: Words) -> None:
    """Through `longmind.Memory`, in the default space."""
    added = memory.add(word.sentence(), metadata={word(): word()})
    memory.add(
        [{"role": "user", "content": word.sentence()}, {"role": "assistant", "content": word()}],
        conversation=added.conversation_id,
        wait=False,
    )
    memory.flush()
    key = word()
    memory.add(word.sentence(), key=key, metadata={word(): word()})
    keyed = memory.add(word.sentence(), key=key, metadata={word(): word()})
    memory.update(keyed.learned[0].id, word.sentence())
    memory.search(word())
    memory.forget(query=word())
    spare = memory.add(forgotten := word.sentence(), key=word())
    memory.forget(spare.learned[0].id)
    memory.forget(query=forgotten, preview=False)
    memory.run_tool(
        {
            "type": "tool_use",
            "id": word(),
            "name": "memory_store",
            "input": {"type": "fact", "content": word.sentence(), "tags": [word()]},
        }
    )


def _note(blocks: Any, word: Words) -> None:
    agent = word()
    known = blocks.get("core")
    first = blocks.update("core", word(), known and known.updated_at)
    second = blocks.update("core", f"{word()}\n{word()}", first.updated_at)
    blocks.restore("core", first.version, second.updated_at)
    kept = blocks.update("archival", word(), None, agent_id=agent)
    newer = blocks.update("archival", word(), kept.updated_at, agent_id=agent)
    blocks.restore("archival", kept.version, newer.updated_at, agent_id=agent)
    spare = blocks.update("core", word(), None, agent_id=word())
    blocks.delete("core", expected_updated_at=spare.updated_at, agent_id=spare.agent_id)
    blocks.set_sleep_time(True, agent_id=agent)
    blocks.recall(word())


def _use_tools(tools: Any, word: Words) -> None:
    entry = tools.memory_store("preference", word.sentence(), tags=[word()])
    newer = tools.memory_store("fact", word.sentence(), supersedes=entry.id)
    tools.memory_search(word())
    tools.invoke("memory_store", {"type": "fact", "content": word.sentence()})
    tools.memory_delete(newer.id)
    # Refused, and put down in the audit.
    with pytest.raises((longmind.ToolError, RequestRefused)):
        tools.invoke(word(), {word(): word()})


def _record(events: Any, word: Words) -> None:
    event = {
        "kind": word(),
        "stage": word(),
        "text": word(),
        "tags": [word()],
        "data": {word(): [word()]},
        "metrics": {word(): 1.0},
        "topic": word(),
        "inputs": [{word(): word()}],
        "outputs": [word()],
        "pii_flags": {word(): True},
    }
    events.record_raw(base={**event, "text": None}, text=word(), metrics={word(): 2.0})
    events.record_many([event, {"data": word() + " " + "b" * 9_000 + " " + word()}])
    events.record(
        word(),
        {word(): word()},
        tags=[word()],
        stage=word(),
        inputs_ref=[{word(): word()}],
        outputs_ref=[word()],
        metrics={word(): 3.0},
        text=word(),
    )
    events.record_chat("user", word(), tags=[word()], data={word(): word()})
    events.record_chat_user(word(), tags=[word()], data={word(): word()})
    events.record_chat_assistant(word(), tags=[word()], data={word(): word()})
    events.record_chat_system(word(), tags=[word()], data={word(): word()})
    events.record_tool_result(
        tool=word(), inputs=[{word(): word()}], outputs=[{word(): word()}], tags=[word()], metrics={word(): 4.0},
        message=word(),
    )  # fmt: skip
    events.record_state(word(), {word(): word()}, tags=[word()], meta={word(): word()}, kind=word(), stage=word())
    # Looked for by meaning, events are given vectors, and rows of their own for them.
    events.search(word())


def _distill(events: Any, word: Words, models: bool) -> None:
    """Summaries of what was recorded, filed under names of the caller's own."""
    tag, kind, place = word(), word(), word()
    filed = {"summary_tag": tag, "summary_kind": kind}
    events.distill_long_term(place, include_kinds=["chat.turn", word()], **filed)
    events.distill_long_term(include_tags=[(marked := word())])
    events.record(word(), word(), tags=[marked])
    events.distill_long_term(include_tags=[marked])
    events.distill_meta_summary(
        place, source_kind=kind, source_tag=tag, summary_kind=word(), summary_tag=word(), use_llm=False
    )
    events.soft_hydrate_last_summary(place, **filed)
    if models:
        told = {"summary": word(), "key_facts": [word()], "open_loops": [word()]}
        events.distill_long_term(use_llm=True, model=ScriptedModel([told]))
