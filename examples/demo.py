"""The demonstration behind `./dev demo`: a conversation is kept, found again by another process, and guarded.

It needs no key, no network and no server. It works in a temporary SQLite file and removes it; with --url it works in
the database you name, and what it writes stays there, under a tenant of its own.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable

import recollect

APP = "demo"
QUESTION = "Where is the refund for order 1042?"


class Report:
    """Prints what happens, and remembers whether all of it was as it should be."""

    def __init__(self) -> None:
        self.failures = 0
        self._steps = 0

    def step(self, title: str) -> None:
        self._steps += 1
        print(f"\n{self._steps}. {title}\n")

    def check(self, sentence: str, holds: bool) -> None:
        self.failures += not holds
        print(f"   {'[ok]' if holds else '[NOT SO]'} {sentence}")

    def refused(self, sentence: str, expected: type[recollect.RecollectError], call: Callable[[], object]) -> None:
        try:
            call()
        except expected as error:
            self.check(f"{sentence}: {error.status} {expected.__name__}", True)
        else:
            self.check(sentence, False)


def main() -> int:
    arguments = parse_arguments()
    try:
        if arguments.replay:
            return replay(*arguments.replay)
        return demonstrate(arguments.url)
    except recollect.RecollectError as error:
        print(f"\nThe demonstration stopped: {error}", file=sys.stderr)
        return 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Shows a conversation being kept and replayed.")
    parser.add_argument("--url", help="a database to work in, for example on PostgreSQL; else a temporary SQLite file")
    parser.add_argument("--replay", nargs=2, metavar=("TENANT", "CONVERSATION"), help=argparse.SUPPRESS)
    return parser.parse_args()


def demonstrate(url: str | None) -> int:
    began = time.monotonic()
    report = Report()
    tenant = f"demo-{secrets.token_hex(4)}"
    print(f"Recollect {recollect.__version__}. Everything below happens as you read it; what says [ok] was checked.")
    if url:
        go_through(report, url, tenant)
        left = f"What was written stays in your database, under the tenant {tenant}."
    else:
        with tempfile.TemporaryDirectory(prefix="recollect-demo-") as folder:
            go_through(report, f"sqlite:///{folder}/memory.db", tenant)
        left = "The database was a temporary file and is gone."
    if report.failures:
        print(f"\n{report.failures} of the above are not as they should be.", file=sys.stderr)
        return 1
    print(f"\nAll of it held, in {time.monotonic() - began:.1f} seconds. {left}")
    return 0


def go_through(report: Report, url: str, tenant: str) -> None:
    with recollect.open(url) as engine:
        conversation_id, start = talk(report, engine, tenant)
        send_again(report, engine, tenant, conversation_id)
    replay_elsewhere(report, url, tenant, conversation_id)
    with recollect.open(url) as engine:
        look_as_somebody_else(report, engine, tenant, conversation_id)
        close_and_follow(report, engine, tenant, conversation_id, start)
        work_off_a_job(report, engine, tenant, conversation_id)


def talk(report: Report, engine: recollect.Recollect, tenant: str) -> tuple[str, int]:
    """Keep a conversation with a tool call, a note for the model and a note for the audit."""
    report.step("Ada talks to an assistant. Every message is on disk when its call returns.")
    start = engine.last_cursor()
    chat = engine.context(tenant_id=tenant, app_id=APP, user_id="ada").conversations
    conversation = chat.create_conversation("support-chat", title="Refund for order 1042")
    chat.append_system_message(conversation.id, "Ada is a customer since 2019. Be brief.")
    chat.append_user_message(conversation.id, QUESTION, idempotency_key="request-1")
    lookup = recollect.ToolUseBlock(id="call-1", name="lookup_refund", arguments={"order": 1042})
    chat.append_assistant_turn(conversation.id, [recollect.TextBlock(text="I will look it up."), lookup])
    chat.append_tool_result(
        conversation.id, "call-1", "paid back on Monday", tool_name="lookup_refund", visibility="internal"
    )
    chat.append_assistant_turn(conversation.id, "It was paid back on Monday.", model="any-model")
    chat.append_system_message(conversation.id, "Answered by shift B.", visibility="hidden")
    everything = chat.get_raw_turns(conversation.id, include_hidden=True)
    show(everything)
    turn = {each.turn_id for each in everything[1:5]}
    for_model = chat.get_raw_turns(conversation.id)
    report.check("the messages are numbered 1 to 6", [each.sequence for each in everything] == [1, 2, 3, 4, 5, 6])
    report.check("question, tool call, tool result and answer share one turn", len(turn) == 1)
    report.check("Ada is shown 3 of them", len(chat.get_messages(conversation.id)) == 3)
    report.check("a model is given 5, with the internal ones", len(for_model) == 5)
    report.check("the hidden one is kept for an audit only", everything[-1] not in for_model)
    return conversation.id, start


def send_again(report: Report, engine: recollect.Recollect, tenant: str, conversation_id: str) -> None:
    report.step("Nobody knows whether the question arrived, so it is sent again, with the same idempotency key.")
    chat = engine.context(tenant_id=tenant, app_id=APP, user_id="ada").conversations
    again = chat.append_user_message(conversation_id, QUESTION, idempotency_key="request-1")
    report.check(f"the message that was there is given back, number {again.sequence}", again.replayed)
    report.refused(
        "other words under the same key are refused",
        recollect.IdempotencyMismatch,
        lambda: chat.append_user_message(conversation_id, "Something else.", idempotency_key="request-1"),
    )
    conversation = chat.get_conversation(conversation_id)
    report.check("there are still 6 messages", conversation is not None and conversation.message_count == 6)


def replay_elsewhere(report: Report, url: str, tenant: str, conversation_id: str) -> None:
    report.step("The engine is closed. A new process opens the database and replays the conversation for Ada.")
    child = subprocess.run(
        [sys.executable, __file__, "--replay", tenant, conversation_id],
        # Not as an argument: others on this machine can read those, and the address may hold a password.
        env={**os.environ, "RECOLLECT_URL": url},
        stdout=subprocess.PIPE,
        text=True,
    )
    print(child.stdout, end="")
    report.check("the other process read the three messages that Ada may see", child.returncode == 0)


def replay(tenant: str, conversation_id: str) -> int:
    """What the other process does."""
    with recollect.open() as engine:
        ctx = engine.context(tenant_id=tenant, app_id=APP, user_id="ada")
        messages = ctx.conversations.get_messages(conversation_id)
    show(messages)
    said = [each.text for each in messages]
    return 0 if said == [QUESTION, "I will look it up.", "It was paid back on Monday."] else 1


def look_as_somebody_else(report: Report, engine: recollect.Recollect, tenant: str, conversation_id: str) -> None:
    report.step("Somebody else tries, with the right id of Ada's conversation.")
    grace = engine.context(tenant_id=tenant, app_id=APP, user_id="grace").conversations
    report.check("Grace, of the same tenant, finds: None", grace.get_conversation(conversation_id) is None)
    report.check("her list is empty", not grace.list_conversations())
    report.refused(
        "she cannot write to it, and the answer is that of an id that never was",
        recollect.NotFound,
        lambda: grace.append_user_message(conversation_id, "Send the refund to me."),
    )
    other_tenant = engine.context(tenant_id=f"{tenant}-other", app_id=APP, user_id="ada").conversations
    report.check("an Ada of another tenant finds: None", other_tenant.get_conversation(conversation_id) is None)


def close_and_follow(
    report: Report, engine: recollect.Recollect, tenant: str, conversation_id: str, start: int
) -> None:
    report.step("Ada's conversation is closed, and a follower reads what has changed since the demonstration began.")
    chat = engine.context(tenant_id=tenant, app_id=APP, user_id="ada").conversations
    chat.close_conversation(conversation_id)
    chat.close_conversation(conversation_id)
    changes = [each for each in engine.follow(start) if each.tenant_id == tenant]
    for change in changes:
        details = f"number {change.data['sequence']}, {change.data['role']}" if "sequence" in change.data else ""
        print(f"   cursor {change.cursor:>4}   {change.kind:<22}{details}".rstrip())
    print()
    kinds = [each.kind for each in changes]
    expected = ["conversation.created", *["message.appended"] * 6, "conversation.closed"]
    report.check("each change came once, in its order", kinds == expected)
    report.check("it was closed twice, and that is one change", kinds.count("conversation.closed") == 1)
    rest = [each for each in engine.follow(changes[-1].cursor) if each.tenant_id == tenant]
    report.check("from the last cursor on there is nothing new", not rest)
    report.refused(
        "a closed conversation takes no more messages",
        recollect.ConversationClosed,
        lambda: chat.append_user_message(conversation_id, "One more thing."),
    )


def work_off_a_job(report: Report, engine: recollect.Recollect, tenant: str, conversation_id: str) -> None:
    report.step("A job is queued in the same database, and engine.work() does what is due.")
    ctx = engine.context(tenant_id=tenant, app_id=APP, user_id="ada")

    def count_words(run: recollect.JobRun) -> dict[str, int]:
        messages = run.context.conversations.get_messages(run.job.payload["conversation"])
        return {"words": sum(len(each.text.split()) for each in messages)}

    engine.register_job("demo.count-words", count_words)
    job = ctx.jobs.enqueue("demo.count-words", {"conversation": conversation_id}, unique_key=conversation_id)
    same = ctx.jobs.enqueue("demo.count-words", {"conversation": conversation_id}, unique_key=conversation_id)
    report.check("queued twice under one unique key, it is one job", same.id == job.id)
    engine.work()
    done = ctx.jobs.get_job(job.id)
    result = done.result if done else None
    report.check(f"its result is kept with it: {result}", result == {"words": 18})


def show(messages: Iterable[recollect.Message]) -> None:
    for each in messages:
        seen_by = "" if each.visibility == "user" else f"  ({each.visibility})"
        print(f"   {each.sequence}  {each.role:<10} {words_of(each)}{seen_by}")
    print()


def words_of(message: recollect.Message) -> str:
    parts = []
    for block in message.content:
        match block:
            case recollect.TextBlock():
                parts.append(block.text)
            case recollect.ToolUseBlock():
                parts.append(f"[calls {block.name}({block.arguments})]")
            case recollect.ToolResultBlock():
                parts.append(f"[answers {block.content!r}]")
    return " ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
