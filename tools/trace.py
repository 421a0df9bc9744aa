"""Print the walk of one operation: each function of Longmind that it calls, in order, with file and line.

python -m tools.trace OPERATION         memory.recall_by_topic, or recall_by_topic where only one service has it
python -m tools.trace work              from the end of a conversation to what was learned from it
python -m tools.trace OPERATION --full  every call; otherwise no more than four levels below the operation

The operation runs with the example of the API description, on a database in memory that holds a little of everything.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any, get_args
from urllib.parse import urlencode

import longmind
from longmind.errors import LongmindError
from longmind.jobs import JobRun
from longmind.providers.language_model import Tool
from longmind.providers.testing import ScriptedModel
from longmind.scope import Capability
from longmind.server.http.parameters import ABSENT, CHOOSING_PARAMETERS, ArgumentReader
from longmind.server.openapi.examples import EXAMPLES
from longmind.server.routes import Route, make_routes
from longmind.server.served_memory import ServedMemory

SOURCE = Path(longmind.__file__).parent
LEVELS = 4
WORK = "work"
ATOM = {
    "text": "Ada prefers meetings on Tuesday mornings.",
    "category": {"name": "meetings", "kind": "PREFERENCE"},
    "importance": 4,
    "confidence": 0.9,
}

_DECISION = "dec_0190a1b2c3d4e5f60718293a4b5c6d7e"
"""The decision of the examples. Only extraction makes one, which takes time, so it is made only for who names it."""


@dataclass(frozen=True)
class Step:
    """One call of a function of Longmind."""

    thread: str
    level: int
    place: str
    function: str

    @property
    def file(self) -> str:
        return self.place.partition(":")[0]

    @property
    def package(self) -> str:
        return self.file.partition("/")[0]


@dataclass
class Recorder:
    """Collects the calls made while it is active, in every thread that was started after it was installed."""

    steps: list[Step] = field(default_factory=list)
    active: bool = False
    _levels: dict[int, int] = field(default_factory=dict)

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.active or event not in ("call", "return"):
            return
        path = frame.f_code.co_filename
        if not path.startswith(str(SOURCE)) or frame.f_code.co_name.startswith("<"):
            return
        thread = threading.get_ident()
        if event == "return":
            self._levels[thread] = max(0, self._levels.get(thread, 0) - 1)
            return
        level = self._levels.get(thread, 0)
        self._levels[thread] = level + 1
        place = f"{Path(path).relative_to(SOURCE).as_posix()}:{frame.f_code.co_firstlineno}"
        self.steps.append(Step(threading.current_thread().name, level, place, frame.f_code.co_qualname))


class World:
    """A database in memory that holds one of everything an example can name."""

    def __init__(self) -> None:
        self.engine = longmind.open("sqlite:///:memory:", embedder=None)
        self.engine.register_job("mail.send", _fail)
        self.engine.register_tool(Tool("lookup_refund"), lambda ctx, arguments: "It was paid back on Monday.")
        self.context = context = self.engine.context(
            tenant_id="demo", app_id="demo", user_id="ada", agent_id="planner", capabilities=get_args(Capability)
        )
        memory = context.memory
        space = memory.create_memory_space("default")
        policy = {"extraction_version": "extraction-v1", "on_conversation_closed": True}
        binding = memory.create_binding({"namespace": "daily-checkin", "user_id": "ada"}, [space.id], policy)
        self.conversation = context.conversations.create_conversation("daily-checkin")
        context.conversations.append_turn(
            self.conversation.id, user_content="I moved to Graz in May.", assistant={"content": "Noted."}
        )
        context.blocks.update("core", "Ada speaks German.", agent_id="planner", expected_updated_at=None)
        block = context.blocks.update("core", "Ada speaks German.", expected_updated_at=None)
        block = context.blocks.update("core", "Ada speaks Dutch.", expected_updated_at=block.updated_at)
        entry = context.tools.memory_store(type="fact", content="Ada drinks coffee black.")
        self._space_id = space.id
        self._ids: dict[str, str] = {
            "mem-0c7b8f5e-3f1a-4c56-9f51-2f0f4c3a9d11": entry.id,
            "conv_0190a1b2c3d4e5f60718293a4b5c6d7e": self.conversation.id,
            "ms_0190a1b2c3d4e5f60718293a4b5c6d7e": space.id,
            "atom_0190a1b2c3d4e5f60718293a4b5c6d7e": memory.add_atom(space.id, ATOM).id,
            "bind_0190a1b2c3d4e5f60718293a4b5c6d7e": binding.id,
            "ent_0190a1b2c3d4e5f60718293a4b5c6d7e": memory.create_entity(space.id, "PERSON", "Ada").id,
            "ent_0190a1b2c3d4e5f60718293a4b5c6d7f": memory.create_entity(space.id, "PERSON", "Ada Lovelace").id,
            "evt_0190a1b2c3d4e5f60718293a4b5c6d7e": context.events.record("note", {"step": 3}).event_id,
            "job_0190a1b2c3d4e5f60718293a4b5c6d7e": context.jobs.enqueue("mail.send", {"to": "ada"}).id,
        }
        context.events.record_state("planner", {"step": 3})
        context.agents.register(EXAMPLES["agents.register"]["body"])
        self.engine.work(limit=1)
        shared = {"memory_space_id": memory.create_memory_space("team", kind="shared").id}
        self._overrides: dict[str, dict[str, Any]] = {
            "conversations.run_turn": {"model": ScriptedModel(["On Tuesday."]), "provider": None},
            "agents.invoke": {"model": ScriptedModel(["On Tuesday."])},
            "blocks.update": {"expected_updated_at": block.updated_at},
            "blocks.restore": {"expected_updated_at": block.updated_at},
            "memory.grant_space": shared,
            "memory.revoke_space": shared,
            "admin.export_user_archive": {"target": io.BytesIO()},
            "admin.import_user_data": {"source": context.admin.export_user_data("ada")},
        }

    def prepare(self, route: Route) -> Callable[[], Any]:
        """Return the call of an operation with the arguments of its example."""
        example = EXAMPLES[route.operation.path]
        text = json.dumps([example.get(part, {}) for part in ("path", "query", "body")])
        if _DECISION in text:
            self._ids[_DECISION] = self._decide()
        path, query, body = json.loads(re.sub("|".join(self._ids), lambda match: self._ids[match[0]], text))
        arguments = ArgumentReader(route).read(
            path, urlencode(query, doseq=True).encode(), json.dumps(body).encode() if body else b""
        )
        given = {name: value for name, value in arguments.items() if value is not ABSENT}
        if route.operation.path == "admin.import_user_data":
            self.context.admin.delete_user_data("ada", confirm=True)
        if route.http.tool is not None:
            given = given["arguments"]
        service = route.operation.service
        # What chooses the timeline or the space stands in the query, and is unknown to the operation itself.
        chosen = [given.pop(name, None) for name in CHOOSING_PARAMETERS.get(service, {})]
        owner = ServedMemory(self.context, *chosen) if service == "front_door" else getattr(self.context, service)
        method = getattr(owner, route.operation.name)
        return partial(method, **given | self._overrides.get(route.operation.path, {}))

    def _decide(self) -> str:
        """Let extraction learn from the conversation, and return the id of what it decided last."""
        self.close_conversation_and_work()
        return self.context.memory.list_decisions(self._space_id)[0].id

    def close_conversation_and_work(self) -> None:
        self.context.conversations.close_conversation(self.conversation.id)
        self.engine.work()


def _fail(run: JobRun) -> Any:
    raise RuntimeError("The mail server is away.")


def find_route(name: str) -> Route:
    """Return the route of an operation called `service.name`, or `name` where no other service has it."""
    routes = make_routes()
    found = [route for route in routes if name in (route.operation.path, route.operation.name)]
    if len(found) == 1:
        return found[0]
    known = sorted(route.operation.path for route in routes)
    near = [each.operation.path for each in found] or difflib.get_close_matches(name, known, n=5, cutoff=0.4) or known
    raise SystemExit(f"trace: {name!r} names {len(found)} operations. Try one of: {', '.join(near)}")


def record_steps(call: Callable[[], Any], recorder: Recorder) -> str:
    """Run a call with the recorder on, and return how it ended."""
    recorder.active = True
    try:
        call()
    except LongmindError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        recorder.active = False
    return "done"


def render_steps(steps: list[Step], levels: int | None) -> Iterator[str]:
    """Yield a line for each step, and one for a run of calls of the same function."""
    thread = steps[0].thread if steps else ""
    shown = [step for step in steps if levels is None or step.level <= levels]
    for step, run in groupby(shown):
        if step.thread != thread:
            thread = step.thread
            yield f"[thread {thread}]"
        count = len(list(run))
        times = f"  x{count}" if count > 1 else ""
        yield f"{step.place:<48} {'  ' * step.level}{step.function}{times}"


def summarise_steps(steps: list[Step]) -> str:
    pairs = list(pairwise(steps))
    files = sum(before.file != after.file for before, after in pairs)
    packages = sum(before.package != after.package for before, after in pairs)
    return (
        f"{len(steps)} calls in {len({step.file for step in steps})} files;"
        f" {files} changes of file, {packages} of package, {len({step.thread for step in steps})} threads"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev trace", description="Print the walk of one operation.")
    parser.add_argument("operation", help=f"such as memory.recall_by_topic or append_turn, or '{WORK}'")
    parser.add_argument("--full", action="store_true", help=f"print every call, not only the first {LEVELS} levels")
    chosen = parser.parse_args(arguments)
    route = None if chosen.operation == WORK else find_route(chosen.operation)
    recorder = Recorder()
    logging.disable()
    # Before the engine opens, so that the threads it starts are recorded too.
    threading.setprofile(recorder.note)
    world = World()
    call = world.close_conversation_and_work if route is None else world.prepare(route)
    sys.setprofile(recorder.note)
    outcome = record_steps(call, recorder)
    sys.setprofile(None)
    world.engine.close()
    for line in render_steps(recorder.steps, None if chosen.full else LEVELS):
        print(line)
    print(f"{summarise_steps(recorder.steps)}; {outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
