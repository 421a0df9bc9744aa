"""`longmind recall`: recall facts by topic, by entity, or over time.

All three print the same list of hits: each with its score, its validity and the message that it was learned from. By
topic, quotes from conversations follow.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from longmind.cli.memory_text import print_recall
from longmind.cli.options import MemoryAccess, Space, provide_known_memory
from longmind.cli.output import AsJson, print_json, report_progress
from longmind.models.atom import AtomKind
from longmind.models.recall import Effort, Recall


class TopicByDefault(TyperGroup):
    """A group that takes arguments which name none of its commands for those of `topic`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `topic` before the arguments, unless they begin with a command or ask for help."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            meant = get_close_matches(args[0], self.commands, cutoff=0.8)
            if meant and len(args) == 1:
                report_progress(f"Searched for {args[0]!r} as a topic. For the command: longmind recall {meant[0]}")
            args = ["topic", *args]
        return list(super().parse_args(ctx, args))


app = typer.Typer(
    cls=TopicByDefault,
    help='Recall facts by topic, by entity, or over time; `longmind recall "…"` is by topic.',
    no_args_is_help=True,
)

Categories = Annotated[
    list[str] | None, typer.Option("--category", help="Only facts of this category; may be repeated.")
]
ValidAt = Annotated[str | None, typer.Option(help="Facts that were true at this ISO 8601 instant instead of now.")]
KnownAt = Annotated[str | None, typer.Option(help="Only facts that were recorded by this instant.")]
MinScore = Annotated[float | None, typer.Option(help="The least score, from 0 to 1; without it weak hits are marked.")]


@app.command("topic")
@provide_known_memory
def topic(
    memory: MemoryAccess,
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="A few words, or a question.")],
    space: Space = None,
    limit: Annotated[int, typer.Option(help="The maximum number of hits.")] = 10,
    category: Categories = None,
    kind: Annotated[AtomKind | None, typer.Option(help="Only facts of this kind.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only facts with this tag; may be repeated.")] = None,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    min_score: MinScore = None,
    effort: Annotated[Effort, typer.Option(help="high searches longer for better results.")] = "normal",
    exhaustive: Annotated[
        bool | None,
        typer.Option(
            "--all/--limited", help="Everything relevant, or never beyond the limit; by default the query decides."
        ),
    ] = None,
    passages: Annotated[bool, typer.Option("--passages/--no-passages", help="Show quotes from conversations.")] = True,
    explain: Annotated[bool, typer.Option("--explain", help="Show the reasons for each score.")] = False,
    as_json: AsJson = False,
) -> None:
    """Recall facts and quotes about a topic, best first."""
    found = memory.context.memory.recall_by_topic(
        memory.choose_space(space).id,
        # Words without quotation marks around them are one question.
        " ".join(words),
        limit=limit,
        category_names=category or None,
        kinds=None if kind is None else [kind],
        tags=tag or None,
        valid_at=valid_at,
        known_at=known_at,
        min_score=min_score,
        effort=effort,
        exhaustive=exhaustive,
        passages=passages,
        explain=explain,
    )
    _print(found, as_json)


@app.command("entity")
@provide_known_memory
def entity(
    memory: MemoryAccess,
    name: Annotated[str, typer.Argument(help="The name or id of the entity.")],
    space: Space = None,
    limit: Annotated[int, typer.Option(help="The maximum number of hits.")] = 20,
    category: Categories = None,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    min_score: MinScore = None,
    as_json: AsJson = False,
) -> None:
    """Recall facts that mention an entity, newest first."""
    found = memory.context.memory.recall_by_entity(
        memory.choose_space(space).id,
        name,
        limit=limit,
        category_names=category or None,
        valid_at=valid_at,
        known_at=known_at,
        min_score=min_score,
    )
    _print(found, as_json)


@app.command("timeline")
@provide_known_memory
def timeline(
    memory: MemoryAccess,
    space: Space = None,
    entity: Annotated[str | None, typer.Option(help="Only facts that mention this entity, by name or id.")] = None,
    query: Annotated[str | None, typer.Option(help="Only facts about this topic.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Only from this ISO 8601 instant on.")] = None,
    to: Annotated[str | None, typer.Option(help="Only up to this instant.")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of hits.")] = 50,
    current: Annotated[bool, typer.Option("--current", help="Leave out superseded facts.")] = False,
    known_at: KnownAt = None,
    min_score: MinScore = None,
    as_json: AsJson = False,
) -> None:
    """Show how facts changed, oldest first."""
    found = memory.context.memory.recall_timeline(
        memory.choose_space(space).id,
        entity_id_or_name=entity,
        query=query,
        from_=from_,
        to=to,
        limit=limit,
        include_superseded=not current,
        known_at=known_at,
        min_score=min_score,
    )
    _print(found, as_json)


def _print(found: Recall, as_json: bool) -> None:
    """Print the hits and quotes of a recall."""
    print_json(found) if as_json else print_recall(found)
