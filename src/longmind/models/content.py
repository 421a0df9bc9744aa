"""Content of messages: lists of blocks, each a text, an image, a tool call or a tool's answer.

Content is stored as JSON with the camelCase names of the blocks. It is checked once, when it is appended, so
stored content is read without full validation where it is a single text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from longmind.errors import InvalidInput
from longmind.models.value import Value
from longmind.validation.parameter_limits import SPOKEN_TEXT, Label, Name, Text
from longmind.validation.text import decode_json, encode_json, make_damage_error, validate_size, validate_text

MESSAGE_LIMIT = 1024 * 1024
"""Bytes of UTF-8 in the content of one message, written as JSON."""


class TextBlock(Value):
    """A text."""

    type: Literal["text"] = "text"
    text: Text


class ImageBlock(Value):
    """An image by its address, which may be a data URL."""

    type: Literal["image"] = "image"
    url: Text
    mime_type: str


class ToolUseBlock(Value):
    """A call of a tool by the model."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    name: Name
    arguments: dict[str, Any]


class ToolResultBlock(Value):
    """The result of the tool call with the same id."""

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
    """Return a text or a list of blocks as the JSON that is stored.

    Raises InvalidInput for blank or malformed content and LimitExceeded beyond 1 MiB of JSON.
    """
    if isinstance(content, str):
        return _encode_text(content, field, may_be_empty=may_be_empty)
    if not isinstance(content, list | tuple):
        raise InvalidInput(
            f"{field} must be a text or a list of content blocks, not {type(content).__name__}.",
            hint='Pass the text itself, or blocks such as [{"type": "text", "text": "…"}].',
        )
    plain = [block.model_dump() if isinstance(block, Value) else block for block in content]
    encode_json(field, plain, limit=MESSAGE_LIMIT)
    blocks = _validate_blocks(plain, field)
    if not may_be_empty and all(isinstance(block, TextBlock) and not block.text.strip() for block in blocks):
        raise _blank(field)
    return encode_json(field, _BLOCKS.dump_python(blocks, mode="json"), limit=MESSAGE_LIMIT)


def encode_tool_result(tool_use_id: str, content: object, is_error: bool) -> str:
    """Return the content of a tool's message as stored JSON: one tool_result block."""
    answer = (
        [block.model_dump() if isinstance(block, Value) else block for block in content]
        if isinstance(content, list | tuple)
        else content
    )
    return encode_content([{"type": "tool_result", "toolUseId": tool_use_id, "content": answer, "isError": is_error}])


def decode_content(stored: str) -> list[Block]:
    """Return the blocks of stored JSON; raise StoreError if it was damaged since it was written."""
    blocks = decode_json(stored, list)
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == _TEXT_FIELDS:
        # The shape of nearly every message, and many are read at a time.
        return [TextBlock.from_trusted(blocks[0])]
    try:
        return _BLOCKS.validate_python(blocks)
    except ValidationError as error:
        raise make_damage_error() from error


def extract_words(content: list[Block]) -> str:
    """Return the texts of blocks, one per line, without tool calls and results."""
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))


def extract_text(content: Sequence[Block]) -> str:
    """Return the texts of blocks and of results of tools, one per line, without those that are empty."""
    return "\n".join(part for part in map(_read_block, content) if part)


def extract_stored_text(stored: str) -> str:
    """Return what `extract_text` returns for stored content."""
    blocks = decode_json(stored, list)
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == _TEXT_FIELDS:
        return str(blocks[0]["text"])
    return extract_text(decode_content(stored))


def _read_block(block: Block) -> str:
    """Return the text of a content block, or nothing."""
    match block:
        case TextBlock(text=text):
            return text
        case ToolResultBlock(content=str(text)):
            return text
        case ToolResultBlock(content=parts):
            return "\n".join(part.text for part in parts if isinstance(part, TextBlock))
        case _:
            return ""


def extract_stored_words(stored: str) -> str:
    """Return the texts of a stored message, one per line, answers of tools included."""
    blocks = decode_json(stored, list)
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == _TEXT_FIELDS:
        return str(blocks[0]["text"])
    texts: list[str] = []
    for block in decode_content(stored):
        match block:
            case TextBlock(text=text):
                texts.append(text)
            case ToolResultBlock(content=str(answer)):
                texts.append(answer)
            case ToolResultBlock(content=answers):
                texts += [each.text for each in answers if isinstance(each, TextBlock)]
    return "\n".join(texts)


def _encode_text(text: str, field: str, *, may_be_empty: bool) -> str:
    validate_text(field, text)
    if not may_be_empty and not text.strip():
        raise _blank(field)
    encoded = f'[{{"type":"text","text":{json.dumps(text, ensure_ascii=False)}}}]'
    validate_size(field, encoded, MESSAGE_LIMIT)
    return encoded


def _blank(field: str) -> InvalidInput:
    return InvalidInput(f"{field} is blank.", hint="Pass some text, or do not append the message.")


def _validate_blocks(blocks: list[Any], field: str) -> list[Block]:
    try:
        return _BLOCKS.validate_python(blocks)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        # The second part of the location is the type of the block, which is no field.
        way = (*first["loc"][:1], *first["loc"][2:])
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way)
        raise InvalidInput(
            f"{field}{place}: {first['msg']}.",
            hint="Pass blocks of {type: text, text}, {type: image, url, mimeType}, "
            "{type: tool_use, id, name, arguments}, {type: tool_result, toolUseId, content, isError}.",
        ) from None


def waits_for_tool(content: Sequence[Block]) -> bool:
    """Return whether content asks for a tool, so that its turn goes on with the tool's answer."""
    return any(isinstance(block, ToolUseBlock) for block in content)
