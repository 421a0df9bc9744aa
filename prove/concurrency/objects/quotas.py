"""Counters: the calls of memory tools in a session, and the cost of models in a month."""

from __future__ import annotations

from typing import Any, NamedTuple

import longmind
from longmind.clock import to_iso
from longmind.extraction.model.spend_cap import CallCost, TenantBudget
from longmind.scope import TenantScope
from longmind.settings import Settings
from longmind.store.tables import spend
from longmind.store.tables.quotas import QuotaLimits
from prove.concurrency.history import Operation
from prove.concurrency.linearizable import IMPOSSIBLE, Impossible
from prove.concurrency.objects.player import Player

_DEFAULTS = Settings()
LIMITS: QuotaLimits = {
    "stores": _DEFAULTS.session_stores,
    "supersedes": _DEFAULTS.session_supersedes,
    "deletes": _DEFAULTS.session_deletes,
}
_SESSIONS = 40
_MOVES_A_SESSION = 5
CAP = 2_000
"""Tokens per month, as configured for the engines of all processes."""


class Session(NamedTuple):
    stores: int = 0
    supersedes: int = 0
    deletes: int = 0
    live: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    """Superseded entries that still exist."""


class SessionModel:
    """A group with one session: entries, and three counters of what succeeded."""

    initial = Session()
    reads = frozenset({"search", "brief"})

    def step(self, state: Session, operation: Operation) -> Session | Impossible:
        if operation.name == "search":
            return state if operation.answer == tuple(sorted(state.live)) else IMPOSSIBLE
        if operation.name == "brief":
            expected = (tuple(sorted(state.live)), len(state.live | state.hidden))
            return state if operation.answer == expected else IMPOSSIBLE
        after, why_not = _apply(state, operation)
        if not operation.known:
            return IMPOSSIBLE if why_not else after
        return (state if why_not else after) if operation.answer == (why_not or "done") else IMPOSSIBLE


def _apply(state: Session, operation: Operation) -> tuple[Session, str | None]:
    """Return the session after an operation, and the code of its refusal if it is refused."""
    match operation.name:
        case "store":
            after = state._replace(stores=state.stores + 1, live=state.live | {operation.given})
            there = True
        case "supersede":
            old, new = operation.given
            after = state._replace(
                stores=state.stores + 1,
                supersedes=state.supersedes + 1,
                live=state.live - {old} | {new},
                hidden=state.hidden | {old},
            )
            there = old in state.live
        case _:
            gone = {operation.given}
            after = state._replace(deletes=state.deletes + 1, live=state.live - gone, hidden=state.hidden - gone)
            there = operation.given in state.live | state.hidden
    used = {"stores": after.stores, "supersedes": after.supersedes, "deletes": after.deletes}
    if any(used[counter] > limit for counter, limit in LIMITS.items()):
        return after, "RATE_LIMITED"
    return after, None if there else "HANDLER_ERROR"


class Sessions:
    claim = "quotas of the memory tools are linearizable, together with what they let through"
    model = SessionModel()

    def prepare(self, ctx: longmind.Context) -> list[str]:
        return ["session"]

    def move(self, player: Player, name: str) -> None:
        # All go on to the next session at about the same pace: one that is used up shows little.
        moves = player.known["moves"] = player.known.get("moves", -1) + 1
        self._move(player, f"{name}-{min(moves // _MOVES_A_SESSION, _SESSIONS - 1)}")

    def look(self, player: Player, name: str) -> None:
        for number in range(_SESSIONS):
            self._search(player, f"{name}-{number}")

    def _move(self, player: Player, name: str) -> None:
        chance, ids = player.dice.random(), player.known.setdefault(f"ids {name}", {})
        if chance < 0.2 or not ids:
            self._search(player, name)
        if chance < 0.3:
            self._call(player, name, "brief", None, "memory_brief", {})
        elif chance < 0.75 or not ids:
            content = player.client.fresh()
            self._call(player, name, "store", content, "memory_store", {"type": "fact", "content": content})
        else:
            old, id = player.dice.choice(sorted(ids.items()))
            if chance < 0.88:
                content = player.client.fresh()
                wanted = {"type": "fact", "content": content, "supersedes": id}
                self._call(player, name, "supersede", [old, content], "memory_store", wanted)
            else:
                self._call(player, name, "delete", old, "memory_delete", {"id": id})

    def _search(self, player: Player, name: str) -> None:
        self._call(player, name, "search", None, "memory_search", {"limit": 50})

    def _call(self, player: Player, name: str, what: str, given: Any, tool: str, wanted: dict[str, Any]) -> None:
        tools = player.context(group=name, session_id=name).tools
        ids = player.known.setdefault(f"ids {name}", {})

        def act() -> Any:
            try:
                answer = tools.invoke(tool, wanted)
            except longmind.ToolError as error:
                if error.retriable or error.code == "PLUGIN_TIMEOUT":
                    # A call that must not be repeated lost its connection in its commit: its outcome is unknown.
                    raise longmind.StoreUnavailable(error.message) from error
                return error.code
            if what == "search":
                ids.update({found["content"]: found["id"] for found in answer["results"]})
                return sorted(found["content"] for found in answer["results"])
            if what == "brief":
                return [sorted(entry["content"] for entry in answer["entries"]), answer["entry_count"]]
            return "done"

        player.client.do(name, what, given, act)


class SpendModel:
    """Calls are let through while what was reserved and spent is below the cap; what they reserved is corrected."""

    initial = 0
    reads = frozenset({"spent"})

    def step(self, state: int, operation: Operation) -> int | Impossible:
        if operation.name == "spent":
            return state if operation.answer == state else IMPOSSIBLE
        change: int = operation.given
        if operation.name == "settle":
            return state + change
        if operation.known and operation.answer != (state < CAP):
            return IMPOSSIBLE
        return state + change if state < CAP else (state if operation.known else IMPOSSIBLE)


class Spending:
    claim = "the cap on what models cost is linearizable, and no call is let through above it"
    model = SpendModel()

    def prepare(self, ctx: longmind.Context) -> list[str]:
        return ["budget-0", "budget-1"]

    def move(self, player: Player, name: str) -> None:
        if player.dice.random() < 0.25:
            self.look(player, name)
            return
        budget = self._budget(player, name)
        most = player.dice.randrange(20, 200)
        if player.client.do(name, "reserve", most, lambda: budget.reserve(CallCost(most, None))):
            cost = player.dice.randrange(most + 1)
            player.client.do(name, "settle", cost - most, lambda: _settle(budget, most, cost))

    def look(self, player: Player, name: str) -> None:
        scope = player.engine.context(tenant_id="acme", app_id=name, user_id="ada").scope
        month = to_iso(player.engine._clock())[:7]
        read = player.engine._database.read
        player.client.do(
            name, "spent", None, lambda: read(TenantScope.from_scope(scope), spend.read_spent, month).tokens
        )

    def _budget(self, player: Player, name: str) -> TenantBudget:
        engine = player.engine
        scope = engine.context(tenant_id="acme", app_id=name, user_id="ada").scope
        return TenantBudget(engine._database, scope, engine.settings, engine._clock)


def _settle(budget: TenantBudget, most: int, cost: int) -> None:
    budget.settle(CallCost(most, None), CallCost(cost, None))
