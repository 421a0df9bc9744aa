"""`longmind add`: remember what was said, and show what was learned from it.

The words are stored as a conversation and read at once, as `longmind.Memory` does in Python. `longmind memory add`
stores one fact as it is instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from longmind.cli.options import Agent, App, Session, Space, Tenant, Url, User
from longmind.cli.output import AsJson, print_json, print_line, read_text, stderr, stdout
from longmind.cli.typing_mistakes import find_address
from longmind.errors import InvalidInput
from longmind.front_door.memory import Memory
from longmind.front_door.memory_results import Added
from longmind.memory.space_lookup import find_space
from longmind.settings import load_caller

_SHAPE = 'It should have messages such as [{"role": "user", "content": "…"}].'


def add(
    words: Annotated[
        list[str] | None, typer.Argument(help="What the user said; - reads it from standard input.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A .json or .jsonl file of messages, or any other of text.", exists=True, dir_okay=False),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="The id of the conversation to go on with; a new one by default.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="The ISO 8601 instant at which it was said; now by default.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Your name for one fact, which is stored as it is and replaces the former one.")
    ] = None,
    space: Space = None,
    tenant: Tenant = None,
    app: App = None,
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Remember what was said, learn from it, and show what was learned and what it replaced."""
    # Read before the database is opened: the most common mistakes are in what is given.
    content = _read_content(words or [], file)
    caller = load_caller({"tenant": tenant, "app": app, "user": user, "agent": agent, "session": session})
    whose: dict[str, Any] = {
        "user": caller.user,
        "url": find_address(url),
        "tenant": caller.tenant,
        "app": caller.app,
        "agent": caller.agent,
        "session": caller.session,
    }
    with Memory(**whose) as memory:
        # A space that does not exist was mistyped; the memory would create it.
        chosen = None if space is None else find_space(memory.ctx.memory, space).id
        with Memory(**whose, space=chosen) as target, stderr.status("reading"):
            added = target.add(content, conversation=conversation, at=at, key=key)
    print_json(added) if as_json else _print_added(added)


def _read_content(words: list[str], file: Path | None) -> Any:
    """Return a text, or messages as a file has them."""
    if (not words) == (file is None):
        given = "Nothing to remember is given." if file is None else "Both a text and --file are given."
        raise InvalidInput(given, hint='Write longmind add "I live in Vienna.", or longmind add --file chat.json')
    if file is None:
        # Words without quotation marks around them are one text.
        return read_text(" ".join(words)).strip()
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8.", hint="Save it as UTF-8.") from None
    if file.suffix not in (".json", ".jsonl"):
        return text.strip()
    try:
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is not JSON: {error}.", hint=_SHAPE) from None
    # A request to a model has its messages in a field of that name.
    return content["messages"] if isinstance(content, dict) and "messages" in content else content


def _print_added(added: Added) -> None:
    """Print what was learned, known and replaced; nothing learned is said too."""
    for title, facts in (("Learned", added.learned), ("Known already", added.confirmed)):
        if facts:
            stdout.print(Text(f"{title}:", "bold"))
        for fact in facts:
            stdout.print(Text.assemble(f"  {fact.text}", (f"  {fact.id}", "dim")), soft_wrap=True)
    for each in added.replaced:
        successor = "It has ended" if each.by is None else f"Now: {each.by.text}"
        print_line(f"No longer: {each.fact.text} {successor}")
    if not (added.learned or added.confirmed or added.replaced):
        print_line("Stored. No fact was learned from it; a search finds it as a quote.")
