"""`longmind events`: the log of what happened, and writing to it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from longmind.cli.commands.rebuild_jsonl import rebuild_jsonl
from longmind.cli.options import Opened, opened
from longmind.cli.output import AsJson, answer, answer_json, answer_table, text_given
from longmind.errors import InvalidInput, NotFound
from longmind.events import Events
from longmind.models.event import Event
from longmind.models.event_search import SearchMode
from longmind.scope import Level

app = typer.Typer(help="The log of what happened.", no_args_is_help=True)

Whose = Annotated[
    Level | None, typer.Option("--level", help="Whose timeline; that of the session, or else the user's, by default.")
]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Only of this kind; may be repeated.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")]
Limit = Annotated[int, typer.Option(help="How many.")]


@app.command("record")
@opened
def record(
    memory: Opened,
    kind: Annotated[str, typer.Argument(help="What kind of event it is, such as deploy.done.")],
    text: Annotated[str | None, typer.Argument(help="It in words; - reads them from standard input.")] = None,
    data: Annotated[str | None, typer.Option(help="More of it, as a JSON object.")] = None,
    tag: Tags = None,
    severity: Annotated[int, typer.Option(help="How much it matters: 1, 2 or 3.", min=1, max=3)] = 2,
    stage: Annotated[str | None, typer.Option(help="At which stage of the work it happened.")] = None,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Record that something happened."""
    words = None if text is None else text_given(text)
    if words is None and data is None:
        raise InvalidInput("There is nothing to record.", hint="Give a text, or --data, or both.")
    details = {} if data is None else _read_json("--data", data)
    if not isinstance(details, dict):
        raise InvalidInput("--data is not a JSON object.", hint="""Write it like '{"version": 3}'.""")
    event = _timeline(memory, level).record(kind, details, tags=tag or None, severity=severity, stage=stage, text=words)
    answer_json(event) if as_json else answer(event.event_id)


@app.command("recent")
@opened
def recent(
    memory: Opened,
    kind: Kinds = None,
    tag: Tags = None,
    since: Annotated[str | None, typer.Option(help="From this instant on, in ISO 8601.")] = None,
    until: Annotated[str | None, typer.Option(help="Up to this instant.")] = None,
    limit: Limit = 20,
    offset: Annotated[int, typer.Option(help="How many newer ones to skip.")] = 0,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Show the last events, newest last."""
    found = _timeline(memory, level).recent_persisted(
        kinds=kind or None, tags=tag or None, since=since, until=until, limit=limit, offset=offset
    )
    _told(found, as_json)


@app.command("search")
@opened
def search(
    memory: Opened,
    query: Annotated[str | None, typer.Argument(help="What it is about; without it, the newest first.")] = None,
    kind: Kinds = None,
    tag: Tags = None,
    within: Annotated[str | None, typer.Option(help="Only of this time up to now: 90s, 15m, 12h or 7d.")] = None,
    mode: Annotated[SearchMode, typer.Option(help="By meaning, by words, by both, or by time alone.")] = "auto",
    limit: Limit = 20,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Find the events that something is about, best first."""
    found = _timeline(memory, level).search(
        query, kinds=kind or None, tags=tag or None, limit=limit, time_window=within, mode=mode
    )
    _told(found, as_json)


@app.command("show")
@opened
def show(
    memory: Opened, event_id: Annotated[str, typer.Argument(help="Which event.")], as_json: AsJson = False
) -> None:
    """Show all there is to know of an event."""
    event = memory.context.events.get_event(event_id)
    if event is None:
        raise NotFound("event", event_id)
    if as_json:
        answer_json(event)
        return
    for name, value in event.model_dump(exclude_none=True).items():
        answer(f"{name}: {value}")


@app.command("state")
@opened
def state(
    memory: Opened,
    key: Annotated[str, typer.Argument(help="What the value is called.")],
    value: Annotated[str | None, typer.Option("--set", help="What it is from now on, as JSON.")] = None,
    history: Annotated[bool, typer.Option("--history", help="All values it had, newest last.")] = False,
    limit: Limit = 20,
    level: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Show what a value is, or what it was, or say what it is from now on."""
    timeline = _timeline(memory, level)
    if value is not None:
        event = timeline.record_state(key, _read_json("--set", value))
        answer_json(event) if as_json else answer(event.event_id)
    elif history:
        _told(timeline.state_history(key, limit=limit, use_persistence=True), as_json)
    else:
        now = timeline.latest_state(key, use_persistence=True)
        answer_json({"key": key, "value": now}) if as_json else answer(json.dumps(now, ensure_ascii=False))


@app.command("usage")
@opened
def usage(
    memory: Opened,
    since: Annotated[str | None, typer.Option(help="From this instant on, in ISO 8601.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how many events the user has, by kind."""
    found = memory.context.events.usage(since=since)
    if as_json:
        answer_json(found)
        return
    answer_table(("kind", "events"), ((it.kind, it.events) for it in found), empty="Nothing has happened.")


app.command("rebuild-jsonl")(rebuild_jsonl)


def _timeline(memory: Opened, level: Level | None) -> Events:
    return memory.context.events if level is None else memory.context.events.at(level)


def _told(events: list[Event], as_json: bool) -> None:
    if as_json:
        answer_json(events)
        return
    rows = ((it.event_id, it.ts[:19], it.kind, it.text or json.dumps(it.data, ensure_ascii=False)) for it in events)
    answer_table(("id", "when", "kind", "what"), rows, empty="Nothing has happened.")


def _read_json(name: str, written: str) -> Any:
    try:
        return json.loads(text_given(written))
    except (ValueError, RecursionError):
        raise InvalidInput(
            f"{name} is not JSON.", hint="""A text is written '"like this"', with both quotes."""
        ) from None
