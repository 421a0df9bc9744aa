"""Messages in the shapes that programs have them in, as the ledger takes them.

Read are plain texts, dicts with `role` and `content` as OpenAI (chat completions and responses) and Anthropic write
them, answers of their SDKs, and values of Longmind. Content may be a text or a list of blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from longmind.errors import InvalidInput
from longmind.models.content import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.models.message import GivenMessage, Role
from longmind.models.value import Value
from longmind.validation.text import quote_value

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_TEXTS = ("text", "input_text", "output_text")
_IMAGES = ("image", "image_url", "input_image")
_CALLS = ("tool_use", "server_tool_use", "function_call", "custom_tool_call", "mcp_call")
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")
_FILES = ("file", "input_file", "document", "input_audio", "audio", "video", "container_upload", "search_result")
_UNSAID = ("thinking", "redacted_thinking", "reasoning", "item_reference")
"""Blocks that nobody has said: the thoughts of a model, and references to other items."""
_NO_ROLE = ("message", *_CALLS, *_RESULTS, *_UNSAID)
"""Types of items of the responses API, which stand in a list beside messages."""
_SHAPE = 'Pass a text, {"role": "user", "content": "…"}, or a list of such messages.'
_TIMES = ("created_at", "createdAt", "timestamp")


def read_messages(content: object) -> list[GivenMessage]:
    """Return what was passed to `add` as messages; raise InvalidInput, which names the place, if it is none."""
    if isinstance(content, str):
        if not content.strip():
            raise InvalidInput("The text is empty.", hint="Pass what was said.")
        return [GivenMessage(role="user", content=content)]
    given = _unwrap(_to_plain(content))
    if isinstance(given, Mapping):
        messages = _read_item(given, "The message")
    elif isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        if not given:
            raise InvalidInput("The list of messages is empty.", hint=_SHAPE)
        messages = []
        for place, each in enumerate(given):
            messages += _read_listed(each, f"messages[{place}]")
        messages = _name_speakers(messages, given)
    else:
        raise InvalidInput(f"A message cannot be {_describe(content)}.", hint=_SHAPE)
    if not messages:
        raise InvalidInput("There is nothing to remember: nothing was said in it.", hint=_SHAPE)
    return messages


def _read_listed(given: object, where: str) -> list[GivenMessage]:
    """Return the messages of one item of a list."""
    plain = _unwrap(_to_plain(given))
    if isinstance(plain, str):
        raise InvalidInput(
            f"{where} is a text without a role.", hint='Write {"role": "user", "content": "…"}, or add each text alone.'
        )
    # The output of an answer of the responses API is a list itself.
    if isinstance(plain, list):
        return [message for number, each in enumerate(plain) for message in _read_listed(each, f"{where}[{number}]")]
    if not isinstance(plain, Mapping):
        raise InvalidInput(f"{where} cannot be {_describe(given)}.", hint=_SHAPE)
    return _read_item(plain, where)


def _to_plain(given: object) -> object:
    """Return a value of an SDK or of Longmind as a dict."""
    if isinstance(given, Value):
        return given.model_dump(by_alias=False)
    if hasattr(given, "model_dump") and not isinstance(given, type):
        return given.model_dump(exclude_none=True)
    return given


def _unwrap(given: object) -> object:
    """Return the message or the items in the whole answer of a model; anything else as it is."""
    if isinstance(given, Mapping) and "role" not in given:
        if isinstance(choices := given.get("choices"), list) and choices:
            return choices[0].get("message", given) if isinstance(choices[0], Mapping) else given
        if isinstance(output := given.get("output"), list) and given.get("type") not in _NO_ROLE:
            return output
        if "user_message" in given and "assistant_message" in given:
            return [given["user_message"], given["assistant_message"]]
    return given


def _read_item(given: Mapping[str, Any], where: str) -> list[GivenMessage]:
    """Return the messages of one dict: a message, or a call or a result beside messages."""
    kind = given.get("type")
    if "role" not in given:
        if kind in _UNSAID:
            return []
        if kind in _CALLS:
            return [GivenMessage(role="assistant", content=[_read_call(given, where)], created_at=_read_time(given))]
        if kind in _RESULTS:
            return [_to_tool_message(_read_result(given, where), None, _read_time(given))]
        # LangChain writes the role as a type.
        if kind not in _ROLES:
            fields = ", ".join(map(repr, given)) or "no fields"
            raise InvalidInput(f"{where} has no 'role', only {fields}.", hint=_SHAPE)
    role = _read_role(given.get("role", kind), where)
    content = given.get("content")
    # OpenAI writes calls beside the content, which is None then.
    calls = [*_list(given.get("tool_calls"), f"{where}.tool_calls"), *_list_old_call(given)]
    if content is None and not calls and given.get("refusal") is None:
        missing = "no 'content'" if "content" not in given else "content None"
        raise InvalidInput(f"{where} has {missing}.", hint=_SHAPE)
    at = _read_time(given)
    if role == "tool":
        return [_read_tool_message(given, content, where, at)]
    blocks = _read_content(content, f"{where}.content")
    if isinstance(refusal := given.get("refusal"), str) and refusal:
        blocks.append(TextBlock(text=refusal))
    blocks += [_read_call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(calls)]
    return _split_results(role, blocks, where, at)


def _read_role(given: object, where: str) -> Role:
    """Return the role of the ledger for a role of any vendor."""
    role = _ROLES.get(given.casefold()) if isinstance(given, str) else None
    if role is None:
        raise InvalidInput(
            f"{where} has the unknown role {quote_value(given)}.", hint="Use user, assistant, system or tool."
        )
    return role


def _read_time(given: Mapping[str, Any]) -> Any:
    """Return the time that a message names, unchecked."""
    return next((given[name] for name in _TIMES if given.get(name) is not None), None)


def _split_results(role: Role, blocks: list[Block], where: str, at: Any) -> list[GivenMessage]:
    """Return a message, and before it those of the results of tools in it: they are rows of their own."""
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    rest = [block for block in blocks if not isinstance(block, ToolResultBlock)]
    messages = [_to_tool_message(block, None, at) for block in results]
    # Blocks that hold no words: an assistant may only call tools, or only think.
    is_blank = all(isinstance(block, TextBlock) and not block.text.strip() for block in rest)
    if is_blank and (messages or role == "assistant"):
        # An assistant that only thought, or a user's message that only carries results.
        return messages
    if is_blank:
        raise InvalidInput(f"{where} is empty: its content has no text.", hint="Pass what was said, or leave it out.")
    return [*messages, GivenMessage(role=role, content=rest, created_at=at)]


def _read_content(content: object, where: str) -> list[Block]:
    """Return content as blocks of the ledger."""
    if content is None:
        return []
    if isinstance(content, str):
        return [TextBlock(text=content)]
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Iterable):
        raise InvalidInput(
            f"{where} must be a text or a list of content blocks, not {type(content).__name__}.", hint=_SHAPE
        )
    blocks: list[Block] = []
    for place, each in enumerate(content):
        blocks += _read_block(_to_plain(each), f"{where}[{place}]")
    return blocks


def _read_block(given: object, where: str) -> list[Block]:
    """Return one block of content; nothing for what nobody has said."""
    if isinstance(given, str):
        return [TextBlock(text=given)]
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{where} must be a text or a block, not {type(given).__name__}.")
    kind = given.get("type")
    if kind in _TEXTS:
        return [TextBlock(text=_require_text(given, "text", where))]
    if kind == "refusal":
        return [TextBlock(text=_require_text(given, "refusal", where))]
    if kind in _IMAGES:
        return [_read_image(given, where)]
    if kind in _CALLS:
        return [_read_call(given, where)]
    if kind in _RESULTS or (isinstance(kind, str) and kind.endswith("_tool_result")):
        return [_read_result(given, where)]
    if kind in _FILES:
        return [TextBlock(text=f"[{_name_file(given)}]")]
    if kind in _UNSAID:
        return []
    known = ", ".join(("text", "image", "tool_use", "tool_result", "input_text", "image_url", "output_text"))
    raise InvalidInput(f"{where} has the unknown type {quote_value(kind)}.", hint=f"Known types are {known}.")


def _require_text(given: Mapping[str, Any], name: str, where: str) -> str:
    """Return a field that must be a text."""
    text = given.get(name)
    if not isinstance(text, str):
        raise InvalidInput(f"{where}.{name} must be a text, not {type(text).__name__}.")
    return text


def _read_image(given: Mapping[str, Any], where: str) -> ImageBlock:
    """Return an image with its address, or with its data as one."""
    source = given.get("source")
    # The address of an image may also be the id of a file that the vendor keeps.
    if isinstance(source, Mapping):
        # Anthropic: either an address or the data itself.
        media = str(source.get("media_type") or "image/*")
        url = source.get("url") or (f"data:{media};base64,{source['data']}" if source.get("data") else None)
        url = url or source.get("file_id")
    else:
        media = str(given.get("mime_type") or given.get("mimeType") or "image/*")
        url = given.get("image_url", given.get("url")) or given.get("file_id")
        if isinstance(url, Mapping):
            url = url.get("url")
    if not isinstance(url, str) or not url:
        raise InvalidInput(f"{where} is an image without an address or data.")
    return ImageBlock(url=url, mime_type=media)


def _read_call(given: object, where: str) -> ToolUseBlock:
    """Return a call of a tool, in any of the forms in which models make them."""
    plain = _to_plain(given)
    if not isinstance(plain, Mapping):
        raise InvalidInput(f"{where} must be a call of a tool, not {type(plain).__name__}.")
    function = plain.get("function")
    named = function if isinstance(function, Mapping) else plain
    name = named.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{where} is a call without the name of a tool.")
    arguments: object = next(
        (named[each] for each in ("arguments", "input", "args") if named.get(each) is not None), {}
    )
    if isinstance(arguments, str):
        arguments = _decode_arguments(arguments)
    if not isinstance(arguments, Mapping):
        arguments = {"input": arguments}
    return ToolUseBlock(id=str(plain.get("call_id") or plain.get("id") or name), name=name, arguments=dict(arguments))


def _decode_arguments(text: str) -> object:
    """Return arguments that a model has written as JSON."""
    # A model may write arguments that are no JSON; what it wrote is kept as it is.
    try:
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text


def _read_result(given: Mapping[str, Any], where: str) -> ToolResultBlock:
    """Return the result of a tool, with the id of its call."""
    call = given.get("tool_use_id") or given.get("toolUseId") or given.get("call_id")
    if not isinstance(call, str) or not call:
        raise InvalidInput(f"{where} is a result without the id of its call.", hint="Name it in tool_use_id.")
    content = given.get("content", given.get("output"))
    return ToolResultBlock(
        tool_use_id=call, content=_read_answer(content, where), is_error=bool(given.get("is_error") or False)
    )


def _read_answer(content: object, where: str) -> str | list[TextBlock | ImageBlock]:
    """Return what a tool has answered: texts and images as they are, anything else as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(each, Mapping) and each.get("type") in _TEXTS for each in content):
        return [TextBlock(text=_require_text(each, "text", where)) for each in content]
    if isinstance(content, list) and all(isinstance(each, Mapping) and "type" in each for each in content):
        try:
            blocks = _read_content(content, where)
        except InvalidInput:
            blocks = []
        shown = [block for block in blocks if isinstance(block, TextBlock | ImageBlock)]
        if shown and len(shown) == len(blocks):
            return shown
    return json.dumps(content, ensure_ascii=False, default=str)


def _read_tool_message(given: Mapping[str, Any], content: object, where: str, at: Any) -> GivenMessage:
    """Return a message of the role `tool`."""
    # Our own messages hold the result as a block.
    if isinstance(content, list) and len(content) == 1:
        only = _to_plain(content[0])
        if isinstance(only, Mapping) and only.get("type") == "tool_result":
            return _to_tool_message(_read_result(only, where), given.get("tool_name"), at)
    call = given.get("tool_call_id") or given.get("tool_use_id") or given.get("call_id") or given.get("name")
    if not isinstance(call, str) or not call:
        raise InvalidInput(
            f"{where} is a tool's message without the id of its call.", hint="Pass tool_call_id, as the model sent it."
        )
    result = ToolResultBlock(tool_use_id=call, content=_read_answer(content, where))
    return _to_tool_message(result, given.get("name"), at)


def _to_tool_message(result: ToolResultBlock, name: Any, at: Any) -> GivenMessage:
    """Return a result as the row of the ledger that it becomes."""
    return GivenMessage(
        role="tool",
        content=result.content,
        tool_use_id=result.tool_use_id,
        tool_name=name if isinstance(name, str) and name else None,
        is_error=result.is_error,
        created_at=at,
    )


def _list(given: object, where: str) -> list[Any]:
    """Return a field that may be missing as a list."""
    if given is None:
        return []
    if not isinstance(given, list | tuple):
        raise InvalidInput(f"{where} must be a list, not {type(given).__name__}.")
    return list(given)


def _list_old_call(given: Mapping[str, Any]) -> list[Any]:
    """Return the call in the form that came before `tool_calls`."""
    call = given.get("function_call")
    return [] if call is None else [call]


def _name_file(given: Mapping[str, Any]) -> str:
    """Return the words that stand for a file: its kind and its name."""
    inner = given.get("file") if isinstance(given.get("file"), Mapping) else given
    names = (inner.get(each) for each in ("filename", "title", "name")) if isinstance(inner, Mapping) else ()
    name = next((each for each in names if isinstance(each, str) and each), None)
    kind = str(given.get("type")).removeprefix("input_")
    return kind if name is None else f"{kind} {name}"


def _name_speakers(messages: list[GivenMessage], given: Sequence[Any]) -> list[GivenMessage]:
    """Put the names before what users say where there are several: only then it matters who of them speaks."""
    plain = [_to_plain(each) for each in given]
    named = [
        each.get("name") if isinstance(each, Mapping) and each.get("role") in ("user", "human") else None
        for each in plain
    ]
    names = {name for name in named if isinstance(name, str) and name.strip()}
    users = [message for message in messages if message.role == "user"]
    turns = [each for each in plain if isinstance(each, Mapping) and each.get("role") in ("user", "human")]
    if len(names) < 2 or len(users) != len(turns):
        return messages
    by_turn = iter([each.get("name") for each in turns])
    return [_put_name(message, next(by_turn)) if message.role == "user" else message for message in messages]


def _put_name(message: GivenMessage, name: object) -> GivenMessage:
    """Put the name of a speaker before the first text of a message."""
    blocks = list(message.content)
    if isinstance(name, str) and name.strip() and isinstance(blocks[0], TextBlock):
        blocks[0] = TextBlock(text=f"{name.strip()}: {blocks[0].text}")
    return message.model_copy(update={"content": blocks})


def _describe(given: object) -> str:
    """Return the words for something that is no message."""
    if given is None:
        return "None"
    if isinstance(given, bytes | bytearray):
        return "bytes"
    if hasattr(given, "__await__"):
        return "a coroutine, which was not awaited"
    return f"of the type {type(given).__name__}"
