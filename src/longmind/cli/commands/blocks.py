"""`longmind blocks`: show, edit and restore the memory blocks of a user and of their agents.

A block is written by compare-and-set: `write` and `restore` name the version they replace with --expected, so that two
editors do not overwrite each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from longmind.cli.options import MemoryAccess, provide_known_memory, provide_memory
from longmind.cli.output import AsJson, Yes, confirm, print_json, print_line, print_table, read_text, stderr, write_text
from longmind.errors import BlockConflict, InvalidInput, NotFound
from longmind.models.block import Block, BlockScope, BlockType

app = typer.Typer(
    help="Memory blocks: core memory, in every prompt, and archival memory, which is searched.", no_args_is_help=True
)

Type = Annotated[BlockType, typer.Argument(help="The type of the block.")]
Whose = Annotated[BlockScope, typer.Option(help="The block for all agents of the user, or for --agent only.")]
Expected = Annotated[str | None, typer.Option(help="The updated_at of the version to replace; none for a new block.")]


@app.command("list")
@provide_known_memory
def list_blocks(memory: MemoryAccess, as_json: AsJson = False) -> None:
    """List all blocks of the user and of their agents."""
    found = memory.context.blocks.list()
    if as_json:
        print_json(found)
        return
    print_table(
        ("block", "scope", "agent", "lines", "characters", "updated_at"),
        ((it.block_type, it.scope, it.agent_id, len(it.entries), len(it.content), it.updated_at) for it in found),
        empty="There are no blocks.",
    )


@app.command("show")
@provide_known_memory
def show(memory: MemoryAccess, block_type: Type, scope: Whose = "user", as_json: AsJson = False) -> None:
    """Show the text of a block."""
    block = memory.context.blocks.get(block_type, agent_id=_choose_agent(memory, scope))
    if block is None:
        raise NotFound("memory block", block_type)
    if as_json:
        print_json(block)
        return
    write_text(block.content)
    # The version goes to standard error, so that the text can be piped into an editor and back.
    stderr.print(f"updated_at {block.updated_at}, version {block.version}", style="dim", highlight=False)


@app.command("write")
@provide_memory
def write_block(
    memory: MemoryAccess,
    block_type: Type,
    content: Annotated[str, typer.Argument(help="The new text; - reads it from standard input.")],
    expected: Expected = None,
    scope: Whose = "user",
    as_json: AsJson = False,
) -> None:
    """Replace the text of a block, unless it has changed since it was read."""
    with _explain_conflict():
        block = memory.context.blocks.update(
            block_type, read_text(content), expected, agent_id=_choose_agent(memory, scope)
        )
    _print_update(block, as_json)


@app.command("recall")
@provide_known_memory
def recall(
    memory: MemoryAccess,
    query: Annotated[str, typer.Argument(help="The topic to search for; all lines by default.")] = "",
    limit: Annotated[int, typer.Option(help="The maximum number of lines.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Search the archival blocks of the user and of --agent, best line first."""
    found = memory.context.blocks.recall(query, agent_id=memory.context.scope.agent_id, limit=limit)
    if as_json:
        print_json(found)
        return
    print_table(
        ("line", "scope", "score", "content"),
        ((it.line_number, it.scope, f"{it.score:.3f}", it.content) for it in found),
        empty="Archival memory has no line about this.",
    )


@app.command("history")
@provide_known_memory
def history(memory: MemoryAccess, block_type: Type, scope: Whose = "user", as_json: AsJson = False) -> None:
    """List earlier versions of a block, newest first."""
    found = memory.context.blocks.revisions(block_type, agent_id=_choose_agent(memory, scope))
    if as_json:
        print_json(found)
        return
    print_table(
        ("revision", "written by", "replaced", "shrunk", "content"),
        ((it.revision, it.written_by, it.replaced_at[:16], "yes" if it.shrunk else "", it.content) for it in found),
        empty="The block has no earlier version.",
    )


@app.command("restore")
@provide_memory
def restore(
    memory: MemoryAccess,
    block_type: Type,
    revision: Annotated[int, typer.Argument(help="The number of the version, from `history`.")],
    expected: Expected = None,
    scope: Whose = "user",
    as_json: AsJson = False,
) -> None:
    """Restore an earlier version of a block."""
    with _explain_conflict():
        block = memory.context.blocks.restore(block_type, revision, expected, agent_id=_choose_agent(memory, scope))
    _print_update(block, as_json)


@app.command("delete")
@provide_memory
def delete(
    memory: MemoryAccess, block_type: Type, scope: Whose = "user", yes: Yes = False, as_json: AsJson = False
) -> None:
    """Delete a block and all of its versions."""
    confirm(f"Delete the {block_type} block and its history for good?", yes)
    memory.context.blocks.delete(block_type, agent_id=_choose_agent(memory, scope))
    print_json({"deleted": block_type}) if as_json else print_line(f"Deleted the {block_type} block.")


@contextmanager
def _explain_conflict() -> Iterator[None]:
    """Replace the hint of a conflict by one that names the options of this command line.

    The service's own hint names parameters of Python.
    """
    try:
        yield
    except BlockConflict as conflict:
        now = conflict.current
        conflict.hint = (
            "Leave --expected out." if now is None else f"Read the block, and give --expected {now.updated_at}"
        )
        raise


def _print_update(block: Block, as_json: bool) -> None:
    """Print the new version of a block."""
    print_json(block) if as_json else print_line(f"Updated the {block.block_type} block at {block.updated_at}.")


def _choose_agent(memory: MemoryAccess, scope: BlockScope) -> str | None:
    """Return the agent whose block is meant, or None for the block of the user."""
    agent = memory.context.scope.agent_id
    if scope == "agent" and agent is None:
        raise InvalidInput("The scope 'agent' needs an agent.", hint="Give --agent, or set LONGMIND_AGENT.")
    return agent if scope == "agent" else None
