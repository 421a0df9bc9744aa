"""Arguments of each tool: the one declaration that validates them and that models see as JSON schema."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from longmind.errors import ToolError
from longmind.models.tool import EntryType
from longmind.tools.redaction import redact
from longmind.validation.text import to_storable, validate_text

CONTENT_LIMIT = 2000
TAGS_LIMIT = 10
TAG_LIMIT = 50
QUERY_LIMIT = 500
RESULTS_LIMIT = 100
ARGUMENTS_STAGE = 3
"""The stage of a call at which its arguments are validated."""
RECORDED = frozenset({"id", "session_id", "group", "created_at", "behavioral", "superseded_by"})
"""Fields that the host records and no caller may claim."""
_MAX_NAME = 100

A = TypeVar("A", bound="Arguments")


def _validate_words(text: str) -> str:
    return validate_text("It", text, blank=False)


# The length is validated first, so that the message is about the length.
Content = Annotated[str, Field(min_length=1, max_length=CONTENT_LIMIT), AfterValidator(_validate_words)]
Tag = Annotated[str, Field(min_length=1, max_length=TAG_LIMIT), AfterValidator(_validate_words)]
EntryId = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_validate_words)]
Query = Annotated[str, Field(max_length=QUERY_LIMIT), AfterValidator(to_storable)]


class Arguments(BaseModel):
    """Arguments of a tool. Unknown names and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class StoreArguments(Arguments):
    """Arguments of memory_store."""

    type: Annotated[EntryType, Field(description="The type of the memory.")]
    content: Annotated[Content, Field(description="The memory, in words that are clear on their own.")]
    tags: Annotated[list[Tag], Field(max_length=TAGS_LIMIT, description="Keywords to find it by.")] = []
    supersedes: Annotated[EntryId | None, Field(description="The id of the entry that this one replaces.")] = None


class SearchArguments(Arguments):
    """Arguments of memory_search."""

    query: Annotated[Query | None, Field(description="The topic to find, in any words.")] = None
    tags: Annotated[list[Tag], Field(description="Tags that an entry must all have.")] = []
    type: Annotated[EntryType | None, Field(description="Only entries of this type.")] = None
    include_superseded: Annotated[bool, Field(description="Whether to include replaced entries.")] = False
    limit: Annotated[int, Field(ge=1, le=RESULTS_LIMIT, description="Maximum number of results.")] = 20


class BriefArguments(Arguments):
    """Arguments of memory_brief."""

    include_provenance: Annotated[bool, Field(description="Whether to include the source of each entry.")] = False


class DeleteArguments(Arguments):
    """Arguments of memory_delete."""

    id: Annotated[EntryId, Field(description="The id of the entry.")]


def parse_arguments(kind: type[A], given: object) -> A:
    """Return the arguments of a call; raise ToolError, naming the first wrong one, if they are not valid."""
    if not isinstance(given, dict):
        raise _refusal("The arguments must be a JSON object.")
    if not all(isinstance(name, str) and to_storable(name) == name for name in given):
        raise _refusal("The names of arguments must be texts.")
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        # An unknown argument is reported first: a caller that tries to claim a recorded field should learn it at once.
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        first = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
        name = str(first["loc"][0]) if first["loc"] else None
        if first["type"] == "extra_forbidden" and name is not None:
            why = (
                "is recorded by the host and cannot be passed"
                if name in RECORDED
                else f"is not an argument of this tool, which takes {', '.join(kind.model_fields)}"
            )
            raise _refusal(f"{_shorten_name(name)!r} {why}.", _shorten_name(name)) from None
        place = "".join(f"[{part}]" if isinstance(part, int) else "" for part in first["loc"][1:])
        message = first["msg"].removeprefix("Value error, ")
        raise _refusal(f"{name}{place}: {message}".removesuffix(".") + ".", f"{name}{place}") from None


def _refusal(message: str, field: str | None = None) -> ToolError:
    return ToolError("VALIDATION_FAILED", redact(message), stage=ARGUMENTS_STAGE, field=field)


def _shorten_name(name: str) -> str:
    shown = redact(to_storable(name))
    return shown if len(shown) <= _MAX_NAME else f"{shown[:_MAX_NAME]}…"


def build_json_schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments for models."""
    schema = kind.model_json_schema()
    # Models see the tool's own description; the class name and docstring are for readers of this file.
    schema.pop("title", None)
    schema.pop("description", None)
    for declared in schema["properties"].values():
        declared.pop("title", None)
    return schema
