"""What a message says: a list of blocks, each a text, an image, a tool call or a tool's answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from longmind.errors import InvalidInput
from longmind.models.value import Value
from longmind.validation.annotated import SPOKEN_TEXT, Label, Name, Text
from longmind.validation.text import decode_json, encode_json, make_damage_error, validate_size, validate_text

MESSAGE_LIMIT = 1024 * 1024
"""Bytes of UTF-8 that the content of one message may have, written as JSON."""


class TextBlock(Value):
    type: Literal["text"] = "text"
    text: Text


class ImageBlock(Value):
    type: Literal["image"] = "image"
    url: Text
    mime_type: str


class ToolUseBlock(Value):
    type: Literal["tool_use"] = "tool_use"
    id: str
    name: Name
    arguments: dict[str, Any]


class ToolResultBlock(Value):
    type: Literal["tool_result"] = "tool_result"
    tool_use_id: Label
    content: str | list[TextBlock | ImageBlock]
    is_error: StrictBool = False


Block = Annotated[TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock, Field(discriminator="type")]
Content = str | Sequence[Block | dict[str, Any]]
UserContent = Annotated[Content, SPOKEN_TEXT]
"""Content that a user says, and so is not blank."""

_TEXT_FIELDS = {"type", "text"}
_BLOCKS: TypeAdapter[list[Block]] = TypeAdapter(list[Block])


def encode_content(content: object, field: str = "content", *, may_be_empty: bool = False) -> str:
    """Turn a text or a list of blocks into the JSON that is stored; anything else is refused with its reason."""
    if isinstance(content, str):
        return _encode_text(content, field, may_be_empty=may_be_empty)
    if not isinstance(content, list | tuple):
        raise InvalidInput(f"{field} must be a text or a list of content blocks, not {type(content).__name__}.")
    plain = [block.model_dump() if isinstance(block, Value) else block for block in content]
    encode_json(field, plain, limit=MESSAGE_LIMIT)
    blocks = _validate_blocks(plain, field)
    if not may_be_empty and all(isinstance(block, TextBlock) and not block.text.strip() for block in blocks):
        raise _blank(field)
    return encode_json(field, _BLOCKS.dump_python(blocks, mode="json"), limit=MESSAGE_LIMIT)


def encode_tool_result(tool_use_id: str, content: object, is_error: bool) -> str:
    """The content of a tool's message: one tool_result block."""
    answer = (
        [block.model_dump() if isinstance(block, Value) else block for block in content]
        if isinstance(content, list | tuple)
        else content
    )
    return encode_content([{"type": "tool_result", "toolUseId": tool_use_id, "content": answer, "isError": is_error}])


def decode_content(stored: str) -> list[Block]:
    blocks = decode_json(stored, list)
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == _TEXT_FIELDS:
        # Nearly every message, and many are read at a time.
        return [TextBlock.from_trusted(blocks[0])]
    try:
        return _BLOCKS.validate_python(blocks)
    except ValidationError as error:
        raise make_damage_error() from error


def extract_words(content: list[Block]) -> str:
    """What the blocks say in words."""
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))


def extract_stored_words(stored: str) -> str:
    """What a stored message says in words, those that a tool has answered with included."""
    blocks = decode_json(stored, list)
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == _TEXT_FIELDS:
        return str(blocks[0]["text"])
    said: list[str] = []
    for block in decode_content(stored):
        match block:
            case TextBlock(text=text):
                said.append(text)
            case ToolResultBlock(content=str(answer)):
                said.append(answer)
            case ToolResultBlock(content=answers):
                said += [each.text for each in answers if isinstance(each, TextBlock)]
    return "\n".join(said)


def _encode_text(text: str, field: str, *, may_be_empty: bool) -> str:
    validate_text(field, text)
    if not may_be_empty and not text.strip():
        raise _blank(field)
    encoded = f'[{{"type":"text","text":{json.dumps(text, ensure_ascii=False)}}}]'
    validate_size(field, encoded, MESSAGE_LIMIT)
    return encoded


def _blank(field: str) -> InvalidInput:
    return InvalidInput(f"{field} is blank.", hint="Say something, or do not append the message.")


def _validate_blocks(blocks: list[Any], field: str) -> list[Block]:
    try:
        return _BLOCKS.validate_python(blocks)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        # The second part of the way to the error is the type of the block, which is no field.
        way = (*first["loc"][:1], *first["loc"][2:])
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way)
        raise InvalidInput(
            f"{field}{place}: {first['msg']}.",
            hint="A block is one of {type: text, text}, {type: image, url, mimeType}, "
            "{type: tool_use, id, name, arguments}, {type: tool_result, toolUseId, content, isError}.",
        ) from None


def waits_for_tool(content: Sequence[Block]) -> bool:
    """Return whether content asks for a tool, so that its turn goes on with the tool's answer."""
    return any(isinstance(block, ToolUseBlock) for block in content)
