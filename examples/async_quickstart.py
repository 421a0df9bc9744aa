"""The same engine in an asynchronous program: every operation is awaited."""

import asyncio

import longmind


async def talk(engine: longmind.AsyncEngine, user_id: str, question: str) -> str:
    ctx = engine.context(tenant_id="acme", app_id="async-quickstart", user_id=user_id)
    conversation = await ctx.conversations.create_conversation("support-chat")
    await ctx.conversations.append_user_message(conversation.id, question)
    await asyncio.sleep(0)  # here a real program would await its model
    await ctx.conversations.append_assistant_turn(conversation.id, "I will look into it.")
    messages = await ctx.conversations.get_messages(conversation.id)
    return f"{user_id}: " + " / ".join(message.text for message in messages)


async def main() -> None:
    async with longmind.open_async("sqlite:///:memory:") as engine:
        lines = await asyncio.gather(
            talk(engine, "ada", "Where is my refund?"),
            talk(engine, "grace", "Can I change my address?"),
        )
        print("\n".join(lines))
        print("Changes:")
        async for change in engine.follow():
            print(f"{change.cursor:>3}  {change.kind}  {change.user_id}")


asyncio.run(main())
