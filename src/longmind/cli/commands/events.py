"""`longmind events`: record events and states, and search them.

Events are kept on timelines: of a session, of a user, or of another level of the scope, which --level chooses.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from longmind.cli.commands.rebuild_jsonl import rebuild_jsonl
from longmind.cli.options import MemoryAccess, provide_known_memory, provide_memory
from longmind.cli.output import AsJson, print_json, print_line, print_table, read_text
from longmind.errors import InvalidInput, NotFound
from longmind.events import Events
from longmind.models.event import Event
from longmind.models.event_search import SearchMode
from longmind.scope import Level

app = typer.Typer(help="The event log.", no_args_is_help=True)

Whose = Annotated[
    Level | None, typer.Option("--level", help="The timeline; by default that of the session, or of the user.")
]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Only events of this kind; may be repeated.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")]
Limit = Annotated[int, typer.Option(help="The maximum number of results.")]


@app.command("record")
@provide_memory
def record(
    memory: MemoryAccess,
    kind: Annotated[str, typer.Argument(help="The kind of event, such as deploy.done.")],
    text: Annotated[str | None, typer.Argument(help="A description; - reads it from standard input.")] = None,
    data: Annotated[str | None, typer.Option(help="Details, as a JSON object.")] = None,
    tag: Tags = None,
    severity: Annotated[int, typer.Option(help="The severity: 1, 2 or 3.", min=1, max=3)] = 2,
    stage: Annotated[str | None, typer.Option(help="The stage of the work.")] = None,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Record an event."""
    description = None if text is None else read_text(text)
    if description is None and data is None:
        raise InvalidInput("The event has neither a text nor data.", hint="Give a text, --data, or both.")
    details = {} if data is None else _read_json("--data", data)
    if not isinstance(details, dict):
        raise InvalidInput("--data is not a JSON object.", hint="""Use the form '{"version": 3}'.""")
    event = _choose_timeline(memory, level).record(
        kind, details, tags=tag or None, severity=severity, stage=stage, text=description
    )
    print_json(event) if as_json else print_line(event.event_id)


@app.command("recent")
@provide_known_memory
def recent(
    memory: MemoryAccess,
    kind: Kinds = None,
    tag: Tags = None,
    since: Annotated[str | None, typer.Option(help="Only from this ISO 8601 instant on.")] = None,
    until: Annotated[str | None, typer.Option(help="Only up to this instant.")] = None,
    limit: Limit = 20,
    offset: Annotated[int, typer.Option(help="The number of newer events to skip.")] = 0,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """List recent events, newest last."""
    # The persisted log: a new process has no hot log in memory.
    found = _choose_timeline(memory, level).recent_persisted(
        kinds=kind or None, tags=tag or None, since=since, until=until, limit=limit, offset=offset
    )
    _print_events(found, as_json)


@app.command("search")
@provide_known_memory
def search(
    memory: MemoryAccess,
    query: Annotated[str | None, typer.Argument(help="The topic; without it, the newest events first.")] = None,
    kind: Kinds = None,
    tag: Tags = None,
    within: Annotated[str | None, typer.Option(help="Only events of this last period: 90s, 15m, 12h or 7d.")] = None,
    mode: Annotated[SearchMode, typer.Option(help="The kind of search.")] = "auto",
    min_score: Annotated[
        float | None, typer.Option(help="The least probability, from 0 to 1, that an event is about the topic.")
    ] = None,
    limit: Limit = 20,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Search events by topic, best first."""
    found = _choose_timeline(memory, level).search(
        query,
        kinds=kind or None,
        tags=tag or None,
        limit=limit,
        time_window=within,
        mode=mode,
        min_score=min_score,
    )
    _print_events(found, as_json)


@app.command("show")
@provide_known_memory
def show(
    memory: MemoryAccess, event_id: Annotated[str, typer.Argument(help="The id of the event.")], as_json: AsJson = False
) -> None:
    """Show all fields of an event."""
    event = memory.context.events.get_event(event_id)
    if event is None:
        raise NotFound("event", event_id)
    if as_json:
        print_json(event)
        return
    for name, value in event.model_dump(exclude_none=True).items():
        print_line(f"{name}: {value}")


@app.command("state")
@provide_memory
def state(
    memory: MemoryAccess,
    key: Annotated[str, typer.Argument(help="The name of the state.")],
    value: Annotated[str | None, typer.Option("--set", help="The new value, as JSON.")] = None,
    history: Annotated[bool, typer.Option("--history", help="List all values, newest last.")] = False,
    limit: Limit = 20,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Show a state or its history, or set it."""
    timeline = _choose_timeline(memory, level)
    if value is not None:
        event = timeline.record_state(key, _read_json("--set", value))
        print_json(event) if as_json else print_line(event.event_id)
    elif history:
        _print_events(timeline.state_history(key, limit=limit, use_persistence=True), as_json)
    else:
        now = timeline.latest_state(key, use_persistence=True)
        print_json({"key": key, "value": now}) if as_json else print_line(json.dumps(now, ensure_ascii=False))


@app.command("usage")
@provide_known_memory
def usage(
    memory: MemoryAccess,
    since: Annotated[str | None, typer.Option(help="Only from this ISO 8601 instant on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count the events of the user, by kind."""
    found = memory.context.events.usage(since=since)
    if as_json:
        print_json(found)
        return
    print_table(("kind", "events"), ((it.kind, it.events) for it in found), empty="There are no events.")


app.command("rebuild-jsonl")(rebuild_jsonl)


def _choose_timeline(memory: MemoryAccess, level: Level | None) -> Events:
    """Return the timeline of a level, or the default one."""
    return memory.context.events if level is None else memory.context.events.at(level)


def _print_events(events: list[Event], as_json: bool) -> None:
    """Print a list of events, newest last."""
    if as_json:
        print_json(events)
        return
    rows = ((it.event_id, it.ts[:19], it.kind, it.text or json.dumps(it.data, ensure_ascii=False)) for it in events)
    print_table(("id", "when", "kind", "what"), rows, empty="There are no events.")


def _read_json(name: str, text: str) -> Any:
    """Parse an option that holds JSON; `-` reads it from standard input."""
    try:
        return json.loads(read_text(text))
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} is not JSON.", hint="""Quote a text twice: '"like this"'.""") from None
