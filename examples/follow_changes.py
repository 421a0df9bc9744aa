"""Two ways to receive changes: a subscriber in this process, and a follower that continues where it stopped."""

import longmind

with longmind.open("sqlite:///:memory:") as engine:
    ctx = engine.context(tenant_id="acme", app_id="follow-changes", user_id="ada")
    # With a binding, closed conversations of the namespace `chat` become memory.
    ctx.memory.open_default_space()
    conversation = ctx.conversations.create_conversation("chat")

    stop = engine.subscribe(lambda change: print(f"subscriber:    {change.kind}"), kinds=["conversation.closed"])
    ctx.conversations.append_turn(
        conversation.id, user_content="Where is my refund?", assistant={"content": "On its way."}
    )
    ctx.conversations.close_conversation(conversation.id)
    stop()

    # A follower stores the cursor of the last change that it handled, for example in a file.
    cursor = None
    for change in engine.follow(cursor):
        print(f"follower:      {change.cursor}  {change.kind}  {change.data}")
        cursor = change.cursor

    ctx.conversations.create_conversation("daily-checkin")
    for change in engine.follow(cursor):
        print(f"after a break: {change.cursor}  {change.kind}  {change.data}")
