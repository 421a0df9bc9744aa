"""Processes with several clients each, which contend for the same objects until their time is up."""

from __future__ import annotations

import json
import logging
import os
import random
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import longmind
from harness.crew import Line
from prove.concurrency.history import RecordingClient
from prove.concurrency.objects import KINDS, Player
from prove.concurrency.objects.quotas import CAP

PROCESSES = 4
CLIENTS = 4
"""In each process: sixteen in all, on one engine for each process."""
END = "the end of a round"
_SLICE_SECONDS = 0.25
"""Seconds that all clients spend on the same kind of object, so that they contend for it."""
_PATIENCE_SECONDS = 1.0

Objects = Mapping[str, list[str]]
"""The names of the objects of each kind."""


def open_engine(url: str) -> longmind.Engine:
    return longmind.open(url, embedder=None, rolling_summary_turns=0, extraction_spend_cap_tokens=CAP)


def prepare_objects(url: str) -> dict[str, list[str]]:
    with open_engine(url) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        return {kind: each.prepare(ctx) for kind, each in KINDS.items()}


def play(line: Line, url: str, folder: Path, process: str, objects: Objects, seed: int) -> None:
    """Run the clients of one process until the end, while a follower reads the changes."""
    # The driver reports the connections that the attack cuts on purpose.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)

    broken = threading.Event()
    with open_engine(url) as engine, ThreadPoolExecutor(CLIENTS + 1) as threads:
        following = threads.submit(_follower, engine, folder / f"{process}.changes", broken)
        line.say("ready")
        until: float = line.hear()
        clients = [f"{process}{number}" for number in range(CLIENTS)]
        try:
            for played in [threads.submit(_client, engine, folder, name, objects, until, seed) for name in clients]:
                played.result()
        except BaseException:
            broken.set()
            raise
        line.say("played")
        # It ends when the last change of the round has come.
        following.result()


def look_at_all(url: str, folder: Path, objects: Objects, name: str) -> None:
    """Read every object after the round, and tell the followers that it is over."""
    with open_engine(url) as engine:
        player = Player(RecordingClient(name, folder), engine, random.Random(0), {})
        for kind, names in objects.items():
            for each in names:
                KINDS[kind].look(player, each)
        player.context().conversations.create_conversation(END)
        player.client.close()


def _client(engine: longmind.Engine, folder: Path, name: str, objects: Objects, until: float, seed: int) -> None:
    player = Player(RecordingClient(name, folder), engine, random.Random(f"{seed} {name}"), {})
    kinds = sorted(objects)
    while (now := time.monotonic()) < until:
        kind = kinds[int(now / _SLICE_SECONDS) % len(kinds)]
        KINDS[kind].move(player, player.dice.choice(objects[kind]))
    player.client.close()


def _follower(engine: longmind.Engine, path: Path, broken: threading.Event) -> None:
    cursor: int | None = None
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while not broken.is_set():
        try:
            for change in engine.follow(cursor, wait=_PATIENCE_SECONDS):
                cursor = change.cursor
                line: list[Any] = [cursor, change.kind, change.conversation_id, change.event_id]
                os.write(file, json.dumps(line).encode() + b"\n")
                if change.data.get("namespace") == END:
                    return
        except longmind.StoreError:
            # Cut off; it goes on from where it was.
            continue
