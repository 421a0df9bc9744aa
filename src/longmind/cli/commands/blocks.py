"""`longmind blocks`: the short documents that a user's prompts begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from longmind.cli.options import Opened, opened
from longmind.cli.output import AsJson, Yes, answer, answer_json, answer_table, make_sure, problems, text_given, write
from longmind.errors import BlockConflict, InvalidInput, NotFound
from longmind.models.block import Block, BlockScope, BlockType

app = typer.Typer(help="Memory blocks: short documents that are in every prompt, or searched.", no_args_is_help=True)

Type = Annotated[BlockType, typer.Argument(help="Which block.")]
Whose = Annotated[BlockScope, typer.Option(help="The user's for all agents, or that of --agent alone.")]
Expected = Annotated[str | None, typer.Option(help="The updated_at last read; left out, the block must be new.")]


@app.command("list")
@opened
def list_blocks(memory: Opened, as_json: AsJson = False) -> None:
    """Show all blocks of the user and of their agents."""
    found = memory.context.blocks.list()
    if as_json:
        answer_json(found)
        return
    answer_table(
        ("block", "scope", "agent", "lines", "characters", "updated_at"),
        ((it.block_type, it.scope, it.agent_id, len(it.entries), len(it.content), it.updated_at) for it in found),
        empty="There are no blocks.",
    )


@app.command("show")
@opened
def show(memory: Opened, block_type: Type, scope: Whose = "user", as_json: AsJson = False) -> None:
    """Show what a block holds."""
    block = memory.context.blocks.get(block_type, agent_id=_agent(memory, scope))
    if block is None:
        raise NotFound("memory block", block_type)
    if as_json:
        answer_json(block)
        return
    write(block.content)
    problems.print(f"updated_at {block.updated_at}, version {block.version}", style="dim", highlight=False)


@app.command("write")
@opened
def write_block(
    memory: Opened,
    block_type: Type,
    content: Annotated[str, typer.Argument(help="The whole new text; - reads it from standard input.")],
    expected: Expected = None,
    scope: Whose = "user",
    as_json: AsJson = False,
) -> None:
    """Replace a block as a whole, unless somebody else has written it since it was read."""
    with _conflict_told():
        block = memory.context.blocks.update(block_type, text_given(content), expected, agent_id=_agent(memory, scope))
    _written(block, as_json)


@app.command("recall")
@opened
def recall(
    memory: Opened,
    query: Annotated[str, typer.Argument(help="What to look for; without it, all lines.")] = "",
    limit: Annotated[int, typer.Option(help="How many lines.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Find lines of the archival blocks of the user and of --agent, best first."""
    found = memory.context.blocks.recall(query, agent_id=memory.context.scope.agent_id, limit=limit)
    if as_json:
        answer_json(found)
        return
    answer_table(
        ("line", "scope", "score", "content"),
        ((it.line_number, it.scope, f"{it.score:.3f}", it.content) for it in found),
        empty="Nothing in archival memory is about this.",
    )


@app.command("history")
@opened
def history(memory: Opened, block_type: Type, scope: Whose = "user", as_json: AsJson = False) -> None:
    """Show what a block held before, newest first."""
    found = memory.context.blocks.revisions(block_type, agent_id=_agent(memory, scope))
    if as_json:
        answer_json(found)
        return
    answer_table(
        ("revision", "written by", "replaced", "shrunk", "content"),
        ((it.revision, it.written_by, it.replaced_at[:16], "yes" if it.shrunk else "", it.content) for it in found),
        empty="It has not been replaced yet.",
    )


@app.command("restore")
@opened
def restore(
    memory: Opened,
    block_type: Type,
    revision: Annotated[int, typer.Argument(help="Which of its revisions.")],
    expected: Expected = None,
    scope: Whose = "user",
    as_json: AsJson = False,
) -> None:
    """Write what a block held before once more."""
    with _conflict_told():
        block = memory.context.blocks.restore(block_type, revision, expected, agent_id=_agent(memory, scope))
    _written(block, as_json)


@app.command("delete")
@opened
def delete(memory: Opened, block_type: Type, scope: Whose = "user", yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a block and all that it held before."""
    make_sure(f"Delete the {block_type} block and its history for good?", yes)
    memory.context.blocks.delete(block_type, agent_id=_agent(memory, scope))
    answer_json({"deleted": block_type}) if as_json else answer(f"The {block_type} block is gone.")


@contextmanager
def _conflict_told() -> Iterator[None]:
    """What to do about a conflict, in the words of this command line."""
    try:
        yield
    except BlockConflict as conflict:
        now = conflict.current
        conflict.hint = "Leave --expected out." if now is None else f"Look at it, and give --expected {now.updated_at}"
        raise


def _written(block: Block, as_json: bool) -> None:
    answer_json(block) if as_json else answer(f"The {block.block_type} block was updated at {block.updated_at}.")


def _agent(memory: Opened, scope: BlockScope) -> str | None:
    agent = memory.context.scope.agent_id
    if scope == "agent" and agent is None:
        raise InvalidInput("Whose agent's block it is was not said.", hint="Give --agent, or set LONGMIND_AGENT.")
    return agent if scope == "agent" else None
