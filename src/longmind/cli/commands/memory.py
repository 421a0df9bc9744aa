"""`longmind memory`: what is remembered, and changing it by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from longmind.cli.options import Opened, Space, opened
from longmind.cli.output import AsJson, Yes, answer, answer_json, answer_table, make_sure, more, text_given
from longmind.cli.render import tell_atom, tell_explanation, when
from longmind.errors import NotFound
from longmind.models.atom import AtomKind
from longmind.models.entity import EntityType

app = typer.Typer(help="What is remembered, and changing it by hand.", no_args_is_help=True)

AtomId = Annotated[str, typer.Argument(help="Which fact, by its id.")]
Words = Annotated[str, typer.Argument(help="The fact, as one sentence; - reads it from standard input.")]
Category = Annotated[str, typer.Option(help="The app's own word for what it is about.")]
Kind = Annotated[AtomKind, typer.Option(help="How it is treated.")]
Importance = Annotated[int, typer.Option(help="From 1 to 5.", min=1, max=5)]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A word to find it by; give it once for each.")]
ValidFrom = Annotated[str | None, typer.Option(help="Since when it is true, in ISO 8601; now by default.")]
ValidTo = Annotated[str | None, typer.Option(help="Until when it is true.")]
_MOST_ENTITIES = 1_000


@app.command("spaces")
@opened
def spaces(memory: Opened, as_json: AsJson = False) -> None:
    """Show the memory spaces of the user, and those that others share with them."""
    kept = memory.context.memory
    found = [*kept.list_memory_spaces(), *kept.list_shared_spaces()]
    if as_json:
        answer_json(found)
        return
    answer_table(
        ("id", "name", "kind", "facts", "owner"),
        ((it.id, it.name, it.kind, it.atom_count, it.user_id) for it in found),
        empty="There are no memory spaces yet: longmind memory create makes one.",
    )


@app.command("create")
@opened
def create(
    memory: Opened,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    kind: Annotated[Literal["user", "shared"], typer.Option(help="Whether others may be let read it.")] = "user",
    as_json: AsJson = False,
) -> None:
    """Make a memory space, or find the one of that name."""
    space = memory.context.memory.create_memory_space(name, kind=kind)
    answer_json(space) if as_json else answer(space.id)


@app.command("bind")
@opened
def bind(
    memory: Opened,
    namespace: Annotated[str, typer.Argument(help="The namespace of the conversations; * for all.")],
    space: Space = None,
    as_json: AsJson = False,
) -> None:
    """Have the user's conversations of a namespace made into memory from now on."""
    conversations = {"namespace": namespace, "userId": memory.context.scope.user_id}
    binding = memory.context.memory.create_binding(conversations, [memory.space(space).id])
    answer_json(binding) if as_json else answer(f"{binding.id}: conversations of {namespace} become memory.")


@app.command("add")
@opened
def add(
    memory: Opened,
    text: Words,
    space: Space = None,
    category: Category = "note",
    kind: Kind = "FACT",
    importance: Importance = 3,
    tag: Tags = None,
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    as_json: AsJson = False,
) -> None:
    """Remember a fact."""
    fact = _fact(text, category, kind, importance, tag, valid_from, valid_to)
    atom = memory.context.memory.add_atom(memory.space(space).id, fact)
    answer_json(atom) if as_json else answer(atom.id)


@app.command("list")
@opened
def list_atoms(
    memory: Opened,
    space: Space = None,
    category: Annotated[str | None, typer.Option(help="Only facts of this category.")] = None,
    status: Annotated[Literal["active", "archived", "all"], typer.Option(help="Which facts.")] = "active",
    valid_at: Annotated[str | None, typer.Option(help="What was true at this instant, in ISO 8601.")] = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the list before has ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show facts, newest first."""
    found = memory.context.memory.list_atoms(
        memory.space(space).id,
        category=category,
        status=_STATUS[status],
        valid_at=valid_at,
        limit=limit,
        cursor=cursor,
    )
    if as_json:
        answer_json(found)
    else:
        answer_table(
            ("id", "true", "fact"),
            ((it.id, when(it), it.text) for it in found),
            empty="Nothing is remembered here.",
        )
    more(found.next_cursor, as_json)


@app.command("show")
@opened
def show(memory: Opened, atom_id: AtomId, as_json: AsJson = False) -> None:
    """Show all there is to know of a fact: where it was said, when it is true, and what it has replaced."""
    atom = memory.context.memory.get_atom(atom_id)
    if atom is None:
        raise NotFound("atom", atom_id)
    answer_json(atom) if as_json else tell_atom(atom)


@app.command("supersede")
@opened
def supersede(
    memory: Opened,
    atom_id: AtomId,
    text: Words,
    category: Annotated[str | None, typer.Option(help="Its category; that of the old fact by default.")] = None,
    kind: Annotated[AtomKind | None, typer.Option(help="Its kind; that of the old fact by default.")] = None,
    importance: Importance = 3,
    tag: Tags = None,
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    as_json: AsJson = False,
) -> None:
    """Replace a fact that has changed. The old one is kept, and ends where the new one begins at the latest."""
    old = memory.context.memory.get_atom(atom_id)
    if old is None:
        raise NotFound("atom", atom_id)
    words = (category or old.category.name, kind or old.category.kind)
    fact = _fact(text, *words, importance, tag, valid_from, valid_to)
    atom = memory.context.memory.supersede_atom(atom_id, fact)
    answer_json(atom) if as_json else answer(f"{atom.id} takes the place of {atom_id}.")


@app.command("archive")
@opened
def archive(
    memory: Opened,
    atom_id: AtomId,
    rejected: Annotated[bool, typer.Option("--rejected", help="It is wrong: do not learn it again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a fact out of recall. It can still be listed."""
    memory.context.memory.archive_atom(atom_id, rejected=rejected)
    answer_json({"archived": atom_id}) if as_json else answer(f"{atom_id} is archived.")


@app.command("delete")
@opened
def delete(memory: Opened, atom_id: AtomId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a fact for good."""
    make_sure(f"Remove {atom_id} for good?", yes)
    memory.context.memory.delete_atom(atom_id)
    answer_json({"deleted": atom_id}) if as_json else answer(f"{atom_id} is gone.")


@app.command("entities")
@opened
def entities(
    memory: Opened,
    query: Annotated[str, typer.Argument(help="A name, or a part of one; without it, all of them.")] = "",
    space: Space = None,
    type: Annotated[EntityType | None, typer.Option(help="Only of this type.")] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1, max=_MOST_ENTITIES)] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the people, places and things that facts are about."""
    found = memory.context.memory.search_entities(memory.space(space).id, query, type=type, limit=limit)
    if as_json:
        answer_json(found)
        return
    answer_table(
        ("id", "type", "name", "also called", "facts"),
        ((it.id, it.type, it.canonical_name, ", ".join(it.aliases), it.atom_count) for it in found),
        empty="There are none.",
    )


@app.command("why-not")
@opened
def why_not(
    memory: Opened,
    atom_id: AtomId,
    query: Annotated[str, typer.Argument(help="What was asked.")],
    limit: Annotated[int, typer.Option(help="How many hits were asked for.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Tell why a question does not find a fact, or at which place it does."""
    why = memory.context.memory.why_not(atom_id, query, limit=limit)
    if as_json:
        answer_json(why)
        return
    answer(f"It is found, at place {why.rank}." if why.found else "It is not among the hits.")
    for reason in why.reasons:
        answer(f"- {reason}")
    if why.explanation is not None:
        tell_explanation(why.explanation)


_STATUS: dict[str, Any] = {"active": "ACTIVE", "archived": "ARCHIVED", "all": None}


def _fact(
    text: str,
    category: str,
    kind: AtomKind,
    importance: int,
    tags: list[str] | None,
    valid_from: str | None,
    valid_to: str | None,
) -> dict[str, Any]:
    return {
        "text": text_given(text).strip(),
        "category": {"name": category, "kind": kind},
        "importance": importance,
        "tags": tags or [],
        "validFrom": valid_from,
        "validTo": valid_to,
    }
