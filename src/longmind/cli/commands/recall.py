"""`longmind recall`: the three ways to find memory again."""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.options import Opened, Space, opened
from longmind.cli.output import AsJson, answer_json
from longmind.cli.render import tell_recall
from longmind.models.atom import AtomKind
from longmind.models.recall import Recall

app = typer.Typer(help="Find what is remembered: by topic, by entity, or over time.", no_args_is_help=True)

Categories = Annotated[list[str] | None, typer.Option("--category", help="Only of this category; may be repeated.")]
ValidAt = Annotated[str | None, typer.Option(help="What was true at this instant, in ISO 8601, instead of now.")]
KnownAt = Annotated[str | None, typer.Option(help="What had been recorded by this instant.")]


@app.command("topic")
@opened
def topic(
    memory: Opened,
    query: Annotated[str, typer.Argument(help="What to look for: a few words, or a question.")],
    space: Space = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 10,
    category: Categories = None,
    kind: Annotated[AtomKind | None, typer.Option(help="Only of this kind.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; may be repeated.")] = None,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each hit came to its score.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find what is known about a topic, best first."""
    found = memory.context.memory.recall_by_topic(
        memory.space(space).id,
        query,
        limit=limit,
        category_names=category or None,
        kinds=None if kind is None else [kind],
        tags=tag or None,
        valid_at=valid_at,
        known_at=known_at,
        explain=explain,
    )
    _told(found, as_json)


@app.command("entity")
@opened
def entity(
    memory: Opened,
    name: Annotated[str, typer.Argument(help="A name, or the id of an entity.")],
    space: Space = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 20,
    category: Categories = None,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Find all that mentions somebody or something, newest first."""
    found = memory.context.memory.recall_by_entity(
        memory.space(space).id,
        name,
        limit=limit,
        category_names=category or None,
        valid_at=valid_at,
        known_at=known_at,
    )
    _told(found, as_json)


@app.command("timeline")
@opened
def timeline(
    memory: Opened,
    space: Space = None,
    entity: Annotated[str | None, typer.Option(help="Of this entity, by name or id.")] = None,
    query: Annotated[str | None, typer.Option(help="About this.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="From this instant on, in ISO 8601.")] = None,
    to: Annotated[str | None, typer.Option(help="Up to this instant.")] = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 50,
    current: Annotated[bool, typer.Option("--current", help="Without what was superseded.")] = False,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Show how things have changed, oldest first."""
    found = memory.context.memory.recall_timeline(
        memory.space(space).id,
        entity_id_or_name=entity,
        query=query,
        from_=from_,
        to=to,
        limit=limit,
        include_superseded=not current,
        known_at=known_at,
    )
    _told(found, as_json)


def _told(found: Recall, as_json: bool) -> None:
    answer_json(found) if as_json else tell_recall(found)
