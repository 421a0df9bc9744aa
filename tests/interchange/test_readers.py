"""Each format, read from a file in the shape that its product exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longmind.clock import to_micros
from longmind.errors import InvalidInput, LimitExceeded
from longmind.interchange import json_stream
from longmind.interchange.formats import FORMATS, check_format, detect_format, find_format
from longmind.interchange.msgpack import decode_msgpack
from longmind.interchange.records import ForeignConversation, ForeignFact, Omission, parse_time
from longmind.interchange.source_files import SourceFiles
from tests.interchange import samples
from tests.interchange.samples import SAMPLES


class Found:
    """The records of a file by their kind."""

    def __init__(self, path: Path, name: str) -> None:
        chosen = find_format(name)
        source = SourceFiles(path).choose(chosen.files)
        check_format(source, chosen)
        records = list(chosen.read(source))
        self.facts = [each for each in records if isinstance(each, ForeignFact)]
        self.conversations = [each for each in records if isinstance(each, ForeignConversation)]
        self.reasons = {each.reason: each.count for each in records if isinstance(each, Omission)}

    @property
    def texts(self) -> list[str]:
        return [fact.text for fact in self.facts]

    @property
    def said(self) -> list[tuple[str, object]]:
        [conversation] = self.conversations
        return [(message.role, message.content) for message in conversation.messages]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_is_recognised_and_read(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)
    assert detect_format(SourceFiles(path)) == name
    found = Found(path, name)
    assert found.facts or found.conversations


def test_a_sample_of_every_format_is_there() -> None:
    assert SAMPLES.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("other", SAMPLES)
def test_a_file_of_another_format_is_refused_with_the_format_that_it_looks_like(
    name: str, other: str, tmp_path: Path
) -> None:
    notes = {"markdown", "basic-memory"}
    # Any Markdown is read as either, any text as Markdown, and a line with a text as JSON lines.
    if name == other or other in notes or (other == "jsonl" and name in ("mem0", "zep", "mcp-memory", "letta")):
        return
    path = SAMPLES[name](tmp_path)
    with pytest.raises(InvalidInput) as refused:
        check_format(SourceFiles(path), find_format(other))
    assert path.name in refused.value.message
    assert f"--format {name}" in refused.value.hint


def test_mem0_gives_facts_with_their_times_users_and_metadata(tmp_path: Path) -> None:
    found = Found(SAMPLES["mem0"](tmp_path), "mem0")
    peanuts, home, planned = found.facts
    assert peanuts.at == to_micros("2025-07-01T16:30:00.123456Z")
    assert (peanuts.category, peanuts.owners, peanuts.trust) == ("health", ("ada",), "app")
    assert peanuts.metadata == {"category": "health", "source": "chat", "user_id": "ada"}
    assert (home.category, home.valid_to) == ("personal_details", to_micros("2100-01-01"))
    assert (planned.owners, planned.trust) == (("planner",), "assistant")
    assert found.reasons == {"A memory without text": 1}


def test_zep_gives_threads_in_order_facts_that_have_ended_and_summaries(tmp_path: Path) -> None:
    found = Found(SAMPLES["zep"](tmp_path), "zep")
    assert found.said == [("user", "I have moved to Vienna."), ("assistant", "Noted, Vienna it is.")]
    [thread] = found.conversations
    assert (thread.id, thread.owners) == ("thread-7", ("ada",))
    graz, vienna, summary = found.facts
    assert (graz.valid_from, graz.valid_to) == (to_micros("2020-01-01"), to_micros("2025-03-01T08:01:00Z"))
    assert (vienna.valid_to, vienna.category, summary.text) == (None, "lives_in", "Ada is an engineer.")


def test_letta_gives_what_was_said_and_the_lines_of_blocks(tmp_path: Path) -> None:
    found = Found(SAMPLES["letta"](tmp_path), "letta")
    # What the agent says by its tool, not what it thinks; what the user says, not that they logged in.
    assert found.said == [("assistant", "Hi!"), ("user", "My cat is called Miso."), ("assistant", "Hello Miso!")]
    assert found.texts == ["Name: Ada", "Likes tea", "I am Sam, who is kind."]
    assert {fact.category for fact in found.facts} == {"human", "persona"}
    older = Found(samples.write_json(tmp_path / "old.af", samples.LETTA_OLD), "letta")
    assert older.said == [("user", "Good morning."), ("assistant", "Good morning!")]
    assert older.texts == ["Ada plays the cello."]
    passages = [{"id": "passage-1", "text": "Ada was born in Linz.", "created_at": "2025-01-01T00:00:00Z", "tags": []}]
    assert Found(samples.write_json(tmp_path / "passages.json", passages), "letta").texts == ["Ada was born in Linz."]


def test_chatgpt_gives_the_branch_that_was_seen_last(tmp_path: Path) -> None:
    found = Found(SAMPLES["chatgpt"](tmp_path), "chatgpt")
    assert found.said == [
        ("user", "I moved to Graz last week. What is the weather?"),
        ("assistant", "Sunny, enjoy it."),
    ]
    [talk] = found.conversations
    assert (talk.id, talk.title, talk.at) == ("c-1", "Weather in Graz", 1714550000123000)
    assert [message.at for message in talk.messages] == [1714550010500000, 1714550013000000]
    assert talk.messages[1].model == "gpt-4o"
    assert sorted(found.reasons.values()) == [2, 3]


def test_chatgpt_is_read_from_the_archive_and_from_a_file_that_names_no_leaf(tmp_path: Path) -> None:
    archive = samples.write_archive(
        tmp_path / "export.zip", conversations=[samples.chatgpt_conversation()], user={"id": "user-1"}, chat={}
    )
    assert detect_format(SourceFiles(archive)) == "chatgpt"
    assert len(Found(archive, "chatgpt").said) == 2
    without = samples.chatgpt_conversation() | {"current_node": None}
    assert len(Found(samples.write_json(tmp_path / "c.json", [without]), "chatgpt").said) == 2
    # A tree whose parents lead in a circle ends all the same.
    circle = samples.chatgpt_conversation()
    circle["mapping"]["root"]["parent"] = "answer"
    assert len(Found(samples.write_json(tmp_path / "circle.json", [circle]), "chatgpt").said) == 2


def test_claude_gives_messages_and_its_own_notes(tmp_path: Path) -> None:
    found = Found(SAMPLES["claude"](tmp_path), "claude")
    assert found.said == [("user", "I play the cello."), ("assistant", "Which strings do you use?")]
    assert found.reasons["Attached files"] == 1
    archive = samples.write_archive(
        tmp_path / "data.zip", conversations=samples.CLAUDE, memories=samples.CLAUDE_NOTES, users=[], projects=[]
    )
    both = Found(archive, "claude")
    assert len(both.conversations) == 1
    assert [(fact.category, fact.text) for fact in both.facts] == [
        ("work context", "Ada works at Initech."),
        ("personal", "Plays the cello."),
        ("memory", "Ships a compiler."),
    ]


def test_claude_follows_the_parents_of_the_newest_message(tmp_path: Path) -> None:
    def message(key: str, parent: str, sender: str, text: str) -> dict[str, Any]:
        return {"uuid": key, "parent_message_uuid": parent, "sender": sender, "text": text, "created_at": "2025-01-01"}

    talk = {
        "uuid": "b",
        "name": "Branches",
        "created_at": "2025-01-01",
        "current_leaf_message_uuid": "4",
        "chat_messages": [
            message("1", "0", "human", "Question"),
            message("2", "1", "assistant", "First answer"),
            message("3", "1", "assistant", "Second answer"),
            message("4", "3", "human", "Thanks"),
        ],
    }
    found = Found(samples.write_json(tmp_path / "c.json", [talk]), "claude")
    assert [content for _, content in found.said] == ["Question", "Second answer", "Thanks"]


def test_claude_code_gives_what_was_typed_and_answered(tmp_path: Path) -> None:
    path = SAMPLES["claude-code"](tmp_path)
    found = Found(path, "claude-code")
    assert found.said == [("user", "Always use tabs in this project."), ("assistant", "I will use tabs.")]
    [session] = found.conversations
    assert (session.id, session.title) == ("s-1", "Tabs in the compiler")
    assert session.metadata == {"cwd": "/home/ada/compiler", "git_branch": "main"}
    # A session that is under way: its last line is being written.
    with path.open("a") as file:
        file.write('{"type": "user", "mess')
    assert "The last line, which is not complete yet" in Found(path, "claude-code").reasons
    with path.open("a") as file:
        file.write("\n{}\n")
    with pytest.raises(InvalidInput, match="line 11 is no valid JSON"):
        Found(path, "claude-code")


def test_claude_code_reads_a_folder_of_projects(tmp_path: Path) -> None:
    for name in ("-home-ada-a", "-home-ada-b"):
        (tmp_path / "projects" / name).mkdir(parents=True)
        lines = [{**line, "sessionId": name} for line in samples.CLAUDE_CODE]
        samples.write_lines(tmp_path / "projects" / name / "s.jsonl", lines)
    found = Found(tmp_path / "projects", "claude-code")
    assert [each.id for each in found.conversations] == ["-home-ada-a", "-home-ada-b"]


def test_the_memory_server_gives_statements_that_stand_by_themselves(tmp_path: Path) -> None:
    found = Found(SAMPLES["mcp-memory"](tmp_path), "mcp-memory")
    assert found.texts == ["Ada Lovelace: Speaks French", "Ada Lovelace: Has a cat", "Ada Lovelace works at Initech"]
    assert found.facts[2].metadata == {"from": "Ada_Lovelace", "relation": "works_at", "to": "Initech"}
    assert {fact.trust for fact in found.facts} == {"assistant"}


def test_basic_memory_gives_observations_and_relations(tmp_path: Path) -> None:
    found = Found(SAMPLES["basic-memory"](tmp_path), "basic-memory")
    assert found.texts == [
        "Coffee Brewing: Pour over gives the most clarity (by taste)",
        "Coffee Brewing: Ada likes her coffee black",
        "Coffee Brewing requires Water Quality",
        "Coffee Brewing pairs well with Chocolate (dark)",
    ]
    method = found.facts[0]
    assert (method.category, method.tags) == ("method", ("coffee", "kitchen", "brewing"))
    assert method.metadata == {"permalink": "coffee/brewing", "title": "Coffee Brewing", "context": "by taste"}
    assert method.at == to_micros("2025-02-03T04:05:06Z")


def test_markdown_gives_list_items_and_paragraphs_without_code_and_tables(tmp_path: Path) -> None:
    found = Found(SAMPLES["markdown"](tmp_path), "markdown")
    assert [(fact.category, fact.text) for fact in found.facts] == [
        ("Ada", "Ada is an engineer who lives in Graz."),
        ("Food", "Allergic to peanuts"),
        ("Food", "Likes black coffee"),
    ]


def test_json_lines_are_conversations_messages_facts_and_texts(tmp_path: Path) -> None:
    found = Found(SAMPLES["jsonl"](tmp_path), "jsonl")
    moving, loose = found.conversations
    assert [message.content for message in moving.messages] == ["I moved to Graz.", "Welcome!"]
    assert (moving.id, moving.messages[0].at) == ("talk-1", 1714550000000000)
    assert (loose.id, loose.messages[0].content) == ("notes.jsonl", "And I have a cat.")
    peanuts, tea = found.facts
    assert (peanuts.category, peanuts.importance, peanuts.metadata) == ("health", 5, {"team": "x"})
    assert tea.text == "Ada likes tea."


def test_langgraph_gives_items_of_the_store_and_threads_with_the_times_of_their_messages(tmp_path: Path) -> None:
    found = Found(SAMPLES["langgraph"](tmp_path), "langgraph")
    assert found.texts == ["Ada likes tea", "Ada has a cat", "Bob likes beer"]
    assert found.facts[0].owners == ("memories.ada", "memories", "ada")
    assert found.said == [("user", "My dog is called Rex."), ("assistant", "Hello Rex!")]
    [thread] = found.conversations
    assert [message.at for message in thread.messages] == [
        to_micros("2025-05-01T10:00:00Z"),
        to_micros("2025-05-01T10:00:05Z"),
    ]
    items = [{"namespace": ["notes"], "key": "a", "value": {"text": "One"}, "created_at": "2025-01-01T00:00:00+00:00"}]
    assert Found(samples.write_json(tmp_path / "items.json", items), "langgraph").texts == ["One"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"mapping": {}},', "ends before its array does"),
        ('[{"mapping": {}}', "ends before its array does"),
        ('[{"mapping": {}} {"mapping": {}}]', "lacks a comma"),
        ('[{"mapping": {}}] more', "something after the end of its array"),
        ('[{"mapping": {}},\n{"mapping": {}},\n{"mapping" {}}]', "no valid JSON: expecting ':' delimiter (line 3)"),
        ('[{"mapping": {"a": "b', "no valid JSON: unterminated string"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_broken_is_refused_with_the_line(text: str, words: str, tmp_path: Path) -> None:
    path = samples.write_text(tmp_path / "conversations.json", text)
    with pytest.raises(InvalidInput) as refused:
        list(SourceFiles(path).parts[0].read_values())
    assert words in refused.value.message


def test_what_python_printed_is_refused_with_how_to_save_it(tmp_path: Path) -> None:
    printed = str({"results": [{"id": "m-1", "memory": "Ada lives in Graz", "user_id": "ada"}]})
    for name in ("ada.json", "ada.txt"):
        path = samples.write_text(tmp_path / name, printed)
        with pytest.raises(InvalidInput, match=r"no valid JSON.*json\.dump"):
            Found(path, "mem0")
        assert detect_format(SourceFiles(path)) is None


def test_values_are_read_whole_across_the_pieces_in_which_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", 7)
    values = [{"n": number, "text": "ü" * number, "escaped": '"\\[{'} for number in range(30)]
    whole = samples.write_json(tmp_path / "array.json", values)
    lines = samples.write_lines(tmp_path / "lines.jsonl", [*values, 12345678901, "last"])
    assert [each.value for each in SourceFiles(whole).parts[0].read_values()] == values
    read = list(SourceFiles(lines).parts[0].read_values())
    assert [each.value for each in read] == [*values, 12345678901, "last"]
    assert read[4].place == "lines.jsonl, line 5"
    monkeypatch.setattr(json_stream, "LONGEST_VALUE", 20)
    with pytest.raises(LimitExceeded):
        list(SourceFiles(whole).parts[0].read_values())


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes('[{"mapping": {}, "title": "Grüße"}]'.encode("latin-1"))
    with pytest.raises(InvalidInput, match="not text in UTF-8: byte 0xfc"):
        list(SourceFiles(path).parts[0].read_values())
    with pytest.raises(InvalidInput, match="There is no file or folder"):
        SourceFiles(tmp_path / "missing.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="holds no file called"):
        SourceFiles(tmp_path / "empty").choose(("conversations*.json",))


def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = samples.write_archive(tmp_path / "bomb.zip", conversations="a" * 20_000_000)
    with pytest.raises(InvalidInput, match="would expand"):
        SourceFiles(path)


def test_objects_in_messagepack_are_read_as_their_fields() -> None:
    value = {
        "a": [1, -3, 2**40, 1.5, None, True, "ü" * 40, b"\x00"],
        "o": samples.Extension(5, ["os", "system", {"x": 1}, "f"]),
    }
    assert decode_msgpack(samples.pack(value)) == {
        "a": [1, -3, 2**40, 1.5, None, True, "ü" * 40, b"\x00"],
        "o": {"type": "system", "x": 1},
    }
    for damaged in (
        samples.pack(value)[:-3],
        samples.pack(value) + b"\x01",
        b"\xc1",
        b"\x91" * 1000,
        b"\xdd\xff\xff\xff\xff",
    ):
        with pytest.raises(ValueError, match=r"."):
            decode_msgpack(damaged)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (1714550000, "2024-05-01T07:53:20Z"),
        (1714550000.5, "2024-05-01T07:53:20.5Z"),
        (1714550000500, "2024-05-01T07:53:20.5Z"),
        ("2024-05-01T07:53:20Z", "2024-05-01T07:53:20Z"),
        ("2024-05-01 07:53:20 UTC", "2024-05-01T07:53:20Z"),
        ("2024/05/01", "2024-05-01"),
    ],
)
def test_times_are_read_in_the_notations_that_products_write(written: object, meant: str) -> None:
    assert parse_time(written) == to_micros(meant)


@pytest.mark.parametrize("written", [None, True, "", "yesterday", -5, float("nan"), float("inf"), {}, "0001-01-01"])
def test_no_time_is_made_up(written: object) -> None:
    assert parse_time(written) is None


def test_a_large_export_is_read_conversation_by_conversation(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "conversations.json"
    one = json.dumps(samples.chatgpt_conversation())
    with path.open("w") as file:
        file.write("[" + ",".join([one] * 8_000) + "]")
    assert path.stat().st_size > 20_000_000
    chosen = find_format("chatgpt")
    tracemalloc.start()
    count = sum(isinstance(each, ForeignConversation) for each in chosen.read(SourceFiles(path)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8_000
    assert peak < 10_000_000
