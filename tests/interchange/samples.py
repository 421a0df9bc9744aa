"""Files of other products, written by hand in the shapes that these products export."""

from __future__ import annotations

import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

MEM0 = {
    "results": [
        {
            "id": "0b6f4c1e-7a51-4d8e-9f0e-1f0a5f1d9a01",
            "memory": "Ada is allergic to peanuts",
            "hash": "5e4d",
            "metadata": {"category": "health", "source": "chat"},
            "score": None,
            "created_at": "2025-07-01T09:30:00.123456-07:00",
            "updated_at": "2025-07-01T09:30:00.123456-07:00",
            "user_id": "ada",
        },
        {
            "id": "0b6f4c1e-7a51-4d8e-9f0e-1f0a5f1d9a02",
            "memory": "Ada lives in Graz",
            "created_at": "2025-07-02T10:00:00Z",
            "updated_at": None,
            "user_id": "ada",
            "categories": ["personal_details"],
            "expiration_date": "2099-12-31",
        },
        {
            "id": "0b6f4c1e-7a51-4d8e-9f0e-1f0a5f1d9a03",
            "memory": "Planned the trip to Graz step by step",
            "created_at": "2025-07-03T10:00:00Z",
            "agent_id": "planner",
        },
        {"id": "0b6f4c1e-7a51-4d8e-9f0e-1f0a5f1d9a04", "memory": " ", "user_id": "ada"},
    ]
}

ZEP = {
    "thread_id": "thread-7",
    "user_id": "ada",
    "created_at": "2025-03-01T08:00:00Z",
    "messages": [
        {
            "uuid": "m-2",
            "role": "assistant",
            "content": "Noted, Vienna it is.",
            "created_at": "2025-03-01T08:01:05Z",
            "processed": True,
        },
        {
            "uuid": "m-1",
            "role": "user",
            "name": "Ada",
            "content": "I have moved to Vienna.",
            "created_at": "2025-03-01T08:01:00Z",
        },
        {"uuid": "m-3", "role": "system", "content": "Be brief.", "created_at": "2025-03-01T08:00:00Z"},
    ],
    "edges": [
        {
            "uuid": "e-1",
            "name": "LIVES_IN",
            "fact": "Ada lives in Graz.",
            "created_at": "2025-03-01T08:02:00Z",
            "valid_at": "2020-01-01T00:00:00Z",
            "invalid_at": "2025-03-01T08:01:00Z",
            "source_node_uuid": "n-1",
            "target_node_uuid": "n-2",
            "episodes": ["m-1"],
        },
        {"uuid": "e-2", "name": "LIVES_IN", "fact": "Ada lives in Vienna.", "created_at": "2025-03-01T08:02:00Z"},
    ],
    "nodes": [
        {"uuid": "n-1", "name": "Ada", "summary": "Ada is an engineer.", "labels": ["Person"]},
        {"uuid": "n-2", "name": "Graz", "summary": "", "labels": ["City"]},
    ],
}


def _letta_message(number: int, role: str, content: object, **more: Any) -> dict[str, Any]:
    return {
        "id": f"message-{number}",
        "role": role,
        "content": content,
        "name": None,
        "tool_calls": None,
        "tool_call_id": None,
        "tool_returns": [],
        "created_at": f"2025-05-01T12:00:{number:02}+00:00",
        **more,
    }


def _packed(kind: str, message: str) -> str:
    return json.dumps({"type": kind, "message": message, "time": "2025-05-01 12:00:01 PM UTC+0000"})


def _call(name: str, **arguments: str) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [{"id": "call_1", "function": function, "type": "function"}]


LETTA = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Sam",
            "agent_type": "memgpt_v2_agent",
            "system": "You are Sam.",
            "block_ids": ["block-0", "block-1"],
            "in_context_message_ids": ["message-0"],
            "messages": [
                _letta_message(0, "system", [{"type": "text", "text": "You are Sam."}]),
                _letta_message(
                    1,
                    "assistant",
                    [{"type": "text", "text": "Bootup."}],
                    tool_calls=_call("send_message", message="Hi!"),
                ),
                _letta_message(2, "tool", [{"type": "text", "text": '{"status": "OK"}'}], tool_call_id="call_1"),
                _letta_message(3, "user", [{"type": "text", "text": _packed("login", "Ada logged in")}]),
                _letta_message(
                    4, "user", [{"type": "text", "text": _packed("user_message", "My cat is called Miso.")}]
                ),
                _letta_message(
                    5,
                    "assistant",
                    [{"type": "text", "text": "She has a cat. I should greet it."}],
                    tool_calls=_call("send_message", message="Hello Miso!"),
                ),
            ],
        }
    ],
    "groups": [],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "# About\n- Name: Ada\n- Likes tea\n", "limit": 5000},
        {"id": "block-1", "label": "persona", "value": "I am Sam, who is kind.", "limit": 5000},
    ],
    "files": [],
    "sources": [],
    "tools": [{"id": "tool-0", "name": "send_message"}],
    "mcp_servers": [],
    "metadata": {"revision_id": "abc"},
    "created_at": "2025-05-02T00:00:00Z",
}

LETTA_OLD = {
    "agent_type": "letta_v1_agent",
    "name": "Old Sam",
    "system": "You are Sam.",
    "core_memory": [
        {
            "label": "human",
            "value": "Ada plays the cello.",
            "created_at": "2025-01-01T00:00:00",
            "updated_at": "2025-02-01T00:00:00",
        }
    ],
    "in_context_message_indices": [0],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Good morning."}], "created_at": "2025-01-01T00:00:01"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Good morning!"}],
            "created_at": "2025-01-01T00:00:02",
        },
    ],
}


def _node(
    node_id: str,
    parent: str | None,
    children: list[str],
    role: str = "",
    text: object = None,
    at: float = 0.0,
    **more: Any,
) -> dict[str, Any]:
    message = None
    if role:
        content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
        message = {
            "id": node_id,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": at,
            "update_time": None,
            "content": content,
            "status": "finished_successfully",
            "end_turn": True,
            "weight": 1.0,
            "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
            "recipient": "all",
            "channel": None,
            **more,
        }
    return {"id": node_id, "message": message, "parent": parent, "children": children}


def chatgpt_conversation(key: str = "c-1", later: bool = False) -> dict[str, Any]:
    """A conversation with a hidden message, a call of a tool, and a question that was edited; `later` it has grown."""
    nodes = [
        _node("root", None, ["hidden"]),
        _node(
            "hidden",
            "root",
            ["old-question", "question"],
            "system",
            "",
            1714550000.0,
            metadata={"is_visually_hidden_from_conversation": True},
        ),
        _node("old-question", "hidden", ["old-answer"], "user", "Where is Graz", 1714550001.0),
        _node("old-answer", "old-question", [], "assistant", "In Austria.", 1714550002.0),
        _node("question", "hidden", ["call"], "user", "I moved to Graz last week. What is the weather?", 1714550010.5),
        _node(
            "call",
            "question",
            ["result"],
            "assistant",
            {"content_type": "code", "language": "unknown", "text": 'search("Graz")'},
            1714550011.0,
            recipient="web",
        ),
        _node("result", "call", ["answer"], "tool", "Sunny", 1714550012.0),
        _node("answer", "result", ["thanks"] if later else [], "assistant", "Sunny, enjoy it.", 1714550013.0),
    ]
    if later:
        spoken = {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "Thanks!"]}
        nodes += [
            _node("thanks", "answer", ["welcome"], "user", spoken, 1714560000.0),
            _node("welcome", "thanks", [], "assistant", "You are welcome.", 1714560001.0),
        ]
    return {
        "title": "Weather in Graz",
        "create_time": 1714550000.123,
        "update_time": 1714550020.0,
        "mapping": {node["id"]: node for node in nodes},
        "moderation_results": [],
        "current_node": "welcome" if later else "answer",
        "plugin_ids": None,
        "conversation_id": key,
        "gizmo_id": None,
        "id": key,
    }


CLAUDE = [
    {
        "uuid": "cl-1",
        "name": "Cello strings",
        "summary": "",
        "created_at": "2025-04-01T10:00:00.000000Z",
        "updated_at": "2025-04-01T10:05:00.000000Z",
        "account": {"uuid": "acc-1"},
        "chat_messages": [
            {
                "uuid": "clm-1",
                "text": "I play the cello.",
                "content": [{"start_timestamp": None, "type": "text", "text": "I play the cello.", "citations": []}],
                "sender": "human",
                "created_at": "2025-04-01T10:00:01.000000Z",
                "updated_at": "2025-04-01T10:00:01.000000Z",
                "attachments": [{"file_name": "a.txt", "file_size": 3, "file_type": "txt", "extracted_content": "abc"}],
                "files": [],
            },
            {
                "uuid": "clm-2",
                "text": "Which strings do you use?",
                "content": [
                    {"type": "thinking", "thinking": "Ask back."},
                    {"type": "tool_use", "name": "web_search", "input": {}},
                    {"type": "text", "text": "Which strings do you use?"},
                ],
                "sender": "assistant",
                "created_at": "2025-04-01T10:00:05.000000Z",
                "updated_at": "2025-04-01T10:00:05.000000Z",
                "attachments": [],
                "files": [],
            },
        ],
    },
    {"uuid": "cl-2", "name": "", "created_at": "2025-04-02T10:00:00Z", "updated_at": "", "chat_messages": []},
]

CLAUDE_NOTES = [
    {
        "conversations_memory": "**Work context**\n\nAda works at Initech.\n\n**Personal**\n\n- Plays the cello.\n",
        "project_memories": {"p-1": "Ships a compiler."},
        "account_uuid": "acc-1",
    }
]


def _code_line(kind: str, number: int, content: object, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-5"}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/compiler",
        "sessionId": "s-1",
        "version": "2.1.0",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": f"u-{number}",
        "timestamp": f"2025-06-01T09:00:{number:02}.000Z",
        **more,
    }


CLAUDE_CODE: list[dict[str, Any]] = [
    {"type": "summary", "summary": "Tabs in the compiler", "leafUuid": "u-4"},
    {"type": "file-history-snapshot", "messageId": "u-1", "snapshot": {}, "isSnapshotUpdate": False},
    _code_line("user", 1, "Caveat: the messages below were made by a command.", isMeta=True),
    _code_line("user", 2, "Always use tabs in this project."),
    _code_line("assistant", 3, [{"type": "thinking", "thinking": "Tabs.", "signature": "x"}]),
    _code_line("assistant", 4, [{"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {"path": "a"}}]),
    _code_line("user", 5, [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}], toolUseResult={}),
    _code_line("assistant", 6, [{"type": "text", "text": "I will use tabs."}]),
    _code_line("assistant", 7, [{"type": "text", "text": "I am a helper."}], isSidechain=True),
    _code_line("user", 8, "<command-name>/clear</command-name>"),
]

MCP_MEMORY = [
    {"type": "entity", "name": "Ada_Lovelace", "entityType": "person", "observations": ["Speaks French", "Has a cat"]},
    {"type": "entity", "name": "Initech", "entityType": "organization", "observations": []},
    {"type": "relation", "from": "Ada_Lovelace", "to": "Initech", "relationType": "works_at"},
]

BASIC_MEMORY = """---
title: Coffee Brewing
type: note
permalink: coffee/brewing
tags:
- coffee
- kitchen
created: 2025-02-03T04:05:06Z
---

# Coffee Brewing

Some prose about coffee.

## Observations
- [method] Pour over gives the most clarity #brewing (by taste)
- [preference] Ada likes her coffee black #taste
- [ ] Buy a scale
- [00:12] A line of a transcript

## Relations
- requires [[Water Quality]]
- "pairs well with" [[Chocolate]] (dark)
"""

MARKDOWN = """# Ada

Ada is an engineer
who lives in Graz.

## Food
- Allergic to peanuts
- [x] Likes black coffee

```python
print("no fact")
```

| a | table |
"""

JSONL = [
    {
        "id": "talk-1",
        "title": "Moving",
        "messages": [
            {"role": "user", "content": "I moved to Graz.", "timestamp": 1714550000},
            {"role": "assistant", "content": [{"type": "text", "text": "Welcome!"}]},
            {"role": "narrator", "content": "Silence."},
        ],
    },
    {
        "text": "Ada is allergic to peanuts.",
        "category": "health",
        "importance": 5,
        "created_at": "2025-01-01",
        "team": "x",
    },
    "Ada likes tea.",
    {"role": "user", "content": "And I have a cat."},
    {"role": "assistant", "content": "What is its name?"},
]

STORE_ITEMS = [
    ("memories.ada", "k-1", {"text": "Ada likes tea", "kind": "food"}),
    ("memories.ada", "k-2", {"kind": "Memory", "content": {"content": "Ada has a cat"}}),
    ("memories.bob", "k-3", {"memory": "Bob likes beer"}),
]


def pack(value: Any) -> bytes:
    """MessagePack, as the serializer of LangGraph writes it."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return bytes([value]) if 0 <= value < 128 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode()
        return (bytes([0xA0 | len(text)]) if len(text) < 32 else b"\xda" + struct.pack(">H", len(text))) + text
    if isinstance(value, bytes):
        return b"\xc4" + bytes([len(value)]) + value
    if isinstance(value, Extension):
        return b"\xc8" + struct.pack(">H", len(value.data)) + bytes([value.code]) + value.data
    if isinstance(value, dict):
        inner = b"".join(pack(key) + pack(each) for key, each in value.items())
        return (bytes([0x80 | len(value)]) if len(value) < 16 else b"\xde" + struct.pack(">H", len(value))) + inner
    inner = b"".join(map(pack, value))
    return (bytes([0x90 | len(value)]) if len(value) < 16 else b"\xdc" + struct.pack(">H", len(value))) + inner


class Extension:
    """An object of Python in MessagePack."""

    def __init__(self, code: int, value: Any) -> None:
        self.code = code
        self.data = pack(value)


def _chat_message(name: str, key: str, content: object) -> Extension:
    fields = {
        "content": content,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": name.removesuffix("Message").lower(),
        "name": None,
        "id": key,
    }
    return Extension(5, ["langchain_core.messages", name, fields, "model_validate_json"])


def make_langgraph(path: Path) -> Path:
    """A database with a store and with the checkpoints of one thread."""
    human = _chat_message("HumanMessage", "h-1", "My dog is called Rex.")
    ai = _chat_message("AIMessage", "a-1", [{"type": "text", "text": "Hello Rex!"}])
    tool = _chat_message("ToolMessage", "t-1", "42")
    states = [("2025-05-01T10:00:00+00:00", [human]), ("2025-05-01T10:00:05+00:00", [human, tool, ai])]
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL,"
            " created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,"
            " expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key))"
        )
        database.execute(
            "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',"
            " checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,"
            " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))"
        )
        for prefix, key, value in STORE_ITEMS:
            database.execute(
                "INSERT INTO store (prefix, key, value, created_at) VALUES (?, ?, ?, '2025-05-01 09:00:00')",
                (prefix, key, json.dumps(value)),
            )
        for number, (at, messages) in enumerate(states):
            state = {"v": 4, "id": f"1f0-{number}", "ts": at, "channel_values": {"messages": messages}}
            database.execute(
                "INSERT INTO checkpoints VALUES ('thread-1', '', ?, NULL, 'msgpack', ?, '{}')",
                (state["id"], pack(state)),
            )
        database.commit()
    return path


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def write_archive(path: Path, **members: object) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(f"export/{name}.json", json.dumps(value))
    return path


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "mem0": lambda folder: write_json(folder / "mem0.json", MEM0),
    "zep": lambda folder: write_json(folder / "zep.json", ZEP),
    "letta": lambda folder: write_json(folder / "sam.af", LETTA),
    "langgraph": lambda folder: make_langgraph(folder / "langgraph.db"),
    "chatgpt": lambda folder: write_json(folder / "conversations.json", [chatgpt_conversation()]),
    "claude": lambda folder: write_json(folder / "conversations.json", CLAUDE),
    "claude-code": lambda folder: write_lines(folder / "s-1.jsonl", CLAUDE_CODE),
    "jsonl": lambda folder: write_lines(folder / "notes.jsonl", JSONL),
    "markdown": lambda folder: write_text(folder / "ada.md", MARKDOWN),
    "basic-memory": lambda folder: write_text(folder / "coffee.md", BASIC_MEMORY),
    "mcp-memory": lambda folder: write_lines(folder / "memory.jsonl", MCP_MEMORY),
}
"""A small file of each format."""
