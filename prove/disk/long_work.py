"""Long work on a disk that fills up, on both engines: imports, erasures, workers."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import longmind
from harness.postgres import PostgresServer
from longmind import LongmindError, StoreFull, StoreUnavailable
from prove.disk.engines import answers, come_back
from prove.disk.full_disk import FullDiskWork
from prove.disk.small_disks import SmallDisk, small_disk
from prove.section import Check
from prove.world import ADA, context_of

_LEFT = (0, 60_000, 400_000)
"""Less than any of it needs."""
_MESSAGES, _LENGTH = 60, 40_000
_NAMESPACE = "large"
_KIND, _JOBS = "waits", 5
_MOMENT, _PATIENCE = 2.0, 30.0


class SmallDiskStore(NamedTuple):
    """A store on a small disk."""

    name: str
    room: SmallDisk
    engine: longmind.Engine
    recover: Callable[[], object]
    """Restarts a server that stopped for lack of room."""

    @contextmanager
    def full(self, leave: int = 0) -> Iterator[None]:
        self.room.fill(leave)
        try:
            yield
        finally:
            self.room.make_room()
            self.recover()


def check_sqlite() -> Iterator[Check]:
    with small_disk(32) as room, longmind.open(f"sqlite:///{room.folder}/memory.db", embedder=None) as engine:
        yield from _all_of_them(SmallDiskStore("SQLite", room, engine, lambda: None))


def check_postgres() -> Iterator[Check]:
    with (
        small_disk(1024) as room,
        PostgresServer(within=room.folder) as server,
        longmind.open(server.create_database("larger"), embedder=None, connect_timeout_seconds=2) as engine,
    ):

        def recover() -> None:
            if not answers(server):
                come_back(server, engine)

        yield from _all_of_them(SmallDiskStore("PostgreSQL", room, engine, recover))


def _all_of_them(place: SmallDiskStore) -> Iterator[Check]:
    yield check_workers(place)
    yield check_import(place)
    yield check_erasure(place)


def check_workers(place: SmallDiskStore) -> Check:
    """Jobs that wait while there is no room are done when there is, by the same workers."""
    ada = context_of(place.engine, ADA)
    filling = FullDiskWork(place.engine, random.Random(3))
    jobs = [ada.jobs.enqueue(_KIND, {"number": number}).id for number in range(_JOBS)]
    with place.full():
        # What is left of the room is taken first: a job is smaller than most that is written.
        failed = filling.work_until_failure((StoreFull, StoreUnavailable))
        waiting = [id for id in jobs if _status(ada, id) == "queued"]
        # Registered only now, so that no job is done while the disk still has room.
        place.engine.register_job(_KIND, lambda run: {"done": run.job.payload["number"]})
        place.engine.start_workers(1)
        time.sleep(_MOMENT)
    until = time.monotonic() + _PATIENCE
    while (left := [id for id in jobs if _status(ada, id) != "succeeded"]) and time.monotonic() < until:
        time.sleep(0.1)
    wrong = [*filling.outcome.unclear, *([f"{len(left)} jobs are not done"] if left else [])]
    wrong += [] if failed and waiting else ["nothing had to wait, so nothing was shown"]
    claim = f"{place.name}, workers on a full disk go on by themselves when there is room"
    return Check(claim, not wrong, {"jobs": _JOBS, "had to wait": len(waiting)}, "; ".join(wrong[:3]))


def _status(context: longmind.Context, job_id: str) -> str | None:
    try:
        job = context.jobs.get_job(job_id)
    except LongmindError as error:
        return type(error).__name__
    return None if job is None else job.status


def check_import(place: SmallDiskStore) -> Check:
    """An import that finds no room leaves nothing of it, and is done when it is asked for again."""
    source, archive = context_of(place.engine, "moves"), io.BytesIO()
    talk(source)
    source.admin.export_user_archive(archive)
    # Ids of jobs are the database's, and stay the same.
    source.admin.delete_user_data(confirm=True)
    root = place.engine.context(tenant_id="other", app_id="support", user_id="root", capabilities={"admin"})
    eva = place.engine.context(tenant_id="other", app_id="support", user_id="eva")
    wrong: list[str] = []
    for left in _LEFT:
        with place.full(left):
            wrong += _check_refusal(lambda: root.admin.import_user_data(io.BytesIO(archive.getvalue()), "eva"))
        wrong += (
            [f"{_count_messages(eva)} messages of an import that was refused are there"] if _count_messages(eva) else []
        )
    root.admin.import_user_data(io.BytesIO(archive.getvalue()), "eva")
    wrong += [] if _count_messages(eva) == _MESSAGES else [f"with room {_count_messages(eva)} messages were imported"]
    claim = f"{place.name}, an import to a full disk is refused as a whole, and done when there is room"
    return Check(claim, not wrong, {"tries without room": len(_LEFT)}, "; ".join(wrong[:3]))


def check_erasure(place: SmallDiskStore) -> Check:
    """An erasure that finds no room has erased all or nothing, says which, and is done when it is asked for again."""
    wrong: list[str] = []
    refused = 0
    for number, left in enumerate(_LEFT):
        someone = context_of(place.engine, f"leaves{number}")
        talk(someone)
        with place.full(left):
            unclear = _check_refusal(lambda: someone.admin.delete_user_data(confirm=True))  # noqa: B023  # called at once
            done = unclear == [_TAKEN]
            refused += not done
            wrong += [] if done else unclear
        expected = 0 if done else _MESSAGES
        wrong += (
            []
            if _count_messages(someone) == expected
            else [f"{_count_messages(someone)} of {_MESSAGES} messages are left"]
        )
        receipt = someone.admin.delete_user_data(confirm=True)["receipt"]
        wrong += [] if _count_messages(someone) == 0 else ["with room the user is still there"]
        wrong += [] if someone.admin.verify_receipt(receipt) else ["the receipt is not right"]
    claim = f"{place.name}, a user is erased as a whole or not at all on a full disk, and wholly when there is room"
    return Check(claim, not wrong, {"erasures": len(_LEFT), "refused": refused}, "; ".join(wrong[:3]))


_TAKEN = "it was done though there is no room"


def _check_refusal(call: Callable[[], object]) -> list[str]:
    """Return the problems with how a call was refused."""
    try:
        call()
    except (StoreFull, StoreUnavailable) as error:
        return [] if error.message and error.hint else [f"{type(error).__name__} does not say what to do"]
    except LongmindError as error:
        return [f"{type(error).__name__}: {error}"]
    return [_TAKEN]


def talk(context: longmind.Context) -> None:
    made = context.conversations.create_conversation(_NAMESPACE)
    for number in range(_MESSAGES):
        text = random.Random(number).randbytes(_LENGTH // 2).hex()
        context.conversations.append_user_message(made.id, text)


def _count_messages(context: longmind.Context) -> int:
    chat = context.conversations
    return sum(len(chat.get_messages(each.id, limit=1000)) for each in chat.list_conversations(namespace=_NAMESPACE))
