"""Operations on atoms and entities."""

from __future__ import annotations

from typing import Any

from prove.kills.steps.step import Ask, Given, Known, Step, StepContext, always, mark_of

PARTS = ("first", "second", "third")
_CATEGORY = {"name": "said", "kind": "FACT"}


def _atom_of(text: str) -> dict[str, Any]:
    return {"text": text, "category": _CATEGORY}


def _plan_atom(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    return {"space": known.space, "texts": [f"{by.token} whole {by.words()}"]}


def _atom(ask: Ask, given: Given, token: str) -> Given:
    [text] = given["texts"]
    atom = ask("memory.add_atom", memory_space_id=given["space"], atom=_atom_of(text))
    return {"atoms": [(atom.id, mark_of(text))]}


def _plan_batch(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    return {"space": known.space, "texts": [f"{by.token} {part} {by.words()}" for part in PARTS]}


def _batch(ask: Ask, given: Given, token: str) -> Given:
    atoms = ask("memory.add_atoms", memory_space_id=given["space"], atoms=[_atom_of(text) for text in given["texts"]])
    return {"atoms": [(atom.id, mark_of(atom.text)) for atom in atoms]}


def _plan_supersede(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    old, mark = by.one_of(known.atoms)
    return {"ends": old, "mark": mark, "texts": [f"{by.token} newer {by.words()}"]}


def _supersede(ask: Ask, given: Given, token: str) -> Given:
    [text] = given["texts"]
    atom = ask("memory.supersede_atom", atom_id=given["ends"], atom=_atom_of(text))
    return {"atoms": [(atom.id, mark_of(text))]}


def _plan_ending(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    atom_id, mark = by.one_of(known.atoms)
    return {"ends": atom_id, "mark": mark}


def _archive(ask: Ask, given: Given, token: str) -> Given:
    ask("memory.archive_atom", atom_id=given["ends"])
    return {}


def _delete(ask: Ask, given: Given, token: str) -> Given:
    ask("memory.delete_atom", atom_id=given["ends"])
    return {}


def _plan_entity(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    return {"space": known.space}


def _entity(ask: Ask, given: Given, token: str) -> Given:
    name = f"Person {token}"
    made = ask("memory.create_entity", memory_space_id=given["space"], type="PERSON", canonical_name=name)
    return {"id": made.id, "name": name}


def _plan_merge(ask: Ask, known: Known, by: StepContext) -> Given:
    alias, alias_name = by.one_of(known.entities)
    kept, kept_name = by.one_of([each for each in known.entities if each[0] != alias])
    return {"ends": alias, "alias": alias_name, "kept_id": kept, "kept": kept_name}


def _merge(ask: Ask, given: Given, token: str) -> Given:
    return {"id": ask("memory.merge_entities", canonical_id=given["kept_id"], alias_id=given["ends"]).id}


STEPS = (
    Step("atom", 4, _plan_atom, _atom),
    Step("batch", 2, _plan_batch, _batch),
    Step("supersede", 3, _plan_supersede, _supersede),
    Step("archive", 2, _plan_ending, _archive, always),
    Step("delete", 2, _plan_ending, _delete),
    Step("entity", 2, _plan_entity, _entity, always),
    Step("merge", 1.5, _plan_merge, _merge),
)
