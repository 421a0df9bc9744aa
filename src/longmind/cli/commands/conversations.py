"""`longmind conversations`: list, show, continue and close conversations.

Messages are append-only: there is no command to change or remove one. `close` starts extraction, which a worker does
unless --work is given.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.text import Text

from longmind.cli.options import MemoryAccess, provide_known_memory, provide_memory
from longmind.cli.output import AsJson, print_cursor, print_json, print_line, print_table, read_text, stderr, stdout
from longmind.errors import NotFound
from longmind.models.content import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.models.conversation import Conversation, ConversationStatus
from longmind.models.message import Message

app = typer.Typer(help="Conversations and their messages.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="The id of the conversation.")]
Words = Annotated[str, typer.Argument(help="The text of the message; - reads it from standard input.")]
Key = Annotated[str | None, typer.Option("--key", help="An idempotency key; a repeated call with it appends nothing.")]
# Colours of the roles on a terminal.
_STYLES = {"user": "bold green", "assistant": "bold blue", "system": "yellow", "tool": "magenta"}


@app.command("list")
@provide_known_memory
def list_conversations(
    memory: MemoryAccess,
    namespace: Annotated[str | None, typer.Option(help="Only conversations of this namespace.")] = None,
    status: Annotated[ConversationStatus | None, typer.Option(help="Only open or closed conversations.")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of results.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    as_json: AsJson = False,
) -> None:
    """List conversations, newest first."""
    chat = memory.context.conversations
    found = chat.list_conversations(namespace=namespace, status=status, limit=limit, cursor=cursor)
    if as_json:
        print_json(found)
    else:
        print_table(
            ("id", "status", "messages", "namespace", "title"),
            ((it.id, it.status, it.message_count, it.namespace, it.title) for it in found),
            empty="There are no conversations.",
        )
    print_cursor(found.next_cursor, as_json)


@app.command("create")
@provide_memory
def create(
    memory: MemoryAccess,
    namespace: Annotated[str, typer.Argument(help="The kind of conversation, such as support-chat.")],
    title: Annotated[str | None, typer.Option(help="The title of the conversation.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a conversation and print its id."""
    conversation = memory.context.conversations.create_conversation(namespace, title=title)
    print_json(conversation) if as_json else print_line(conversation.id)


@app.command("show")
@provide_known_memory
def show(
    memory: MemoryAccess,
    conversation_id: Id,
    limit: Annotated[int, typer.Option(help="The number of recent messages.")] = 50,
    internal: Annotated[bool, typer.Option("--internal", help="Include messages that the user does not see.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a conversation and its recent messages."""
    conversation = _get_conversation(memory, conversation_id)
    messages = memory.context.conversations.get_messages(conversation_id, limit=limit, include_internal=internal)
    if as_json:
        dumped = [each.model_dump(mode="json") for each in messages]
        print_json({**conversation.model_dump(mode="json"), "messages": dumped})
        return
    title = f", {conversation.title}" if conversation.title else ""
    print_line(f"{conversation.namespace}, {conversation.status}, {conversation.message_count} messages{title}\n")
    for message in messages:
        stdout.print(_format_message(message), soft_wrap=True)


@app.command("append")
@provide_memory
def append(
    memory: MemoryAccess,
    conversation_id: Id,
    text: Words,
    role: Annotated[Literal["user", "assistant", "system"], typer.Option(help="The author of the message.")] = "user",
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Append one message."""
    chat, content = memory.context.conversations, read_text(text)
    match role:
        case "user":
            message = chat.append_user_message(conversation_id, content, idempotency_key=key)
        case "assistant":
            message = chat.append_assistant_turn(conversation_id, content)
        case "system":
            message = chat.append_system_message(conversation_id, content)
    print_json(message) if as_json else print_line(f"{message.id} is message {message.sequence}.")


@app.command("turn")
@provide_memory
def turn(
    memory: MemoryAccess,
    conversation_id: Id,
    said: Annotated[str, typer.Argument(help="The message of the user; - reads it from standard input.")],
    answered: Annotated[str, typer.Argument(help="The answer of the assistant.")],
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Append a message of the user and its answer, both or neither."""
    appended = memory.context.conversations.append_turn(
        conversation_id, user_content=read_text(said), assistant={"content": answered}, idempotency_key=key
    )
    numbers = f"{appended.user_message.sequence} and {appended.assistant_message.sequence}"
    print_json(appended) if as_json else print_line(f"Turn {appended.turn_id} has messages {numbers}.")


@app.command("close")
@provide_memory
def close(
    memory: MemoryAccess,
    conversation_id: Id,
    work: Annotated[bool, typer.Option("--work", help="Extract memory now instead of leaving it to a worker.")] = False,
    as_json: AsJson = False,
) -> None:
    """Close a conversation for good and extract memory from it."""
    closed = memory.context.conversations.close_conversation(conversation_id)
    if work:
        # All due jobs are run, not only those of this conversation.
        with stderr.status("extracting memory"):
            memory.engine.work()
    print_json(closed) if as_json else print_line(f"Closed {closed.id}.")


@app.command("summary")
@provide_memory
def summary(
    memory: MemoryAccess,
    conversation_id: Id,
    refresh: Annotated[bool, typer.Option("--refresh", help="Update the summary to the last turn first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the rolling summary of a conversation."""
    conversation = _get_conversation(memory, conversation_id)
    text, until = conversation.rolling_summary, conversation.rolling_summary_until_seq
    if refresh:
        with stderr.status("summarising"):
            made = memory.context.conversations.refresh_rolling_summary(conversation_id)
        text, until = made.rolling_summary, made.rolling_summary_until_seq
    if as_json:
        print_json({"rollingSummary": text, "rollingSummaryUntilSeq": until})
    else:
        print_line(text or "There is no summary yet. Use --refresh to make one.")


def _get_conversation(memory: MemoryAccess, conversation_id: str) -> Conversation:
    """Return a conversation, or raise NotFound."""
    conversation = memory.context.conversations.get_conversation(conversation_id)
    if conversation is None:
        raise NotFound("conversation", conversation_id)
    return conversation


def _format_message(message: Message) -> Text:
    """Return one line for a message: number, author, text and visibility."""
    note = "" if message.visibility == "user" else f" ({message.visibility})"
    head = (f"{message.sequence:>4}  ", (f"{message.role:<10}", _STYLES[message.role]))
    return Text.assemble(*head, " ".join(_format_block(each) for each in message.content), (note, "dim"))


def _format_block(block: object) -> str:
    """Return the text of a content block; blocks without text are described in brackets."""
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"[calls {block.name} with {block.arguments}]"
        case ToolResultBlock():
            return f"[result: {block.content}]"
        case ImageBlock():
            return "[an image]"
        case _:
            return ""
