"""Access: grants of spaces and keys of the server, as the journal promises them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import longmind
from longmind import AccessKey
from prove.kills.checker.era import Era, times_wrong
from prove.kills.checker.observation import Observation
from prove.kills.journal import Entry, History, State
from prove.kills.steps.access import READERS
from prove.kills.transports import APP, TENANT

Grant = tuple[str, str]
"""A space and its reader."""
_EVERYBODY = "*"


def wrong_grants(era: Era, seen: Observation) -> Iterator[str]:
    """Check that the last change decides each grant, and that readers and the ledger agree with it."""
    asked: dict[Grant, list[Entry]] = defaultdict(list)
    for entry in era.select("grant", "revoke"):
        if entry.state != "refused":
            asked[entry.given["space"], entry.given["reader"]].append(entry)
    rows = [each for each in seen.export["grants"] if each["ownerId"] == era.user]
    there = {(each["memorySpaceId"], each["userId"]): each["createdAt"] for each in rows}
    if len(there) != len(rows):
        yield "a grant is there twice"
    for grant in asked.keys() | there.keys():
        if (grant in there) not in _possible(asked[grant]) and not (era.late and not asked[grant]):
            states = [(each.operation, each.number, each.state) for each in asked[grant]]
            yield f"grant {grant} is {'there' if grant in there else 'not there'} after {states}"
        kept = _find_grant_time(asked[grant])
        if kept is not None and there.get(grant, kept) != kept:
            yield f"grant {grant} was given at {kept} and says {there[grant]}"
    yield from _wrong_telling(seen, set(there))
    yield from _wrong_reading(seen, set(there))


def _possible(asked: list[Entry]) -> set[bool]:
    possible = {False}
    for entry in asked:
        given = entry.operation == "grant"
        possible = {given} if entry.state == "done" else possible | {given}
    return possible


def _find_grant_time(asked: list[Entry]) -> str | None:
    """Return the creation time that a repeated grant must keep; None if it is open."""
    last = asked[-1] if asked else None
    return last.answer["created_at"] if last is not None and last.operation == "grant" and last.answer else None


def _wrong_telling(seen: Observation, there: set[Grant]) -> Iterator[str]:
    """Check that the ledger has each change once: grants and revocations alternate, and the last one holds."""
    changes: dict[Grant, list[str]] = defaultdict(list)
    for event in seen.export["events"]:
        if event["kind"] in ("space.granted", "space.revoked"):
            changes[event["data"]["spaceId"], event["data"]["readerId"]].append(event["kind"])
    for grant in changes.keys() | there:
        expected = ["space.granted", "space.revoked"] * len(changes[grant])
        if changes[grant] != expected[: len(changes[grant])] or (len(changes[grant]) % 2 == 1) != (grant in there):
            yield f"the ledger has {changes[grant]} for grant {grant}, which is {'' if grant in there else 'not '}there"


def _wrong_reading(seen: Observation, there: set[Grant]) -> Iterator[str]:
    for reader in READERS:
        if reader == _EVERYBODY:
            continue
        context = seen.engine.context(tenant_id=TENANT, app_id=APP, user_id=reader)
        found = {space.id for space in context.memory.list_shared_spaces(limit=1000) if space.user_id == seen.user}
        granted = {space for space, who in there if who in (reader, _EVERYBODY)}
        if found != granted:
            yield f"{reader} finds the spaces {sorted(found)}, and may read {sorted(granted)}"


def wrong_keys(era: Era, seen: Observation) -> Iterator[str]:
    """A key is there once, and opens until it is revoked."""
    keys = [key for key in seen.engine.keys.list(tenant_id=TENANT, app_id=APP) if key.user_id == era.user]
    if not keys and any(entry.state == "lost" for entry in era.select("erase")):
        # Keys go before all of the rest, so that an erasure that broke off may have come so far.
        return
    names = Counter(key.name for key in keys)
    by_id = {key.id: key for key in keys}
    made = {f"{era.user}n{entry.number}": entry for entry in era.select("key")}
    revoked = {entry.given["ends"]: entry for entry in era.select("key_revoke") if entry.state != "refused"}
    for name, entry in made.items():
        yield from times_wrong(entry, "the key", names[name])
        if entry.answer is None:
            continue
        key = by_id.get(entry.answer["id"])
        if key is None or key.name != name:
            yield f"key {entry.number} has another id than was answered"
        else:
            yield from _wrong_key(seen, entry, key, revoked.get(key.id))
    if not era.late and (others := names.keys() - made.keys()):
        yield f"nobody has made the keys {sorted(others)}"


def _wrong_key(seen: Observation, made: Entry, key: AccessKey, revoked: Entry | None) -> Iterator[str]:
    state: State | None = None if revoked is None else revoked.state
    if (state == "done") > (key.revoked_at is not None):
        yield f"key {made.number} was revoked and is not"
    if state is None and key.revoked_at is not None:
        yield f"key {made.number} is revoked and nobody has done it"
    if revoked is not None and revoked.answer and key.revoked_at not in (None, revoked.answer["revoked_at"]):
        yield f"key {made.number} was revoked at {revoked.answer['revoked_at']} and says {key.revoked_at}"
    if _opens(seen, made) != (key.revoked_at is None):
        yield f"key {made.number} opens although it is revoked, or does not although it is not"


def wrong_erased_keys(history: History, seen: Observation) -> Iterator[str]:
    """Check that the keys of an erased user open nothing."""
    erased = [entry.number for entry in history.entries if entry.operation == "erase" and entry.state == "done"]
    for entry in history.entries:
        if entry.operation == "key" and entry.answer and erased and entry.number < erased[-1] and _opens(seen, entry):
            yield f"key {entry.number} opens, and its user was erased since"


def _opens(seen: Observation, made: Entry) -> bool:
    assert made.answer is not None
    try:
        return seen.engine.keys.check(made.answer["token"]).user_id == seen.user
    except longmind.Unauthenticated:
        return False
