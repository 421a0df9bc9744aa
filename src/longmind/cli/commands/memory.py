"""`longmind memory`: list, add and correct facts, and manage spaces and bindings.

Facts that extraction learned and facts that are added here are the same: atoms with a category, a validity and sources.
Nothing is edited in place: `supersede` adds a new fact and ends the old one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from longmind.cli.memory_text import format_validity, print_atom, print_explanation
from longmind.cli.options import MemoryAccess, Space, provide_known_memory, provide_memory
from longmind.cli.output import AsJson, Yes, confirm, print_cursor, print_json, print_line, print_table, read_text
from longmind.errors import NotFound
from longmind.models.atom import AtomKind
from longmind.models.entity import EntityType

app = typer.Typer(help="Facts, memory spaces and bindings.", no_args_is_help=True)

AtomId = Annotated[str, typer.Argument(help="The id of the fact.")]
Words = Annotated[str, typer.Argument(help="The fact, as one sentence; - reads it from standard input.")]
Category = Annotated[str, typer.Option(help="A category that the app chooses.")]
Kind = Annotated[AtomKind, typer.Option(help="The kind of fact, which decides how it fades and is used.")]
Importance = Annotated[int, typer.Option(help="The importance, from 1 to 5.", min=1, max=5)]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")]
ValidFrom = Annotated[str | None, typer.Option(help="The ISO 8601 instant since when it is true; now by default.")]
ValidTo = Annotated[str | None, typer.Option(help="The instant until when it is true.")]
_MOST_ENTITIES = 1_000


@app.command("spaces")
@provide_known_memory
def spaces(memory: MemoryAccess, as_json: AsJson = False) -> None:
    """List the memory spaces of the user, and those that others share with them."""
    service = memory.context.memory
    found = [*service.list_memory_spaces(), *service.list_shared_spaces()]
    if as_json:
        print_json(found)
        return
    print_table(
        ("id", "name", "kind", "facts", "owner"),
        ((it.id, it.name, it.kind, it.atom_count, it.user_id) for it in found),
        empty="There are no memory spaces. Create one with: longmind memory create",
    )


@app.command("create")
@provide_memory
def create(
    memory: MemoryAccess,
    name: Annotated[str, typer.Argument(help="The name of the space.")],
    kind: Annotated[
        Literal["user", "shared"], typer.Option(help="Use shared to allow granting others read access.")
    ] = "user",
    as_json: AsJson = False,
) -> None:
    """Create a memory space, or find the one with that name."""
    space = memory.context.memory.create_memory_space(name, kind=kind)
    print_json(space) if as_json else print_line(space.id)


@app.command("bind")
@provide_memory
def bind(
    memory: MemoryAccess,
    namespace: Annotated[str, typer.Argument(help="The namespace of the conversations; * for all.")],
    space: Space = None,
    as_json: AsJson = False,
) -> None:
    """Extract memory from the user's conversations of a namespace from now on."""
    conversations = {"namespace": namespace, "userId": memory.context.scope.user_id}
    binding = memory.context.memory.create_binding(conversations, [memory.choose_space(space).id])
    print_json(binding) if as_json else print_line(f"{binding.id}: conversations of {namespace} become memory.")


@app.command("add")
@provide_memory
def add(
    memory: MemoryAccess,
    text: Words,
    space: Space = None,
    category: Category = "note",
    kind: Kind = "FACT",
    importance: Importance = 3,
    tag: Tags = None,
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    key: Annotated[str | None, typer.Option(help="Your name for the fact; another text under it replaces it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a fact, or reinforce it if it is known already."""
    fact = _make_fact(text, category, kind, importance, tag, valid_from, valid_to)
    atom = memory.context.memory.add_atom(memory.choose_space(space).id, fact, key=key)
    print_json(atom) if as_json else print_line(atom.id)


@app.command("list")
@provide_known_memory
def list_atoms(
    memory: MemoryAccess,
    space: Space = None,
    category: Annotated[str | None, typer.Option(help="Only facts of this category.")] = None,
    status: Annotated[Literal["active", "archived", "all"], typer.Option(help="The status of the facts.")] = "active",
    valid_at: Annotated[str | None, typer.Option(help="Only facts that were true at this ISO 8601 instant.")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of results.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    as_json: AsJson = False,
) -> None:
    """List facts, newest first."""
    found = memory.context.memory.list_atoms(
        memory.choose_space(space).id,
        category=category,
        status=_STATUS[status],
        valid_at=valid_at,
        limit=limit,
        cursor=cursor,
    )
    if as_json:
        print_json(found)
    else:
        print_table(
            ("id", "true", "fact"),
            ((it.id, format_validity(it), it.text) for it in found),
            empty="The space has no such facts.",
        )
    print_cursor(found.next_cursor, as_json)


@app.command("show")
@provide_known_memory
def show(memory: MemoryAccess, atom_id: AtomId, as_json: AsJson = False) -> None:
    """Show a fact with its source, its validity and its history."""
    atom = memory.context.memory.get_atom(atom_id)
    if atom is None:
        raise NotFound("atom", atom_id)
    print_json(atom) if as_json else print_atom(atom)


@app.command("supersede")
@provide_memory
def supersede(
    memory: MemoryAccess,
    atom_id: AtomId,
    text: Words,
    category: Annotated[str | None, typer.Option(help="The category; that of the old fact by default.")] = None,
    kind: Annotated[AtomKind | None, typer.Option(help="The kind; that of the old fact by default.")] = None,
    importance: Importance = 3,
    tag: Tags = None,
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    as_json: AsJson = False,
) -> None:
    """Replace a fact that has changed. The old one stays as history and ends when the new one begins."""
    old = memory.context.memory.get_atom(atom_id)
    if old is None:
        raise NotFound("atom", atom_id)
    # A new version usually keeps the category and the kind of the old one.
    category_and_kind = (category or old.category.name, kind or old.category.kind)
    fact = _make_fact(text, *category_and_kind, importance, tag, valid_from, valid_to)
    atom = memory.context.memory.supersede_atom(atom_id, fact)
    print_json(atom) if as_json else print_line(f"{atom.id} replaces {atom_id}.")


@app.command("archive")
@provide_memory
def archive(
    memory: MemoryAccess,
    atom_id: AtomId,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="The fact is wrong and must not be learned again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a fact from recall; it can still be listed."""
    memory.context.memory.archive_atom(atom_id, rejected=rejected)
    print_json({"archived": atom_id}) if as_json else print_line(f"Archived {atom_id}.")


@app.command("decisions")
@provide_known_memory
def list_decisions(
    memory: MemoryAccess,
    space: Space = None,
    fact: Annotated[str | None, typer.Option(help="Only decisions about the fact with this id.")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of results.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    as_json: AsJson = False,
) -> None:
    """List what extraction has changed, newest first, and why."""
    found = memory.context.memory.list_decisions(
        memory.choose_space(space).id, atom_id=fact, limit=limit, cursor=cursor
    )
    if as_json:
        print_json(found)
    else:
        print_table(
            ("id", "decided", "action", "fact", "because"),
            (
                (
                    it.id,
                    it.decided_at[:19],
                    f"{it.action}, undone" if it.undone_by else it.action,
                    it.atom_id,
                    it.because,
                )
                for it in found
            ),
            empty="Extraction has changed nothing there.",
        )
    print_cursor(found.next_cursor, as_json)


@app.command("undo")
@provide_memory
def undo(
    memory: MemoryAccess,
    decision_id: Annotated[str, typer.Argument(help="The id of the decision.")],
    take_back: Annotated[
        bool, typer.Option("--take-back", help="Also archive the new fact of a decision that has replaced another.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Undo a decision of extraction: what it has changed is as it was before."""
    undone = memory.context.memory.undo_decision(decision_id, take_back=take_back)
    print_json(undone) if as_json else print_line(f"Undid {decision_id} with {undone.id}.")


@app.command("delete")
@provide_memory
def delete(memory: MemoryAccess, atom_id: AtomId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a fact for good."""
    # A question about nothing would be a waste of an answer.
    if memory.context.memory.get_atom(atom_id) is None:
        raise NotFound("atom", atom_id)
    confirm(f"Delete {atom_id} for good?", yes)
    memory.context.memory.delete_atom(atom_id)
    print_json({"deleted": atom_id}) if as_json else print_line(f"Deleted {atom_id}.")


@app.command("entities")
@provide_known_memory
def entities(
    memory: MemoryAccess,
    query: Annotated[str, typer.Argument(help="A name or a part of one; all entities by default.")] = "",
    space: Space = None,
    type: Annotated[EntityType | None, typer.Option(help="Only entities of this type.")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of results.", min=1, max=_MOST_ENTITIES)] = 50,
    as_json: AsJson = False,
) -> None:
    """List the people, places and things that facts mention."""
    found = memory.context.memory.search_entities(memory.choose_space(space).id, query, type=type, limit=limit)
    if as_json:
        print_json(found)
        return
    print_table(
        ("id", "type", "name", "also called", "facts"),
        ((it.id, it.type, it.canonical_name, ", ".join(it.aliases), it.atom_count) for it in found),
        empty="There are no entities.",
    )


@app.command("why-not")
@provide_known_memory
def explain_absence(
    memory: MemoryAccess,
    atom_id: AtomId,
    query: Annotated[str, typer.Argument(help="The question.")],
    limit: Annotated[int, typer.Option(help="The number of hits of the recall.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Explain why a question does not find a fact, or at which rank it does."""
    why = memory.context.memory.why_not(atom_id, query, limit=limit)
    if as_json:
        print_json(why)
        return
    print_line(f"It is hit number {why.rank}." if why.found else "It is not among the hits.")
    for reason in why.reasons:
        print_line(f"- {reason}")
    if why.explanation is not None:
        print_explanation(why.explanation)


@app.command("profile")
@provide_known_memory
def profile(
    memory: MemoryAccess,
    space: Space = None,
    entity: Annotated[str | None, typer.Option(help="The id of an entity to describe in place of the user.")] = None,
    known_at: Annotated[str | None, typer.Option(help="Use only what was recorded by this ISO 8601 instant.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is stable about the user in at most 150 tokens, as prompts get it."""
    found = memory.context.memory.get_profile(memory.choose_space(space).id, entity_id=entity, known_at=known_at)
    print_json(found) if as_json else print_line(found.text or "Nothing stable is known.")


# The statuses of the option, in the words of the operation; None means all.
_STATUS: dict[str, Any] = {"active": "ACTIVE", "archived": "ARCHIVED", "all": None}


def _make_fact(
    text: str,
    category: str,
    kind: AtomKind,
    importance: int,
    tags: list[str] | None,
    valid_from: str | None,
    valid_to: str | None,
) -> dict[str, Any]:
    """Return a new atom in the form that the operations take."""
    return {
        "text": read_text(text).strip(),
        "category": {"name": category, "kind": kind},
        "importance": importance,
        "tags": tags or [],
        "validFrom": valid_from,
        "validTo": valid_to,
    }
