"""Bindings: the conversations that they cover, the triggers of extraction, and the capability to make them."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from tests.extraction.conftest import talk, texts
from tests.extraction.scripted_extractor import SentenceExtractor

MINE: dict[str, Any] = {"namespace": "chat", "userId": "ada"}
EVERYBODY: dict[str, Any] = {"namespace": "chat", "userId": "*"}


def user(engine: longmind.Engine, name: str, **scope: Any) -> longmind.Context:
    return engine.context(**{"tenant_id": "acme", "app_id": "support", "user_id": name, **scope})


def read_spaces(context: longmind.Context) -> dict[str | None, list[str]]:
    return {space.name: texts(context, space.id) for space in context.memory.list_memory_spaces()}


@pytest.mark.conforms("A5.1")
def test_without_a_binding_nothing_is_extracted(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    talk(ctx, "I like tea.")
    assert engine.work() == longmind.WorkReport(unbound=1)
    assert ctx.jobs.list_jobs() == []
    assert texts(ctx, space.id) == []


@pytest.mark.conforms("A5.2", "A5.10")
def test_a_binding_has_the_shape_that_callers_know(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    policy = {"extractionVersion": "v1", "onConversationClosed": True, "windowed": True, "windowTurns": 3}
    binding = ctx.memory.create_binding(MINE, [space.id], policy)
    shown = binding.model_dump()
    assert (shown["tenantId"], shown["appId"], shown["userId"], shown["enabled"]) == ("acme", "support", "ada", True)
    assert shown["conversationScope"] == MINE
    assert shown["memorySpaceIds"] == [space.id]
    assert shown["extractionPolicy"] == policy
    assert binding.id.startswith("bind_")
    assert binding.created_at == binding.updated_at
    assert ctx.memory.get_binding(binding.id) == binding
    several = ctx.memory.create_binding([MINE, {"namespace": "mail", "userId": "ada"}], [space.id])
    assert several.model_dump()["conversationScope"] == [MINE, {"namespace": "mail", "userId": "ada"}]
    assert several.extraction_policy == longmind.ExtractionPolicy()
    assert ctx.memory.list_bindings() == [several, binding]
    page = ctx.memory.list_bindings(limit=1)
    assert (page, ctx.memory.list_bindings(cursor=page.next_cursor)) == ([several], [binding])


@pytest.mark.conforms("A1.5", "A5.3", "A5.4")
@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        (MINE, ["chat"]),
        ({"namespace": "*", "userId": "ada"}, ["chat", "mail", "other"]),
        ([MINE, {"namespace": "mail", "userId": "ada"}], ["chat", "mail"]),
        ([MINE, {"namespace": "*", "userId": "ada"}], ["chat", "mail", "other"]),
    ],
)
def test_a_binding_covers_one_namespace_several_or_all(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, scope: Any, covered: list[str]
) -> None:
    ctx.memory.create_binding(scope, [space.id])
    for namespace in ("chat", "mail", "other"):
        talk(ctx, f"I speak of {namespace}.", namespace=namespace)
    assert engine.work().succeeded == len(covered)
    assert texts(ctx, space.id) == [f"I speak of {namespace}." for namespace in covered]


@pytest.mark.conforms("A5.6")
def test_each_matching_binding_and_space_has_a_job_of_its_own(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    other = ctx.memory.create_memory_space("other")
    first = ctx.memory.create_binding(MINE, [space.id, other.id])
    second = ctx.memory.create_binding({"namespace": "*", "userId": "ada"}, [other.id])
    ctx.memory.create_binding({"namespace": "mail", "userId": "ada"}, [other.id])
    conversation = talk(ctx, "I like tea.")
    jobs = ctx.jobs.list_jobs()
    assert {(job.payload["bindingId"], job.payload["memorySpaceId"]) for job in jobs} == {
        (first.id, space.id),
        (first.id, other.id),
        (second.id, other.id),
    }
    assert {job.payload["conversationId"] for job in jobs} == {conversation.id}
    assert len(jobs) == 3
    assert engine.work().succeeded == 3
    assert texts(ctx, space.id) == texts(ctx, other.id) == ["I like tea."]


@pytest.mark.conforms("A5.7", "T5")
def test_extraction_for_everybody_writes_to_each_users_own_space_of_that_name(
    engine: longmind.Engine, admin: longmind.Context
) -> None:
    daily = admin.memory.create_memory_space("daily")
    admin.memory.create_binding(EVERYBODY, [daily.id])
    ada, bob, root = user(engine, "ada"), user(engine, "bob"), user(engine, "root")
    kept = bob.memory.create_memory_space("daily")
    for context in (ada, bob, root):
        talk(context, f"I am {context.scope.user_id}.")
    stranger = user(engine, "ada", tenant_id="other")
    elsewhere = user(engine, "ada", app_id="other")
    for context in (stranger, elsewhere):
        talk(context, "I am somebody else.")
    assert engine.work().succeeded == 3
    assert read_spaces(ada) == {"daily": ["I am ada."]}
    assert read_spaces(bob) == {"daily": ["I am bob."]}
    assert [space.id for space in bob.memory.list_memory_spaces()] == [kept.id]
    assert read_spaces(root) == {"daily": ["I am root."]}
    assert [space.id for space in root.memory.list_memory_spaces()] == [daily.id]
    assert read_spaces(stranger) == read_spaces(elsewhere) == {}


@pytest.mark.conforms("T5", "A5.3")
def test_a_binding_for_others_needs_the_admin_capability(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, admin: longmind.Context
) -> None:
    for scope in (EVERYBODY, {"namespace": "chat", "userId": "bob"}, [MINE, EVERYBODY]):
        with pytest.raises(longmind.Forbidden):
            ctx.memory.create_binding(scope, [space.id])
    assert ctx.memory.list_bindings() == []
    daily = admin.memory.create_memory_space("daily")
    wide = admin.memory.create_binding({"namespace": "chat", "userId": "bob"}, [daily.id])
    talk(ctx, "I am ada.")
    talk(user(engine, "bob"), "I am bob.")
    engine.work()
    assert read_spaces(user(engine, "bob")) == {"daily": ["I am bob."]}
    assert texts(ctx, space.id) == texts(admin, daily.id) == []
    # Who has lost the capability may look at what they have made, and no more.
    plain = user(engine, "root")
    assert plain.memory.list_bindings() == [wide]
    for forbidden in (
        lambda: plain.memory.update_binding(wide.id, enabled=False),
        lambda: plain.memory.delete_binding(wide.id),
    ):
        with pytest.raises(longmind.Forbidden):
            forbidden()
    assert user(engine, "bob").memory.get_binding(wide.id) is None


def test_an_administrator_sees_and_changes_all_bindings_of_the_app(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, admin: longmind.Context
) -> None:
    mine = ctx.memory.create_binding(MINE, [space.id])
    assert admin.memory.list_bindings() == [mine]
    assert not admin.memory.update_binding(mine.id, enabled=False).enabled
    admin.memory.delete_binding(mine.id)
    assert ctx.memory.list_bindings() == []
    elsewhere = engine.context(tenant_id="acme", app_id="other", user_id="root", capabilities={"admin"})
    other = ctx.memory.create_binding(MINE, [space.id])
    assert elsewhere.memory.list_bindings() == []
    assert elsewhere.memory.get_binding(other.id) is None


def test_bound_spaces_belong_to_the_user_and_need_a_name_to_bind_others(
    ctx: longmind.Context, admin: longmind.Context, space: longmind.MemorySpace
) -> None:
    with pytest.raises(longmind.NotFound):
        admin.memory.create_binding(EVERYBODY, [space.id])
    unnamed = admin.memory.create_memory_space()
    with pytest.raises(longmind.InvalidInput, match="no name"):
        admin.memory.create_binding(EVERYBODY, [unnamed.id])
    assert ctx.memory.create_binding(MINE, [ctx.memory.create_memory_space().id]).enabled


@pytest.mark.parametrize(
    ("scope", "spaces", "policy"),
    [
        ([], None, {}),
        ("chat", None, {}),
        ({"namespace": "chat"}, None, {}),
        ({"namespace": " ", "userId": "ada"}, None, {}),
        ({"namespace": "chat", "userId": "ada", "appId": "x"}, None, {}),
        (MINE, [], {}),
        (MINE, "ms_1", {}),
        (MINE, None, {"windowed": True}),
        (MINE, None, {"windowTurns": -1}),
        (MINE, None, {"windowed": "yes"}),
        (MINE, None, {"extractionVersion": ""}),
        (MINE, None, {"extractionVersion": "../v1"}),
        (MINE, None, {"onClose": True}),
        (MINE, None, "v1"),
    ],
)
def test_an_invalid_binding_is_refused(
    ctx: longmind.Context, space: longmind.MemorySpace, scope: Any, spaces: Any, policy: Any
) -> None:
    with pytest.raises(longmind.InvalidInput):
        ctx.memory.create_binding(scope, [space.id] if spaces is None else spaces, policy)
    assert ctx.memory.list_bindings() == []


@pytest.mark.conforms("A5.8", "A5.9")
@pytest.mark.parametrize("extractor_name", ["none", "rules", "local"])
def test_an_unknown_version_is_refused_whatever_extracts(database_url: str, extractor_name: str) -> None:
    with longmind.open(database_url, extractor=extractor_name, embedder="none") as engine:
        ctx = user(engine, "ada")
        space = ctx.memory.create_memory_space("daily")
        binding = ctx.memory.create_binding(MINE, [space.id], {"extractionVersion": "extraction-v2"})
        conversation = talk(ctx, "I like tea.")
        for refused in (
            lambda: ctx.memory.create_binding(MINE, [space.id], {"extractionVersion": "v9"}),
            lambda: ctx.memory.update_binding(binding.id, extraction_policy={"extractionVersion": "v9"}),
            lambda: ctx.memory.run_extraction_for_conversation(conversation.id, extraction_version="v9"),
        ):
            with pytest.raises(longmind.InvalidInput, match="Unknown extraction version 'v9'") as error:
                refused()
            assert "extraction-v1" in error.value.hint
        assert [each.id for each in ctx.memory.list_bindings()] == [binding.id]


class DatedExtractor(SentenceExtractor):
    versions = ("v1", "2026-05")


@pytest.mark.conforms("A5.8")
def test_an_extractor_of_the_programs_own_has_the_versions_that_it_declares(database_url: str) -> None:
    extractor = DatedExtractor()
    with longmind.open(database_url, extractor=extractor, embedder="none") as engine:
        ctx = user(engine, "ada")
        space = ctx.memory.create_memory_space("daily")
        ctx.memory.create_binding(MINE, [space.id], {"extractionVersion": "2026-05"})
        with pytest.raises(longmind.InvalidInput, match="Use one of 2026-05, v1"):
            ctx.memory.create_binding(MINE, [space.id], {"extractionVersion": "v2"})
        conversation = talk(ctx, "I like tea.")
        engine.work()
        assert [version for _, version in extractor.asked] == ["2026-05"]
    # Another extractor, which does not know the version of the binding: the job says so, and the binding can be paused.
    with longmind.open(database_url, extractor="rules", embedder="none", job_attempts=1) as engine:
        ctx = user(engine, "ada")
        talk(ctx, "I like rain.")
        assert engine.work().dead == 1
        assert "Unknown extraction version '2026-05'" in str(ctx.jobs.list_jobs(limit=1)[0].error)
        (binding,) = ctx.memory.list_bindings()
        assert not ctx.memory.update_binding(binding.id, enabled=False).enabled
        assert ctx.conversations.get_conversation(conversation.id) is not None


def test_versions_that_are_no_list_are_refused(sqlite_url: str) -> None:
    extractor = SentenceExtractor()
    extractor.versions = "v1"  # type: ignore[attr-defined]
    with pytest.raises(longmind.InvalidInput, match="The extractor's versions are 'v1'"):
        longmind.open(sqlite_url, extractor=extractor)


@pytest.mark.conforms("A5.5", "R-G")
def test_a_window_fires_after_a_number_of_answered_turns(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    policy = {"onConversationClosed": False, "windowed": True, "windowTurns": 2}
    ctx.memory.create_binding(MINE, [space.id], policy)
    chat = ctx.conversations
    conversation = chat.create_conversation("chat")
    chat.append_user_message(conversation.id, "One.")
    chat.append_user_message(conversation.id, "Two.")
    chat.append_assistant_turn(conversation.id, "")
    # Another answer to the same turn, a tool in between, and what nobody may see are no turns of their own.
    chat.append_tool_result(conversation.id, "call-1", "Three.")
    chat.append_assistant_turn(conversation.id, "")
    chat.append_user_message(conversation.id, "Four.")
    chat.append_assistant_turn(conversation.id, "Five.", visibility="hidden")
    assert ctx.jobs.list_jobs() == []
    chat.append_assistant_turn(conversation.id, "")
    assert len(ctx.jobs.list_jobs()) == 1
    chat.append_assistant_turn(conversation.id, "")
    chat.append_turn(conversation.id, user_content="Six.", assistant={"content": ""}, idempotency_key="six")
    chat.append_turn(conversation.id, user_content="Six.", assistant={"content": ""}, idempotency_key="six")
    assert len(ctx.jobs.list_jobs()) == 1
    assert engine.work().succeeded == 1
    assert extractor.read == [["One.", "Two.", "Three.", "Four."]]
    chat.append_turn(conversation.id, user_content="Seven.", assistant={"content": ""})
    assert engine.work().succeeded == 1
    assert extractor.read[1:] == [["Six.", "Seven."]]
    chat.close_conversation(conversation.id)
    assert engine.work() == longmind.WorkReport()


@pytest.mark.conforms("A5.5", "T4")
@pytest.mark.parametrize("prompt", [True, False])
def test_windows_and_the_close_share_one_watermark_and_extract_nothing_twice(
    engine: longmind.Engine,
    ctx: longmind.Context,
    space: longmind.MemorySpace,
    extractor: SentenceExtractor,
    prompt: bool,
) -> None:
    ctx.memory.create_binding(MINE, [space.id], {"windowed": True, "windowTurns": 2})
    conversation = ctx.conversations.create_conversation("chat")
    for number in range(5):
        ctx.conversations.append_turn(conversation.id, user_content=f"Fact {number}.", assistant={"content": ""})
        if prompt:
            engine.work()
    ctx.conversations.close_conversation(conversation.id)
    engine.work()
    assert [job.status for job in ctx.jobs.list_jobs(kind="memory.extract")] == ["succeeded"] * 3
    assert extractor.read == [["Fact 0.", "Fact 1."], ["Fact 2.", "Fact 3."], ["Fact 4."]]
    assert texts(ctx, space.id) == [f"Fact {number}." for number in range(5)]
    # What was extracted before is shown for what it says about the rest.
    assert [message.text for message in extractor.asked[-1][0] if message.read_only][-1] == "Fact 3."


@pytest.mark.conforms("A5.12")
def test_queued_extractions_wait_for_the_end_of_a_pause(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    binding = ctx.memory.create_binding(MINE, [space.id], {"windowed": True, "windowTurns": 1})
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_turn(conversation.id, user_content="Before.", assistant={"content": ""})
    assert not ctx.memory.update_binding(binding.id, enabled=False).enabled
    ctx.conversations.append_turn(conversation.id, user_content="Meanwhile.", assistant={"content": ""})
    for _ in range(3):
        # However often the workers look, it is no attempt, and it neither fails nor ends.
        assert engine.work() == longmind.WorkReport()
    assert (extractor.asked, texts(ctx, space.id)) == ([], [])
    (waiting,) = ctx.jobs.list_jobs()
    assert (waiting.status, waiting.attempts, waiting.result, waiting.error) == ("queued", 0, None, None)
    with pytest.raises(longmind.Conflict):
        ctx.memory.run_extraction_for_conversation(conversation.id)

    resumed = ctx.memory.update_binding(binding.id, enabled=True)
    assert resumed.extraction_policy == binding.extraction_policy
    assert engine.work().succeeded == 1
    assert texts(ctx, space.id) == ["Before."]
    ctx.conversations.append_turn(conversation.id, user_content="After.", assistant={"content": ""})
    engine.work()
    # What was said in the pause is after the mark, so nothing is lost of a conversation that goes on.
    assert texts(ctx, space.id) == ["Before.", "Meanwhile.", "After."]


@pytest.mark.conforms("A5.12")
def test_a_conversation_that_closes_during_a_pause_is_extracted_only_on_request(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    binding = ctx.memory.create_binding(MINE, [space.id])
    ctx.memory.update_binding(binding.id, enabled=False)
    closed = talk(ctx, "In the pause.")
    ctx.memory.update_binding(binding.id, enabled=True)
    assert (engine.work(), ctx.jobs.list_jobs()) == (longmind.WorkReport(), [])
    talk(ctx, "After it.")
    engine.work()
    assert texts(ctx, space.id) == ["After it."]
    ctx.memory.run_extraction_for_conversation(closed.id)
    engine.work()
    assert texts(ctx, space.id) == ["After it.", "In the pause."]


@pytest.mark.conforms("A5.7", "A5.12")
def test_resuming_a_binding_for_everybody_wakes_the_jobs_of_all_users(
    engine: longmind.Engine, admin: longmind.Context
) -> None:
    daily = admin.memory.create_memory_space("daily")
    paused = admin.memory.create_binding(EVERYBODY, [daily.id])
    bob, eve = user(engine, "bob"), user(engine, "eve")
    talk(bob, "I am bob.")
    talk(eve, "I am eve.")
    admin.memory.update_binding(paused.id, enabled=False)
    assert engine.work() == longmind.WorkReport()
    admin.memory.update_binding(paused.id, enabled=True)
    assert engine.work().succeeded == 2
    assert (read_spaces(bob), read_spaces(eve)) == ({"daily": ["I am bob."]}, {"daily": ["I am eve."]})


@pytest.mark.conforms("A5.12")
def test_a_binding_paused_during_an_extraction_writes_nothing_until_it_is_resumed(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    binding = ctx.memory.create_binding(MINE, [space.id])
    extractor.before = lambda: ctx.memory.update_binding(binding.id, enabled=False)
    talk(ctx, "I like tea.")
    assert engine.work() == longmind.WorkReport()
    assert texts(ctx, space.id) == []
    extractor.before = None
    ctx.memory.update_binding(binding.id, enabled=True)
    assert engine.work().succeeded == 1
    assert texts(ctx, space.id) == ["I like tea."]


@pytest.mark.conforms("A5.13")
def test_a_deleted_binding_extracts_nothing_even_from_queued_jobs(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    binding = ctx.memory.create_binding(MINE, [space.id])
    talk(ctx, "Too late.")
    ctx.memory.update_binding(binding.id, enabled=False)
    assert engine.work() == longmind.WorkReport()
    ctx.memory.delete_binding(binding.id)
    talk(ctx, "Never.")
    assert engine.work().succeeded == 1
    assert "deleted" in ctx.jobs.list_jobs()[0].result["skipped"]
    assert texts(ctx, space.id) == []
    assert ctx.memory.get_binding(binding.id) is None
    for gone in (
        lambda: ctx.memory.update_binding(binding.id, enabled=True),
        lambda: ctx.memory.delete_binding(binding.id),
    ):
        with pytest.raises(longmind.NotFound):
            gone()


@pytest.mark.conforms("A5.8", "A5.11")
def test_the_version_is_pinned_when_a_conversation_closes_and_a_new_one_rewrites_nothing(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    binding = ctx.memory.create_binding(MINE, [space.id])
    talk(ctx, "I like tea.")
    changed = ctx.memory.update_binding(binding.id, extraction_policy={"extractionVersion": "v2"})
    assert changed.extraction_policy == longmind.ExtractionPolicy(extraction_version="v2")
    assert changed.updated_at > binding.updated_at
    talk(ctx, "I like rain.")
    engine.work()
    assert [version for _, version in extractor.asked] == ["v1", "v2"]
    assert texts(ctx, space.id) == ["I like tea.", "(v2) I like rain."]
    with pytest.raises(TypeError):
        ctx.memory.update_binding(binding.id, conversation_scope=EVERYBODY)  # type: ignore[call-arg]
    with pytest.raises(longmind.InvalidInput):
        ctx.memory.update_binding(binding.id, extraction_policy={"windowed": True})


def test_a_stale_conversation_that_is_closed_is_extracted_too(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    ctx.memory.create_binding(MINE, [space.id])
    talk(ctx, "I like tea.", close=False)
    assert engine.close_stale(0) == 1
    assert engine.work().succeeded == 1
    assert texts(ctx, space.id) == ["I like tea."]


@pytest.mark.conforms("A2.4")
def test_a_binding_of_a_deleted_space_extracts_nothing_for_any_user(
    engine: longmind.Engine, admin: longmind.Context
) -> None:
    daily, kept = (admin.memory.create_memory_space(name) for name in ("daily", "kept"))
    admin.memory.create_binding(EVERYBODY, [daily.id, kept.id])
    bob, root = user(engine, "bob"), user(engine, "root")
    talk(bob, "I am bob.")
    talk(root, "I am root.")
    admin.memory.delete_memory_space(daily.id)
    assert engine.work().succeeded == 4
    talk(bob, "I am still bob.")
    talk(root, "I am still root.")
    assert engine.work().succeeded == 2
    assert read_spaces(bob) == {"kept": ["I am bob.", "I am still bob."]}
    assert read_spaces(root) == {"kept": ["I am root.", "I am still root."]}
