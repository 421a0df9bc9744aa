"""Conversion between our requests and replies and the messages of pydantic-ai, which must be installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as VendorRequest
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from longmind.errors import InvalidInput
from longmind.models.content import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.models.message import Usage
from longmind.providers.language_model import ModelReply, ModelRequest, StopReason

ANSWER = "answer"
"""The name of the object that an output schema describes."""

_STOP_REASONS: dict[str | None, StopReason] = {
    "length": "max_tokens",
    "content_filter": "refusal",
    "error": "error",
}


def to_messages(request: ModelRequest) -> list[ModelMessage]:
    """Return the conversation of a request; messages of the caller in a row are joined.

    Raises InvalidInput for blocks that do not belong to the role of their message.
    """
    names = {
        block.id: block.name
        for message in request.messages
        for block in message.blocks
        if isinstance(block, ToolUseBlock)
    }
    messages: list[ModelMessage] = []
    for message in request.messages:
        if message.role == "assistant":
            messages.append(ModelResponse(parts=[_to_response_part(block) for block in message.blocks]))
            continue
        parts = list(_to_request_parts(message.blocks, names))
        last = messages[-1] if messages else None
        if isinstance(last, VendorRequest):
            # Some vendors require the two sides to alternate.
            messages[-1] = VendorRequest(parts=[*last.parts, *parts], instructions=request.system)
        else:
            messages.append(VendorRequest(parts=parts, instructions=request.system))
    return messages


def _to_response_part(block: Block) -> ModelResponsePart:
    """Return a block of the assistant as a part of an earlier answer."""
    match block:
        case TextBlock():
            return TextPart(block.text)
        case ToolUseBlock():
            return ToolCallPart(block.name, block.arguments, block.id)
        case ImageBlock() if block.url.startswith("data:"):
            return FilePart(BinaryContent.from_data_uri(block.url))
        case ImageBlock():
            return TextPart(f"[image: {block.url}]")
        case ToolResultBlock():
            raise InvalidInput("A message of the assistant contains a tool_result.", hint="Give it the role tool.")


def _to_request_parts(blocks: list[Block], names: dict[str, str]) -> Iterator[ModelRequestPart]:
    content: list[UserContent] = []
    for block in blocks:
        match block:
            case ToolResultBlock():
                outcome = "failed" if block.is_error else "success"
                name = names.get(block.tool_use_id, "tool")
                yield ToolReturnPart(name, _to_tool_content(block), block.tool_use_id, outcome=outcome)  # type: ignore[arg-type]
            case TextBlock():
                content.append(block.text)
            case ImageBlock():
                content.append(_to_image(block))
            case ToolUseBlock():
                raise InvalidInput("Only a message of the assistant may contain a tool_use.")
    if content:
        texts_only = len(content) == 1 and isinstance(content[0], str)
        yield UserPromptPart(str(content[0]) if texts_only else content)


def _to_tool_content(block: ToolResultBlock) -> Any:
    """Return the result of a tool as one text if it is only text, and as a list of parts otherwise."""
    if isinstance(block.content, str):
        return block.content
    if all(isinstance(part, TextBlock) for part in block.content):
        return "\n".join(part.text for part in block.content if isinstance(part, TextBlock))
    return [part.text if isinstance(part, TextBlock) else _to_image(part) for part in block.content]


def _to_image(block: ImageBlock) -> ImageUrl | BinaryContent:
    """Return an image with its content, or with its address if it is not embedded."""
    if block.url.startswith("data:"):
        return BinaryContent.from_data_uri(block.url)
    return ImageUrl(block.url, media_type=block.mime_type)


def to_parameters(request: ModelRequest) -> ModelRequestParameters:
    """Return the tools of a request and the form of its answer."""
    tools = [
        ToolDefinition(name=tool.name, parameters_json_schema=tool.parameters, description=tool.description or None)
        for tool in request.tools
    ]
    schema = request.output_schema
    if schema is None:
        return ModelRequestParameters(function_tools=tools)
    answer = ToolDefinition(name=ANSWER, parameters_json_schema=schema, description="Give the answer.", kind="output")
    # 'auto' chooses what the model supports: structured output, a tool, or the schema in its instructions.
    return ModelRequestParameters(
        function_tools=tools,
        output_mode="auto",
        output_object=OutputObjectDefinition(schema, name=ANSWER),
        output_tools=[answer],
        allow_text_output=False,
    )


def to_settings(request: ModelRequest, model: Model[Any]) -> ModelSettings:
    """Return the settings of a request, without those that the model does not take."""
    settings = ModelSettings()
    if "max_retries" not in model.unsupported_settings:
        # VendorModel repeats failed attempts itself, in the same way for all vendors.
        settings["max_retries"] = 0
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    # Reasoning models take no temperature, and pydantic-ai would warn the host of a setting that it never made.
    if request.temperature is not None and not _is_reasoning(model):
        settings["temperature"] = request.temperature
    return settings


def _is_reasoning(model: Model[Any]) -> bool:
    """Return whether the model reasons by default."""
    profile = cast("dict[str, Any]", model.profile)
    return bool(profile.get("openai_supports_reasoning") and profile.get("thinking_enabled_by_default"))


def extract_text(event: ModelResponseStreamEvent) -> str:
    """Return the piece of the answer's text in an event, or an empty text."""
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""


def to_reply(response: ModelResponse, name: str, request: ModelRequest, seconds: float, attempts: int) -> ModelReply:
    content = [block for part in response.parts for block in _to_blocks(part, request)]
    calls_tools = any(isinstance(block, ToolUseBlock) for block in content)
    usual: StopReason = "tool_use" if calls_tools else "end_turn"
    return ModelReply(
        content=content,
        stop_reason=_STOP_REASONS.get(response.finish_reason, usual),
        usage=Usage(
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            latency_ms=round(seconds * 1000, 1),
        ),
        model=response.model_name or name.partition(":")[2],
        provider=response.provider_name or name.partition(":")[0],
        dollars=_find_cost(response),
        attempts=attempts,
    )


def _to_blocks(part: ModelResponsePart, request: ModelRequest) -> Iterator[Block]:
    match part:
        case TextPart() if part.content:
            yield TextBlock(text=part.content)
        case ToolCallPart() if part.tool_name == ANSWER and request.output_schema is not None:
            arguments = part.args
            yield TextBlock(text=arguments if isinstance(arguments, str) else part.args_as_json_str())
        case ToolCallPart():
            # Invalid JSON arrives under the key UNREADABLE, so that the model can be asked to correct it.
            yield ToolUseBlock(id=part.tool_call_id, name=part.tool_name, arguments=part.args_as_dict())
        case FilePart():
            yield ImageBlock(url=part.content.data_uri, mime_type=part.content.media_type)


def _find_cost(response: ModelResponse) -> float | None:
    """Return the cost in dollars by the vendor's own account or the public price list; None if unknown."""
    if response.usage.cost is not None:
        return float(response.usage.cost)
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        # The price list does not know the model or the kind of usage.
        return None
