"""A conversation that outlives the program: run this file twice, and the second run finds what the first one said."""

import longmind

with longmind.open() as engine:  # LONGMIND_URL, or else a file in the home folder
    ctx = engine.context(tenant_id="acme", app_id="quickstart", user_id="ada")

    known = ctx.conversations.list_conversations(namespace="daily-checkin", status="open", limit=1)
    conversation = known[0] if known else ctx.conversations.create_conversation("daily-checkin", title="Daily check-in")

    for message in ctx.conversations.get_messages(conversation.id):
        print(f"{message.sequence:>3}  {message.role:<9}  {message.text}")

    turn = ctx.conversations.append_turn(
        conversation.id,
        user_content="I prefer meetings on Tuesday mornings.",
        assistant={"content": "Noted.", "model": "your-model"},
    )
    print(f"Stored for the next run: {turn.user_message.text}")
