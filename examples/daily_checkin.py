"""A chatbot with memory: what is said in one check-in is known in the next, and where it was learned.

It runs offline, with a stand-in for the language model that repeats what it was told to remember. Name a real one to
talk to it, with its key in the environment:

    python examples/daily_checkin.py --model anthropic:claude-sonnet-4-5
"""

from __future__ import annotations

import argparse
import re
import tempfile
from datetime import date

import longmind
from longmind import WorkingContext
from longmind.providers.language_model import LanguageModel, ModelRequest
from longmind.providers.testing import ScriptedModel

NAMESPACE = "daily-checkin"
ALWAYS_ON = ["identity", "preference", "goal"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Two check-ins of a user whose second one knows the first.")
    parser.add_argument("--url", help="the database to use; a temporary SQLite file by default")
    parser.add_argument("--model", help="vendor:model, for example openai:gpt-5-mini; a stand-in by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or f"sqlite:///{folder}/memory.db"
        model = arguments.model or ScriptedModel(stand_in, name="offline:stand-in")
        with longmind.open(url) as engine:
            ctx = engine.context(tenant_id="acme", app_id="coach", user_id="ada")
            check_in_twice(engine, ctx, model)


def check_in_twice(engine: longmind.Engine, ctx: longmind.Context, model: str | LanguageModel) -> None:
    # Once per app or user: check-ins are remembered in the space "checkin".
    space = ctx.memory.create_memory_space("checkin")
    ctx.memory.create_binding({"namespace": NAMESPACE, "userId": "ada"}, [space.id])

    for words in (
        "Hi, I'm Ada. I prefer meetings on Tuesday mornings.",
        "My goal is to run the Oslo marathon. My sister Anna will run it with me.",
    ):
        _, reply = daily_check_in(ctx, model, words)
        print(f"Ada: {words}\nAssistant: {reply}\n")
    for conversation in ctx.conversations.list_conversations(namespace=NAMESPACE, status="open"):
        ctx.conversations.close_conversation(conversation.id)
    engine.work()  # a service has workers that do this by themselves

    words = "When should we meet, and who runs with me?"
    context, reply = daily_check_in(ctx, model, words)
    print(f"--- another day ---\n\nAda: {words}\nAssistant: {reply}\n")
    print("Facts in the prompt, each with its source:")
    # What is said again in another check-in has its evidence in both.
    said = {
        message.id: f"message {message.sequence} of {conversation.id}"
        for conversation in ctx.conversations.list_conversations(namespace=NAMESPACE)
        for message in ctx.conversations.get_messages(conversation.id, limit=1_000)
    }
    for atom in context.atoms_used:
        print(f"- {atom.text} [{', '.join(said[each] for each in atom.source_message_ids)}]")


def daily_check_in(ctx: longmind.Context, model: str | LanguageModel, user_message: str) -> tuple[WorkingContext, str]:
    """One message of the user and the answer to it: what a web application would do for each request."""
    chat = ctx.conversations
    open_ones = chat.list_conversations(namespace=NAMESPACE, status="open")
    conversation = (
        open_ones[0]
        if open_ones
        else chat.create_conversation(NAMESPACE, title="Daily check-in", metadata={"date": date.today().isoformat()})
    )
    space = ctx.memory.create_memory_space("checkin")  # the one of that name
    context = ctx.working_context.build_working_context(
        conversation.id,
        memory_space_id=space.id,
        recall_query=user_message,
        recent_turns=8,
        recall_limit=6,
        always_on_category_names=ALWAYS_ON,
    )
    outcome = chat.run_turn(
        conversation.id, model=model, user_text=user_message, options={"system_prompt": context.context_block}
    )
    if outcome.status == "error":
        raise SystemExit(f"The model returned no answer: {outcome.error}")
    return context, "\n".join(message.text for message in outcome.appended_messages if message.role == "assistant")


def stand_in(request: ModelRequest) -> str:
    """Repeats what it was given to remember, so that memory can be seen at work without a model."""
    remembered = re.findall(r"^- \[\d+\] (.*?)(?: \(|$)", request.system or "", re.MULTILINE)
    return "I remember: " + " ".join(remembered) if remembered else "Noted."


if __name__ == "__main__":
    main()
