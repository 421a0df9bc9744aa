"""Every way from memory into a prompt, with one text planted in all places that others may write."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import longmind
from longmind.assembly.templates import BUILT_IN
from longmind.extraction.model.extractor import ModelExtractor
from longmind.mcp.resources import RESOURCES, make_brief
from longmind.models.content import ToolUseBlock
from longmind.providers.language_model import ModelRequest
from longmind.providers.testing import ScriptedModel
from longmind.summaries.model_summariser import ModelSummariser
from prove.hostile_input.injections import MARK

DANGER = {"name": "danger", "description": "Does harm.", "parameters": {"type": "object"}}
OWN_TAGS = re.compile(r"</?(?:remembered|user_memory|summary|memory|message|system_reminder)\b")
_BOUNDARY = re.compile(r"=== transcript (\w+) begins ===")
_UNSEEN_KINDS = frozenset(("Cc", "Cf", "Co", "Cs"))
_AUTO = {"archival_mode": "auto"}
_RECALLS: dict[str, dict[str, Any]] = {
    "BY_TOPIC": {"query": MARK},
    "BY_ENTITY": {"entity": MARK},
    "TIMELINE": {},
}
_READING = ("memory_search", "memory_brief")
_NUMBERED = "working context"
_OF_MEMORY = "longmind://memory/"
_JOINERS = frozenset("\u200c\u200d")


@dataclass
class PromptCollection:
    """The prompts that a model would have received, by their path, and other effects of the text."""

    prompts: dict[str, str] = field(default_factory=dict)
    requests: dict[str, list[ModelRequest]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """Answers of tools in JSON."""
    called: list[str] = field(default_factory=list)
    blocks_changed: bool = False
    rules: list[str] = field(default_factory=list)
    """Rules of behaviour in memory that came from a tool, a model or an assistant alone."""


def collect_prompts(url: str, text: str, user_id: str) -> PromptCollection:
    """Plant a text, and gather each prompt that it finds its way into."""
    seen = PromptCollection()
    extracting = ScriptedModel(lambda request: _obedient(request, text))
    summarising = ScriptedModel(lambda request: f"They said: {text}"[:2_000])
    with longmind.open(
        url, embedder=None, extractor=ModelExtractor(extracting), summariser=ModelSummariser(summarising)
    ) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id=user_id, agent_id="planner", group="g")
        space, talk = _plant(ctx, text)
        core = ctx.blocks.get("core")
        ctx.memory.run_extraction_for_conversation(talk.id)
        engine.work()
        ctx.conversations.refresh_rolling_summary(talk.id)
        seen.requests |= {"extraction": extracting.requests[:1], "rolling summary": summarising.requests[:1]}
        _gather(ctx, space.id, talk.id, text, seen)
        seen.blocks_changed = ctx.blocks.get("core") != core
        seen.rules = [
            atom.text
            for atom in ctx.memory.list_atoms(space.id)
            if atom.behavioral and atom.origin == "extraction" and "from a tool" in atom.text
        ]
    return seen


def _plant(ctx: longmind.Context, text: str) -> tuple[longmind.MemorySpace, longmind.Conversation]:
    name = " ".join(text.split())[:120] or "x"
    space = ctx.memory.create_memory_space("notes")
    # By its other name it is asked for.
    entity = ctx.memory.create_entity(space.id, "PERSON", name, aliases=[MARK])
    fact = {**_atom(f"a fact {text}", name, "FACT", [name[:100]]), "entity_ids": [entity.id]}
    ctx.memory.add_atom(space.id, fact)
    ctx.memory.add_atom(space.id, _atom(f"a rule {text}", "rules", "RULE", []))
    for block_type in ("core", "archival"):
        ctx.blocks.update(block_type, f"a line {text}"[:4_000], None, agent_id="planner")
    ctx.tools.memory_store("fact", f"a note {text}"[:1_900], tags=["note"])
    for event in ("note", "tool_result"):
        ctx.events.record(event, f"an event {text}", tags=["note"])
    ctx.events.record_chat_user(f"chat {text}")
    talk = ctx.conversations.create_conversation("chat")
    ctx.memory.create_binding({"user_id": ctx.scope.user_id, "namespace": "chat"}, [space.id])
    ctx.conversations.append_user_message(talk.id, f"a question {text}")
    call = {"type": "tool_use", "id": "c1", "name": "look", "arguments": {"for": text}}
    ctx.conversations.append_assistant_turn(talk.id, [call])
    ctx.conversations.append_tool_result(talk.id, "c1", f"from a tool {text}", tool_name="look")
    ctx.conversations.append_assistant_turn(talk.id, f"an answer {text}")
    return space, talk


def _atom(text: str, category: str, kind: str, tags: list[str]) -> dict[str, Any]:
    return {"text": text, "category": {"name": category, "kind": kind}, "trust": "tool", "tags": tags}


def _obedient(request: ModelRequest, text: str) -> dict[str, Any]:
    """A model that does what the text in a tool's result wants: it makes a rule of it."""
    lines = str(request.messages[0].content).split("\n")[1:-1]
    tools = [json.loads(line)["id"] for line in lines if '"role": "tool"' in line]
    return {"facts": [{"text": f"from a tool {text}"[:1_500], "kind": "RULE", "category": "rules", "sources": tools}]}


def _gather(ctx: longmind.Context, space_id: str, talk_id: str, text: str, seen: PromptCollection) -> None:
    for template in BUILT_IN:
        built = ctx.working_context.build_working_context(
            talk_id,
            memory_space_id=space_id,
            recall_query=MARK,
            always_on_category_names=["rules"],
            template_id=template,
            token_budget=100_000,
            memory_policy={"archival_mode": "auto"},
            agent_id="planner",
        )
        seen.prompts[f"working context, {template}"] = built.context_block
    seen.prompts["brief"] = ctx.tools.session_brief()
    seen.prompts["user memory"] = ctx.blocks.user_memory("planner", {"archival_mode": "auto"})
    segments = ctx.events.build_prompt_segments(include_recent_tools=True)
    seen.prompts |= {f"segment {place}": each for place, each in enumerate(_texts(segments)) if MARK in each}
    seen.prompts |= _look_up(ctx, space_id)
    seen.answers = {each.tool.name: each.run({}) for each in ctx.tools.bound() if each.tool.name in _READING}
    distilling = ScriptedModel(lambda request: f"They said: {text}"[:2_000])
    ctx.events.distill_long_term(use_llm=True, model=distilling)
    ctx.events.distill_meta_summary(use_llm=True, model=distilling)
    seen.requests["distillation"], seen.requests["distillation of summaries"] = (
        distilling.requests[:1],
        distilling.requests[1:2],
    )
    seen.prompts["chat history, summary"] = ctx.events.chat_history_for_llm()["summary"]
    answering = ScriptedModel([f"I would rather not. {text}"])

    def handle(name: str, arguments: dict[str, Any]) -> str:
        seen.called.append(name)
        return "done"

    ctx.conversations.run_turn(
        talk_id,
        model=answering,
        user_text=f"again {text}",
        tools=[DANGER],
        tool_handler=handle,
        agent_id="planner",
        memory_policy={"archival_mode": "auto"},
    )
    seen.requests["turn"] = answering.requests[:1]


def _look_up(ctx: longmind.Context, space_id: str) -> dict[str, str]:
    """Return the answers to lookups: by the tools of a model, and by what a host can read for it."""
    recalls = [{"type": f"RECALL_{kind}", "name": kind, "memorySpaceId": space_id} for kind in _RECALLS]
    tools = {each.tool.name: each.run for each in (*ctx.memory.agent_tools(recalls), *ctx.blocks.tools("planner"))}
    found = {f"tool {kind}": tools[kind](asked) for kind, asked in _RECALLS.items()}
    found["tool recall_memory"] = tools["recall_memory"]({"query": MARK, "limit": None})
    # The call names no existing line, and the refusal lists those that exist.
    stale = {"block_type": "core", "scope": "agent", "edit": "replace_all", "content": "x", "expected_updated_at": None}
    found["tool update_memory, refused"] = tools["update_memory"](stale)
    found |= {f"reminder {place}": each for place, each in enumerate(ctx.blocks.reminders(MARK, policy=_AUTO))}
    found |= {f"resource {uri}": each.read(ctx) for uri, each in RESOURCES.items() if uri.startswith(_OF_MEMORY)}
    found["prompt of the protocol"] = str(make_brief(ctx).messages[0].content.text)  # type: ignore[union-attr]  # it is text
    return {name: _remove_times(text) for name, text in found.items()}


def _remove_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "", text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def complaints(calm: PromptCollection, seen: PromptCollection) -> Iterator[str]:
    """Yield how the text escaped: each prompt must have the shape of the one with the calm text."""
    for name, prompt in seen.prompts.items():
        if MARK not in prompt:
            yield f"{name} shows nothing of it"
        # A number makes an atom of a line, but where there are only lines of blocks.
        numbered = name.startswith(_NUMBERED)
        if name not in calm.prompts or shape_of(prompt, numbered) != shape_of(calm.prompts[name], numbered):
            yield f"{name} has another shape"
        yield from (f"{name} {what}" for what in _slips(prompt))
    for name, requests in seen.requests.items():
        if not requests:
            yield f"{name}: no model was asked"
        elif MARK not in _join_texts(requests[0]):
            yield f"{name} shows nothing of it"
        for request, usual in zip(requests, calm.requests[name], strict=True):
            yield from (f"{name} {what}" for what in _request_slips(name, request, usual))
    for name, answer in seen.answers.items():
        if len(answer.splitlines()) != 1 or OWN_TAGS.search(answer) or not isinstance(json.loads(answer), dict):
            yield f"the answer of {name} is more than a line of data"
    if seen.called:
        yield f"the tools {seen.called} were called"
    if seen.blocks_changed:
        yield "a core block was written"
    if seen.rules:
        yield "a tool's words became a rule"


def shape_of(prompt: str, numbered: bool = False) -> list[tuple[str, ...]]:
    """The lines of a prompt without what they say: their bullets, headings and tags."""
    bullet = r"- (?:\[\d+\] )?" if numbered else r"- "
    return [(*re.findall(rf"^(?:#+ |{bullet}|\* )", line), *OWN_TAGS.findall(line)) for line in prompt.split("\n")]


def _slips(prompt: str) -> Iterator[str]:
    if prompt.split("\n") != prompt.splitlines():
        yield "has line breaks of another kind"
    if re.search(r"\{\{|\}\}|```|~~~|<\||<<|<(?:script|img|tool_call|invoke|system|!)", prompt):
        yield "has markup that was remembered"
    unseen = {character for character in prompt if unicodedata.category(character) in _UNSEEN_KINDS} - _JOINERS - {"\n"}
    if unseen or re.search("(?<![^\x00-\u02ff])[\u200c\u200d\ufe0e\ufe0f]", prompt):
        yield f"has signs that are not seen {sorted(unseen)!r}"


def _join_texts(request: ModelRequest) -> str:
    """Return all text of a request to a model."""
    blocks = [block.model_dump() for message in request.messages for block in message.blocks]
    return "".join([request.system or "", *_texts(blocks)])


def _reminders(request: ModelRequest) -> list[int]:
    """Return the number of reminder tags of the application in each message."""
    # The arguments of a call are left as the model has chosen them: they are read by a program.
    spoken = (
        [block for block in message.blocks if not isinstance(block, ToolUseBlock)] for message in request.messages
    )
    texts = ("".join(_texts([block.model_dump() for block in blocks])) for blocks in spoken)
    return [len(re.findall(r"<\s*/?\s*system[\s_-]?reminder", text, re.IGNORECASE)) for text in texts]


def _request_slips(name: str, request: ModelRequest, usual: ModelRequest) -> Iterator[str]:
    if name == "turn":
        if shape_of(request.system or "") != shape_of(usual.system or ""):
            yield "has other instructions"
        yield from _slips(request.system or "")
        if [message.role for message in request.messages] != [message.role for message in usual.messages]:
            yield "has other speakers"
        if _reminders(request) != _reminders(usual):
            yield "has a reminder that the application did not give"
        return
    if MARK in (request.system or ""):
        yield "has memory among its instructions"
    [message] = request.messages
    lines = str(message.content).split("\n")
    boundary = _BOUNDARY.fullmatch(lines[0])
    if (
        boundary is None
        or str(message.content).count(boundary[1]) != 2
        or lines[-1] != lines[0].replace("begins", "ends")
    ):
        yield "has a fence that can be left"
    if lines != str(message.content).splitlines() or len(lines) != len(str(usual.messages[0].content).split("\n")):
        yield "has other lines"
    for line in lines[1:-1]:
        if not isinstance(json.loads(line), dict) or OWN_TAGS.search(line):
            yield "has a line that is no data"
