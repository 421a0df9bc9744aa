"""`longmind conversations`: what was said, going on with it, and closing it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.text import Text

from longmind.cli.options import Opened, opened
from longmind.cli.output import AsJson, answer, answer_json, answer_table, answers, more, problems, text_given
from longmind.errors import NotFound
from longmind.models.content import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.models.conversation import Conversation, ConversationStatus
from longmind.models.message import Message

app = typer.Typer(help="Conversations: what was said, and by whom.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="Which conversation.")]
Words = Annotated[str, typer.Argument(help="What is said; - reads it from standard input.")]
Key = Annotated[str | None, typer.Option("--key", help="An idempotency key: repeated, it appends nothing new.")]
_STYLES = {"user": "bold green", "assistant": "bold blue", "system": "yellow", "tool": "magenta"}


@app.command("list")
@opened
def list_conversations(
    memory: Opened,
    namespace: Annotated[str | None, typer.Option(help="Only those of this namespace.")] = None,
    status: Annotated[ConversationStatus | None, typer.Option(help="Only open or closed ones.")] = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the list before has ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show conversations, newest first."""
    chat = memory.context.conversations
    found = chat.list_conversations(namespace=namespace, status=status, limit=limit, cursor=cursor)
    if as_json:
        answer_json(found)
    else:
        answer_table(
            ("id", "status", "messages", "namespace", "title"),
            ((it.id, it.status, it.message_count, it.namespace, it.title) for it in found),
            empty="There are no conversations.",
        )
    more(found.next_cursor, as_json)


@app.command("create")
@opened
def create(
    memory: Opened,
    namespace: Annotated[str, typer.Argument(help="What kind of conversation it is, such as support-chat.")],
    title: Annotated[str | None, typer.Option(help="A title.")] = None,
    as_json: AsJson = False,
) -> None:
    """Begin a conversation, and tell its id."""
    conversation = memory.context.conversations.create_conversation(namespace, title=title)
    answer_json(conversation) if as_json else answer(conversation.id)


@app.command("show")
@opened
def show(
    memory: Opened,
    conversation_id: Id,
    limit: Annotated[int, typer.Option(help="How many of the last messages.")] = 50,
    internal: Annotated[bool, typer.Option("--internal", help="Also what the user does not see.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a conversation and its last messages."""
    conversation = _found(memory, conversation_id)
    messages = memory.context.conversations.get_messages(conversation_id, limit=limit, include_internal=internal)
    if as_json:
        told = [each.model_dump(mode="json") for each in messages]
        answer_json({**conversation.model_dump(mode="json"), "messages": told})
        return
    title = f", {conversation.title}" if conversation.title else ""
    answer(f"{conversation.namespace}, {conversation.status}, {conversation.message_count} messages{title}\n")
    for message in messages:
        answers.print(_line(message), soft_wrap=True)


@app.command("append")
@opened
def append(
    memory: Opened,
    conversation_id: Id,
    text: Words,
    role: Annotated[Literal["user", "assistant", "system"], typer.Option(help="Who says it.")] = "user",
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Append one message."""
    chat, said = memory.context.conversations, text_given(text)
    match role:
        case "user":
            message = chat.append_user_message(conversation_id, said, idempotency_key=key)
        case "assistant":
            message = chat.append_assistant_turn(conversation_id, said)
        case "system":
            message = chat.append_system_message(conversation_id, said)
    answer_json(message) if as_json else answer(f"{message.id} is number {message.sequence}.")


@app.command("turn")
@opened
def turn(
    memory: Opened,
    conversation_id: Id,
    said: Annotated[str, typer.Argument(help="What the user says; - reads it from standard input.")],
    answered: Annotated[str, typer.Argument(help="What the assistant answers.")],
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Append what the user said and what was answered, both or neither."""
    kept = memory.context.conversations.append_turn(
        conversation_id, user_content=text_given(said), assistant={"content": answered}, idempotency_key=key
    )
    numbers = f"{kept.user_message.sequence} and {kept.assistant_message.sequence}"
    answer_json(kept) if as_json else answer(f"The turn {kept.turn_id} has the messages {numbers}.")


@app.command("close")
@opened
def close(
    memory: Opened,
    conversation_id: Id,
    work: Annotated[
        bool, typer.Option("--work", help="Learn from it now, instead of leaving that to a worker.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Close a conversation for good; what can be learned from it is."""
    closed = memory.context.conversations.close_conversation(conversation_id)
    if work:
        with problems.status("learning from what was said"):
            memory.engine.work()
    answer_json(closed) if as_json else answer(f"{closed.id} is closed.")


@app.command("summary")
@opened
def summary(
    memory: Opened,
    conversation_id: Id,
    refresh: Annotated[bool, typer.Option("--refresh", help="Bring it up to the last turn first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the summary of what was said so far."""
    conversation = _found(memory, conversation_id)
    text, until = conversation.rolling_summary, conversation.rolling_summary_until_seq
    if refresh:
        with problems.status("summarising"):
            made = memory.context.conversations.refresh_rolling_summary(conversation_id)
        text, until = made.rolling_summary, made.rolling_summary_until_seq
    if as_json:
        answer_json({"rollingSummary": text, "rollingSummaryUntilSeq": until})
    else:
        answer(text or "There is no summary yet: --refresh makes one.")


def _found(memory: Opened, conversation_id: str) -> Conversation:
    conversation = memory.context.conversations.get_conversation(conversation_id)
    if conversation is None:
        raise NotFound("conversation", conversation_id)
    return conversation


def _line(message: Message) -> Text:
    seen = "" if message.visibility == "user" else f" ({message.visibility})"
    head = (f"{message.sequence:>4}  ", (f"{message.role:<10}", _STYLES[message.role]))
    return Text.assemble(*head, " ".join(_words(each) for each in message.content), (seen, "dim"))


def _words(block: object) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"[calls {block.name} with {block.arguments}]"
        case ToolResultBlock():
            return f"[answers {block.content}]"
        case ImageBlock():
            return "[an image]"
        case _:
            return ""
