"""Operations on access: grants of a shared space, and keys of the server."""

from __future__ import annotations

from prove.kills.steps.step import Ask, Given, Known, NothingToDo, Step, StepContext, always

READERS = ("reader", "guest", "*")
"""Readers that are never erased, since an erased reader would take a grant along."""


def _plan_grant(ask: Ask, known: Known, by: StepContext) -> Given:
    known.look(ask)
    return {"space": known.shared, "reader": by.dice.choice(READERS)}


def _grant(ask: Ask, given: Given, token: str) -> Given:
    granted = ask("memory.grant_space", memory_space_id=given["space"], reader=given["reader"])
    return {"created_at": granted.created_at}


def _revoke(ask: Ask, given: Given, token: str) -> Given:
    ask("memory.revoke_space", memory_space_id=given["space"], reader=given["reader"])
    return {}


def _plan_key(ask: Ask, known: Known, by: StepContext) -> Given:
    return {"name": by.token}


def _key(ask: Ask, given: Given, token: str) -> Given:
    made = ask("keys.create", name=given["name"])
    return {"id": made.id, "token": made.token}


def _plan_key_revoke(ask: Ask, known: Known, by: StepContext) -> Given:
    if not known.keys:
        raise NothingToDo
    return {"ends": by.one_of(known.keys)}


def _key_revoke(ask: Ask, given: Given, token: str) -> Given:
    return {"revoked_at": ask("keys.revoke", key_id=given["ends"]).revoked_at}


STEPS = (
    Step("grant", 3, _plan_grant, _grant, always),
    Step("revoke", 2.5, _plan_grant, _revoke, always),
    Step("key", 3, _plan_key, _key, only="process"),
    Step("key_revoke", 2.5, _plan_key_revoke, _key_revoke, always, only="process"),
)
