"""What each tool takes: the one declaration that arguments are checked against and that models are shown."""

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
CHECKED_AT = 3
"""The stage of a call at which its arguments are checked."""
RECORDED = frozenset({"id", "session_id", "group", "created_at", "behavioral", "superseded_by"})
"""What the host records by itself, and nobody may claim."""
_SHOWN = 100

A = TypeVar("A", bound="Arguments")


def _said(text: str) -> str:
    return validate_text("It", text, blank=False)


# The length is checked before the rest, so that the message is about the length.
Content = Annotated[str, Field(min_length=1, max_length=CONTENT_LIMIT), AfterValidator(_said)]
Tag = Annotated[str, Field(min_length=1, max_length=TAG_LIMIT), AfterValidator(_said)]
EntryId = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_said)]
Query = Annotated[str, Field(max_length=QUERY_LIMIT), AfterValidator(to_storable)]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class StoreArguments(Arguments):
    type: Annotated[EntryType, Field(description="What kind of memory it is.")]
    content: Annotated[Content, Field(description="The memory, in words that are clear without anything else.")]
    tags: Annotated[list[Tag], Field(max_length=TAGS_LIMIT, description="Words to find it by.")] = []
    supersedes: Annotated[EntryId | None, Field(description="The id of the entry that this one replaces.")] = None


class SearchArguments(Arguments):
    query: Annotated[Query | None, Field(description="What to look for, in any words.")] = None
    tags: Annotated[list[Tag], Field(description="Tags that an entry must all have.")] = []
    type: Annotated[EntryType | None, Field(description="Only entries of this type.")] = None
    include_superseded: Annotated[bool, Field(description="Also entries that were replaced.")] = False
    limit: Annotated[int, Field(ge=1, le=RESULTS_LIMIT, description="How many results at the most.")] = 20


class BriefArguments(Arguments):
    include_provenance: Annotated[bool, Field(description="Also where each entry came from.")] = False


class DeleteArguments(Arguments):
    id: Annotated[EntryId, Field(description="The id of the entry.")]


def parse_arguments(kind: type[A], given: object) -> A:
    """The arguments of a call, or the error that names the first one that is wrong."""
    if not isinstance(given, dict):
        raise _refused("The arguments must be a JSON object.")
    if not all(isinstance(name, str) and to_storable(name) == name for name in given):
        raise _refused("The names of arguments must be texts.")
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        # What is not known goes first: it is how one who tries to claim something finds out.
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        first = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
        name = str(first["loc"][0]) if first["loc"] else None
        if first["type"] == "extra_forbidden" and name is not None:
            why = (
                "is recorded by the host and cannot be given" if name in RECORDED else "is not an argument of this tool"
            )
            raise _refused(f"{_cut(name)!r} {why}.", _cut(name)) from None
        place = "".join(f"[{part}]" if isinstance(part, int) else "" for part in first["loc"][1:])
        message = first["msg"].removeprefix("Value error, ")
        raise _refused(f"{name}{place}: {message}".removesuffix(".") + ".", f"{name}{place}") from None


def _refused(message: str, field: str | None = None) -> ToolError:
    return ToolError("VALIDATION_FAILED", redact(message), stage=CHECKED_AT, field=field)


def _cut(name: str) -> str:
    shown = redact(to_storable(name))
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def build_json_schema(kind: type[Arguments]) -> dict[str, Any]:
    """The schema of a tool's arguments, as models are shown it."""
    schema = kind.model_json_schema()
    schema.pop("title", None)
    for described in schema["properties"].values():
        described.pop("title", None)
    return schema
