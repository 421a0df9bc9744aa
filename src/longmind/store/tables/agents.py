"""The agents of an app, by name. They belong to the app: all of its users may read them, and administrators write."""

from __future__ import annotations

import json

from longmind.clock import Micros, to_iso
from longmind.models.agent import Agent, AgentDefinition
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables.ledger import record_change


def put(run: Transaction, scope: Scope, name: str, definition: str, now: Micros) -> Agent:
    """Write an agent; one that exists keeps the instant at which it was created."""
    row = run.one(
        "put_agent", name=name, tenant_id=scope.tenant_id, app_id=scope.app_id, definition=definition, now=now
    )
    assert row is not None
    record_change(run, scope, "agent.registered", now, agent_name=name)
    return _to_agent(scope, row)


def get(run: Transaction, scope: Scope, name: str) -> Agent | None:
    """Return an agent, or None if the app has none of this name."""
    row = run.one("get_agent", name=name)
    return None if row is None else _to_agent(scope, row)


def list_all(run: Transaction, scope: Scope, after: str, limit: int) -> list[Agent]:
    """Return the agents whose names come after one, by name."""
    return [_to_agent(scope, row) for row in run.all("list_agents", after=after, limit=limit)]


def remove(run: Transaction, scope: Scope, name: str, now: Micros) -> None:
    """Remove an agent. Without one nothing changes."""
    if run.one("delete_agent", name=name) is not None:
        record_change(run, scope, "agent.removed", now, agent_name=name)


def _to_agent(scope: Scope, row: Row) -> Agent:
    name, definition, created_at, updated_at = row
    return Agent(
        name=name,
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        definition=AgentDefinition.model_validate(json.loads(definition)),
        created_at=to_iso(created_at),
        updated_at=to_iso(updated_at),
    )
