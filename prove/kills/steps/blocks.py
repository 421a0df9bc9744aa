"""Operations on memory blocks, conditional on what was read before, and on the memory tools."""

from __future__ import annotations

from prove.kills.steps.step import SLEEPER, Ask, Given, Known, NothingToDo, Step, StepContext, always, mark_of

AGENTS = (None, "helper")
TYPES = ("core", "archival")
IDLE = 0.05
"""Seconds of silence after which a conversation has settled."""


def _plan_block(ask: Ask, known: Known, by: StepContext) -> Given:
    place = {"block_type": by.dice.choice(TYPES), "agent_id": by.dice.choice(AGENTS)}
    block = ask("blocks.get", **place)
    return {"place": place, "expected": None if block is None else block.updated_at}


def _update(ask: Ask, given: Given, token: str) -> Given:
    written = ask("blocks.update", content=f"{token} line", expected_updated_at=given["expected"], **given["place"])
    return {"version": written.version}


def _plan_delete(ask: Ask, known: Known, by: StepContext) -> Given:
    given = _plan_block(ask, known, by)
    if given["expected"] is None:
        raise NothingToDo
    return given


def _delete(ask: Ask, given: Given, token: str) -> Given:
    # Over HTTP the condition is a header, so it is left out.
    ask("blocks.delete", **given["place"])
    return {}


def _sleep_time(ask: Ask, given: Given, token: str) -> Given:
    """Turn on sleep-time memory for an agent, as soon as its conversations are silent."""
    kept = ask("blocks.set_sleep_time", enabled=True, agent_id=SLEEPER, idle_seconds=IDLE)
    return {"enabled": kept.enabled}


def _plan_store(ask: Ask, known: Known, by: StepContext) -> Given:
    return {"texts": [f"{by.token} entry {by.words()}"]}


def _store(ask: Ask, given: Given, token: str) -> Given:
    [text] = given["texts"]
    stored = ask("tools.memory_store", type="fact", content=text, tags=[token])
    return {"id": stored.id, "mark": mark_of(text)}


def _plan_replace(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    old, mark = by.one_of(known.entries)
    return {"ends": old, "mark": mark, "texts": [f"{by.token} corrected {by.words()}"]}


def _replace(ask: Ask, given: Given, token: str) -> Given:
    [text] = given["texts"]
    stored = ask("tools.memory_store", type="correction", content=text, supersedes=given["ends"])
    return {"id": stored.id, "mark": mark_of(text)}


def _plan_forget(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    entry_id, mark = by.one_of(known.entries)
    return {"ends": entry_id, "mark": mark}


def _forget(ask: Ask, given: Given, token: str) -> Given:
    ask("tools.memory_delete", id=given["ends"])
    return {}


def _plan_nothing(ask: Ask, known: Known, by: StepContext) -> Given:
    return {}


def _search(ask: Ask, given: Given, token: str) -> Given:
    return {"found": len(ask("tools.memory_search", query=token).results)}


def _brief(ask: Ask, given: Given, token: str) -> Given:
    return {"entries": ask("tools.memory_brief").entry_count}


STEPS = (
    Step("block", 5, _plan_block, _update),
    Step("block_delete", 0.7, _plan_delete, _delete),
    Step("sleep_time", 1.5, _plan_nothing, _sleep_time, always),
    Step("store", 4, _plan_store, _store),
    Step("replace", 2, _plan_replace, _replace),
    Step("forget", 2, _plan_forget, _forget),
    Step("search", 1, _plan_nothing, _search),
    Step("brief", 1, _plan_nothing, _brief),
)
