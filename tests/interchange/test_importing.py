"""Import into a user's memory: preview, import, and import again."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind import Atom, Context, Engine, Message
from longmind.errors import InvalidInput, StoreFull
from longmind.interchange import ImportReport, apply_import, preview_import
from tests.interchange import samples
from tests.interchange.samples import SAMPLES


def _other(engine: Engine, user: str) -> Context:
    return engine.context(tenant_id="acme", app_id="support", user_id=user)


def _facts(ctx: Context) -> dict[str, Atom]:
    space = ctx.memory.open_default_space()
    return {atom.text: atom for atom in ctx.memory.list_atoms(space.id, status=None, limit=1000)}


def _said(ctx: Context) -> list[list[tuple[str, str]]]:
    """All conversations, oldest first."""
    talks = reversed(ctx.conversations.list_conversations())
    return [[(each.role, each.text) for each in _messages(ctx, talk.id)] for talk in talks]


def _messages(ctx: Context, conversation_id: str) -> list[Message]:
    return ctx.conversations.get_messages(conversation_id, limit=1000)


def _counts(report: ImportReport) -> dict[str, int]:
    return {name: value for name, value in report.model_dump(by_alias=False).items() if type(value) is int and value}


def _everything(ctx: Context) -> Any:
    return ctx.admin.export_user_data()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_preview_writes_nothing_and_an_import_does_what_it_says(ctx: Context, name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)
    before = _everything(ctx)
    preview = preview_import(ctx, path, name, source_user="*")
    assert not preview.applied
    assert preview.examples
    assert _everything(ctx) == before
    report = apply_import(ctx, path, name, source_user="*")
    assert report.applied
    assert _counts(report) == _counts(preview)
    assert len(_facts(ctx)) == report.facts_new
    assert sum(map(len, _said(ctx))) == report.messages_new


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_file_again_adds_nothing(ctx: Context, name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)
    first = apply_import(ctx, path, name, source_user="*")
    before = _everything(ctx)
    again = apply_import(ctx, path, name, source_user="*")
    assert _counts(again) == _counts(preview_import(ctx, path, name, source_user="*"))
    assert (again.facts_known, again.conversations_known) == (first.facts_new, first.conversations_new)
    assert (again.facts_new, again.conversations_new, again.messages_new) == (0, 0, 0)
    assert _everything(ctx) == before


def test_facts_keep_times_metadata_and_provenance(ctx: Context, tmp_path: Path) -> None:
    apply_import(ctx, SAMPLES["mem0"](tmp_path), "mem0", source_user="ada")
    facts = _facts(ctx)
    assert facts.keys() == {"Ada is allergic to peanuts", "Ada lives in Graz"}
    peanuts = facts["Ada is allergic to peanuts"]
    assert (peanuts.origin, peanuts.trust, peanuts.category.name) == ("import", "app", "health")
    assert peanuts.created_at == peanuts.valid_from == "2025-07-01T16:30:00.123456Z"
    assert peanuts.metadata == {
        "category": "health",
        "source": "chat",
        "user_id": "ada",
        "import_format": "mem0",
        "import_id": "0b6f4c1e-7a51-4d8e-9f0e-1f0a5f1d9a01",
    }
    space = ctx.memory.open_default_space()
    assert ctx.memory.list_atoms(space.id, metadata={"import_format": "mem0", "category": "health"}) == [peanuts]
    assert ctx.memory.recall_by_topic(space.id, "peanuts").hits[0].atom.id == peanuts.id


def test_facts_that_have_ended_come_as_ended(ctx: Context, tmp_path: Path) -> None:
    apply_import(ctx, SAMPLES["zep"](tmp_path), "zep")
    graz, vienna = (_facts(ctx)[f"Ada lives in {place}."] for place in ("Graz", "Vienna"))
    assert (graz.valid_from, graz.valid_to) == ("2020-01-01T00:00:00.000000Z", "2025-03-01T08:01:00.000000Z")
    assert vienna.valid_to is None


def test_conversations_keep_their_times_are_closed_and_are_read(engine: Engine, ctx: Context, tmp_path: Path) -> None:
    words = "My name is Ada and I live in Graz."
    talk = {
        "id": "t",
        "title": "Hello",
        "messages": [{"role": "user", "content": words, "created_at": "2024-02-03T04:05:06Z"}],
    }
    path = samples.write_lines(tmp_path / "talk.jsonl", [talk])
    apply_import(ctx, path, "jsonl")
    [stored] = ctx.conversations.list_conversations()
    assert (stored.status, stored.title, stored.namespace) == ("closed", "Hello", "chat")
    assert stored.created_at == "2024-02-03T04:05:06.000000Z"
    assert stored.metadata == {"import_format": "jsonl", "import_id": "t"}
    [message] = _messages(ctx, stored.id)
    assert message.created_at == "2024-02-03T04:05:06.000000Z"
    engine.work()
    learned = [atom for atom in _facts(ctx).values() if "Graz" in atom.text]
    assert learned
    assert learned[0].source_message_ids == [message.id]
    assert learned[0].valid_from.startswith("2024-02-03")


def test_a_later_export_adds_only_what_is_new(ctx: Context, tmp_path: Path) -> None:
    first = samples.write_json(tmp_path / "conversations.json", [samples.chatgpt_conversation()])
    apply_import(ctx, first, "chatgpt")
    grown = [samples.chatgpt_conversation("c-2"), samples.chatgpt_conversation(later=True)]
    report = apply_import(ctx, samples.write_json(tmp_path / "later.json", grown), "chatgpt")
    assert (report.conversations_new, report.conversations_grown, report.messages_new) == (1, 1, 4)
    talks = _said(ctx)
    assert sorted(map(len, talks)) == [2, 2, 2]
    assert [("user", "Thanks!"), ("assistant", "You are welcome.")] in talks
    assert apply_import(ctx, tmp_path / "later.json", "chatgpt").messages_new == 0


def test_a_fact_that_changed_at_its_source_supersedes_its_former_version(ctx: Context, tmp_path: Path) -> None:
    memory = {"id": "m-1", "memory": "Ada lives in Graz", "created_at": "2025-01-01T00:00:00Z", "user_id": "ada"}
    path = samples.write_json(tmp_path / "a.json", [memory])
    apply_import(ctx, path, "mem0")
    moved = {**memory, "memory": "Ada lives in Linz", "updated_at": "2025-03-01T00:00:00Z"}
    report = apply_import(ctx, samples.write_json(tmp_path / "b.json", [moved]), "mem0")
    assert (report.facts_new, report.facts_changed) == (0, 1)
    facts = _facts(ctx)
    assert facts["Ada lives in Graz"].superseded_by == facts["Ada lives in Linz"].id
    assert facts["Ada lives in Graz"].valid_to == facts["Ada lives in Linz"].valid_from == "2025-03-01T00:00:00.000000Z"
    # The older export adds nothing, and does not bring the former version back.
    assert _counts(apply_import(ctx, path, "mem0")) == {"facts_known": 1}


def test_what_was_changed_or_deleted_here_stays_so(ctx: Context, tmp_path: Path) -> None:
    def memories(suffix: str) -> Path:
        facts = [{"id": f"m-{n}", "memory": f"{word}{suffix}", "user_id": "ada"} for n, word in enumerate(_WORDS)]
        return samples.write_json(tmp_path / f"m{suffix}.json", facts)

    apply_import(ctx, memories(""), "mem0")
    facts = _facts(ctx)
    ctx.memory.supersede_atom(facts[_WORDS[0]].id, {"text": "Ada lives in Bergen", "category": _NOTE})
    ctx.memory.delete_atom(facts[_WORDS[1]].id)
    ctx.memory.archive_atom(facts[_WORDS[2]].id)
    assert _counts(apply_import(ctx, memories(""), "mem0")) == {"facts_known": 2, "facts_forgotten": 1}
    later = apply_import(ctx, memories(" now"), "mem0")
    assert later.facts_changed_here == 1
    assert "Ada lives in Graz now" not in _facts(ctx)


_WORDS = ["Ada lives in Graz", "Ada collects rare orchids", "Ada plays the cello"]
_NOTE = {"name": "note", "kind": "FACT"}


def test_the_records_of_several_users_are_not_mixed(ctx: Context, tmp_path: Path) -> None:
    path = SAMPLES["mem0"](tmp_path)
    before = _everything(ctx)
    with pytest.raises(InvalidInput) as refused:
        apply_import(ctx, path, "mem0")
    assert "2 users" in refused.value.message
    assert "ada (2), planner (1)" in refused.value.hint
    assert _everything(ctx) == before
    assert preview_import(ctx, path, "mem0").users == {"ada": 2, "planner": 1}
    report = apply_import(ctx, path, "mem0", source_user="ada")
    assert report.facts_new == 2
    assert {each.reason for each in report.left_out} == {"A memory without text", "Records of other users"}
    with pytest.raises(InvalidInput, match="has no records of bob"):
        apply_import(ctx, path, "mem0", source_user="bob")
    database = SAMPLES["langgraph"](tmp_path)
    assert apply_import(ctx, database, "langgraph", source_user="bob").facts_new == 1


def test_two_users_may_import_the_same_file(engine: Engine, ctx: Context, tmp_path: Path) -> None:
    path = samples.write_json(tmp_path / "conversations.json", [samples.chatgpt_conversation()])
    bob = _other(engine, "bob")
    assert apply_import(ctx, path, "chatgpt").conversations_new == 1
    assert apply_import(bob, path, "chatgpt").conversations_new == 1
    [of_ada], [of_bob] = ctx.conversations.list_conversations(), bob.conversations.list_conversations()
    assert of_ada.id != of_bob.id
    assert bob.conversations.get_conversation(of_ada.id) is None


@pytest.mark.parametrize("name", ["mem0", "jsonl", "claude-code"])
def test_a_mistake_at_the_end_of_a_file_leaves_nothing_behind(ctx: Context, name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)
    with path.open("a") as file:
        file.write('\n{"broken": \n{}\n')
    before = _everything(ctx)
    for call in (preview_import, apply_import):
        with pytest.raises(InvalidInput, match=path.name):
            call(ctx, path, name, source_user="*")
    assert _everything(ctx) == before


def test_an_import_that_was_interrupted_goes_on(ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = [samples.chatgpt_conversation(f"c-{number}") for number in range(4)]
    path = samples.write_json(tmp_path / "conversations.json", talks)

    def stop(noun: str, done: int, total: int) -> None:
        if (noun, done) == ("conversations", 2):
            raise StoreFull("The disk is full.")

    with pytest.raises(StoreFull):
        apply_import(ctx, path, "chatgpt", progress=stop)
    assert [len(talk) for talk in _said(ctx)] == [2, 2]
    report = apply_import(ctx, path, "chatgpt")
    assert (report.conversations_known, report.conversations_new) == (2, 2)


def test_what_a_database_cannot_store_is_left_out_or_mended(ctx: Context, tmp_path: Path) -> None:
    talk = {
        "id": "x" * 5_000,
        "title": "t" * 5_000,
        "metadata": {"big": "b" * 100_000, "small": 1, "bad": "a\x00b", "deep": [[[[[[[[[[[[1]]]]]]]]]]]]},
        "messages": [
            {"role": "user", "content": "a\x00b", "id": "same"},
            {"role": "user", "content": "too long " * 200_000, "id": "long"},
            {"role": "assistant", "content": "second", "id": "same", "created_at": "2999-01-01"},
        ],
    }
    facts = [
        {"text": "long " * 300_000},
        {"text": "half \ud800 a pair", "category": "c" * 5_000, "tags": ["t" * 5_000, ""], "created_at": "2999-01-01"},
        {"text": "ended before it began", "created_at": "2025-01-01", "valid_to": "2024-01-01"},
    ]
    path = samples.write_lines(tmp_path / "odd.jsonl", [talk, *facts])
    report = apply_import(ctx, path, "jsonl")
    assert (report.facts_new, report.messages_new) == (2, 2)
    assert sum(each.count for each in report.left_out) == 2
    [stored] = ctx.conversations.list_conversations()
    assert stored.metadata["small"] == 1
    assert "big" not in stored.metadata
    assert [each.text for each in _messages(ctx, stored.id)] == ["ab", "second"]
    assert _facts(ctx).keys() == {"half  a pair", "ended before it began"}
    assert apply_import(ctx, path, "jsonl").messages_new == 0


def test_an_unknown_format_is_refused_with_those_there_are(ctx: Context, tmp_path: Path) -> None:
    path = SAMPLES["mem0"](tmp_path)
    with pytest.raises(InvalidInput) as refused:
        preview_import(ctx, path, "memgpt")
    assert "mcp-memory" in refused.value.hint


def test_blocks_of_tools_survive_json_lines(ctx: Context, tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c-1", "name": "search", "arguments": {"q": "Graz"}}
    result = {"type": "tool_result", "toolUseId": "c-1", "content": "Sunny", "isError": False}
    talk = {
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, call]},
            {"role": "tool", "content": [result]},
        ]
    }
    apply_import(ctx, samples.write_lines(tmp_path / "t.jsonl", [talk]), "jsonl")
    [stored] = ctx.conversations.list_conversations()
    rows = ctx.conversations.get_raw_turns(stored.id)
    assert [row.role for row in rows] == ["user", "assistant", "tool"]
    assert json.loads(rows[2].model_dump_json())["content"] == [result]
    assert rows[2].tool_use_id == "c-1"


def test_an_import_into_a_database_without_models_is_found_by_words(tmp_path: Path) -> None:
    with longmind.open(f"sqlite:///{tmp_path}/m.db", embedder=None, extractor="rules") as engine:
        ctx = _other(engine, "ada")
        apply_import(ctx, SAMPLES["chatgpt"](tmp_path), "chatgpt")
        engine.work()
        space = ctx.memory.open_default_space()
        found = ctx.memory.recall_by_topic(space.id, "weather in Graz")
        assert found.passages


def test_two_imports_of_one_file_at_once_write_it_once(ctx: Context, tmp_path: Path) -> None:
    talks = [samples.chatgpt_conversation(f"c-{number}") for number in range(20)]
    file = samples.write_json(tmp_path / "conversations.json", talks)
    facts = [{"id": str(number), "memory": f"Fact number {number}", "user_id": "ada"} for number in range(300)]
    memories = samples.write_json(tmp_path / "mem0.json", facts)
    with ThreadPoolExecutor(4) as pool:
        reports = [pool.submit(apply_import, ctx, file, "chatgpt") for _ in range(4)]
        reports += [pool.submit(apply_import, ctx, memories, "mem0") for _ in range(4)]
        counted = [report.result() for report in reports]
    assert sum(report.conversations_new for report in counted) == 20
    assert sum(report.facts_new for report in counted) == 300
    assert [len(talk) for talk in _said(ctx)] == [2] * 20
    assert len(_facts(ctx)) == 300
