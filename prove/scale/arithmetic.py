"""Arithmetic of a hundred million users, from measured figures: `python -m prove.scale.arithmetic`.

Every line is computed from the lines above it. `docs/explanation/scale.md` repeats the output; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from math import ceil
from typing import Any

DAY = 24 * 3600
TERA = 10**12


def figure(value: float, words: str) -> Any:
    """Return a field with the label of its row."""
    return field(default=value, metadata={"words": words})


@dataclass(frozen=True)
class Measured:
    """Figures of a store with a million atoms and a million events on PostgreSQL, and of benchmarks on two cores."""

    atom_bytes: float = figure(1_244, "bytes on disk of an atom: row, indexes, words, vector of 384 dimensions")
    event_bytes: float = figure(1_397, "bytes on disk of an event or a message: row, indexes")
    user_bytes: float = figure(4_700, "bytes on disk of a user besides: space, block, conversations, jobs")
    append_log_bytes: float = figure(5_500, "bytes of write-ahead log of one turn (two messages)")
    cached_atom_bytes: float = figure(969, "bytes in the cache of an atom that may be recalled")
    cached_event_bytes: float = figure(600, "bytes in the cache of an event that may be found by its words")
    requests_per_core: float = figure(95, "requests a second per core, shared by clients, server, worker and database")
    turns_per_core: float = figure(700, "turns stored a second per core, shared likewise")
    read_per_core: float = figure(2_000, "messages read a second per core, by the rules")
    embedding_ms: float = figure(6.5, "milliseconds of a core per embedded text, local embedder")


@dataclass(frozen=True)
class Assumed:
    """Figures that depend on the users of an installation. Change them and run this again."""

    users: float = figure(100_000_000, "users")
    active_a_day: float = figure(0.10, "share of users active on a day")
    turns_a_day: float = figure(10, "turns of an active user; each is one working context (a recall) and one append")
    events_a_day: float = figure(5, "events recorded by an active user")
    atoms_a_day: float = figure(2, "atoms learned from an active user")
    peak: float = figure(3, "peak load as a multiple of the mean")
    searching: float = figure(0.05, "share of active users who search their whole timeline")
    peak_hour: float = figure(0.15, "share of active users present in the busiest hour")
    years: float = figure(3, "years of data kept")
    hot_days: float = figure(90, "days before messages move to object storage (not built)")
    pointer_bytes: float = figure(120, "bytes left in the database per moved message")
    squeezed: float = figure(0.25, "size of a moved message relative to before")
    shard_terabytes: float = figure(4, "TB used per database machine")
    shard_cores: float = figure(32, "cores per database machine")
    copies: float = figure(2, "machines per shard: a primary and a standby")
    node_cores: float = figure(16, "cores per machine with API nodes and workers")
    node_cache_gigabytes: float = figure(48, "GB of cache on such a machine")


def results(measured: Measured, assumed: Assumed) -> Iterator[tuple[str, float, str]]:
    """Yield each derived figure with its name and unit; later ones follow from earlier ones."""
    coming = assumed.users * assumed.active_a_day
    days = 365 * assumed.years
    turns = coming * assumed.turns_a_day
    yield "active users a day", coming, ""
    yield "turns a second, mean", turns / DAY, "/s"
    yield "turns a second, peak", (turn_rate := assumed.peak * turns / DAY), "/s"
    yield "recorded events a second, peak", assumed.peak * coming * assumed.events_a_day / DAY, "/s"
    yield "atoms a second, peak", assumed.peak * coming * assumed.atoms_a_day / DAY, "/s"
    requests = assumed.peak * coming * (2 * assumed.turns_a_day + assumed.events_a_day) / DAY
    yield "requests a second, peak", requests, "/s"
    yield "rows of events", (events := days * coming * (2 * assumed.turns_a_day + assumed.events_a_day)), ""
    yield "rows of atoms", (atoms := days * coming * assumed.atoms_a_day), ""
    yield "events on the disk", (event_bytes := events * measured.event_bytes) / TERA, "TB"
    yield "atoms on the disk", (atom_bytes := atoms * measured.atom_bytes) / TERA, "TB"
    yield "everything else on the disk", (user_bytes := assumed.users * measured.user_bytes) / TERA, "TB"
    yield "write-ahead log a day", turns * measured.append_log_bytes / TERA, "TB"
    whole = event_bytes + atom_bytes + user_bytes
    yield "all of it in databases", whole / TERA, "TB"
    yield "shards by space, all in databases", (by_room := ceil(whole / TERA / assumed.shard_terabytes)), ""
    cold = max(0.0, 1 - assumed.hot_days / days) * days * coming * 2 * assumed.turns_a_day
    moved = whole - cold * (measured.event_bytes - assumed.pointer_bytes)
    yield "messages that could be moved", cold, ""
    yield "left in databases after the move", moved / TERA, "TB"
    yield "in object storage after the move", cold * measured.event_bytes * assumed.squeezed / TERA, "TB"
    yield "shards by space, old messages moved", (by_less_room := ceil(moved / TERA / assumed.shard_terabytes)), ""
    by_writes = ceil(turn_rate / (measured.turns_per_core * assumed.shard_cores))
    yield "shards by writes", by_writes, ""
    yield "database machines, all in databases", assumed.copies * max(by_room, by_writes), ""
    yield "database machines, old messages moved", assumed.copies * max(by_less_room, by_writes), ""
    cached = atoms * measured.cached_atom_bytes + assumed.searching * events * measured.cached_event_bytes
    cache = coming * assumed.peak_hour * cached / assumed.users
    yield "cache for the users of the busiest hour", cache / TERA, "TB"
    yield "cores for extraction by rules, peak", ceil(2 * turn_rate / measured.read_per_core), ""
    embedded = turn_rate + assumed.peak * coming * assumed.atoms_a_day / DAY
    yield "cores for local embedding of questions and atoms, peak", ceil(embedded * measured.embedding_ms / 1000), ""
    by_memory = ceil(cache / 10**9 / assumed.node_cache_gigabytes)
    by_requests = ceil(requests / measured.requests_per_core / assumed.node_cores)
    yield "API machines by memory, each user kept to one", by_memory, ""
    yield "API machines by requests", by_requests, ""
    yield "API machines", max(by_memory, by_requests), ""


def page(measured: Measured, assumed: Assumed) -> str:
    """Return three tables: measured, assumed and derived figures."""
    parts = [_format_inputs("measured", measured), _format_inputs("assumed", assumed)]
    rows = "\n".join(f"| {name} | {_format_value(value, unit)} |" for name, value, unit in results(measured, assumed))
    return "\n\n".join([*parts, f"| derived | |\n| --- | ---: |\n{rows}"]) + "\n"


def _format_inputs(title: str, figures: Measured | Assumed) -> str:
    rows = [f"| {each.metadata['words']} | {_format_value(getattr(figures, each.name))} |" for each in fields(figures)]
    return "\n".join([f"| {title} | |", "| --- | ---: |", *rows])


def _format_value(value: float, unit: str = "") -> str:
    if value >= 10**9:
        return f"{value / 10**9:,.0f} billion {unit}".strip()
    text = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"
    return f"{text} {unit}".strip()


if __name__ == "__main__":
    print(page(Measured(), Assumed()), end="")
