"""The arguments of the recall tools: one class per tool, which is its schema, its check and its call.

Descriptions here are read by models, so they say when to use a tool and what to leave out.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from datetime import UTC, date, datetime, time
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from longmind.clock import to_micros
from longmind.errors import ExtensionMissing, InvalidInput, ModelMissing
from longmind.memory.recall import Recalls
from longmind.memory.recall_tool_schema import ToolType
from longmind.models.recall import Effort, Recall
from longmind.validation.identifiers import LIST_LIMIT
from longmind.validation.parameter_limits import HITS, NAME, QUERY

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUERY.most)]
Count = Annotated[int, Field(ge=1, le=HITS.most)]
Names = Annotated[list[Annotated[str, Field(max_length=NAME.most)]], Field(max_length=LIST_LIMIT)]
Date = Annotated[str, Field(max_length=64)]
Score = Annotated[float, Field(ge=0, le=1)]

# A model that fills in every field writes an empty list for no filter, so it counts as none.
_CATEGORIES = "Only facts of these categories, by their names. Leave it out unless you know the names."
_MIN_SCORE = "Only results that are relevant with at least this probability, from 0 to 1. Mostly left out."
_log = logging.getLogger("longmind.memory")
_DATE = "as an ISO 8601 date or instant, like 2026-03-01 or 2026-03-01T09:30:00Z."


class ToolArguments(BaseModel):
    """Base of the tools' arguments."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    purpose: ClassVar[str]
    """The purpose of the tool, for the model that chooses between tools."""

    @abstractmethod
    def recall(self, recalls: Recalls, space_id: str) -> Recall:
        """Make the recall that the arguments ask for."""


class TopicArguments(ToolArguments):
    """Arguments of RECALL_BY_TOPIC."""

    purpose = (
        "Look up what is remembered about a topic from earlier conversations, best match first: facts, and quotes of "
        "what was said. Use it when the answer may depend on what was said or done before and is not in this "
        "conversation."
    )
    query: Words = Field(description="The topic: a few specific words or a question, with names spelled out.")
    limit: Count = Field(default=10, description="Maximum number of facts, and of quotes, to return.")
    category_names: Names | None = Field(default=None, description=_CATEGORIES)
    min_importance: Annotated[int, Field(ge=1, le=5)] | None = Field(
        default=None, description="Only facts at least this important, from 1 to 5."
    )
    valid_at: Date | None = Field(
        default=None, description=f"Facts that were true at this time instead of now, {_DATE}"
    )
    min_score: Score | None = Field(default=None, description=_MIN_SCORE)
    exhaustive: bool | None = Field(
        default=None,
        description="True for all that is relevant, even beyond the limit, to list or count; false never exceeds it.",
    )
    effort: Effort = Field(default="normal", description="high searches longer for better results.")

    def recall(self, recalls: Recalls, space_id: str) -> Recall:
        try:
            return self._recall(recalls, space_id, self.effort)
        except (ModelMissing, ExtensionMissing) as error:
            if self.effort == "normal":
                raise
            # The model that chose the effort can do nothing about it, but its host can.
            _log.warning("an agent asked for effort=high and got the normal one: %s %s", error, error.hint)
            return self._recall(recalls, space_id, "normal")

    def _recall(self, recalls: Recalls, space_id: str, effort: Effort) -> Recall:
        return recalls.recall_by_topic(
            space_id,
            self.query,
            limit=self.limit,
            category_names=self.category_names or None,
            min_importance=self.min_importance,
            valid_at=_validate_instant_text("valid_at", self.valid_at),
            min_score=self.min_score,
            exhaustive=self.exhaustive,
            effort=effort,
        )


class EntityArguments(ToolArguments):
    """Arguments of RECALL_BY_ENTITY."""

    purpose = (
        "Look up all remembered facts about one person, organisation, place or thing, newest first. Use it "
        "when you know its name."
    )
    entity: Words = Field(description="The name of a person, an organisation, a place or a thing, or an entity's id.")
    limit: Count = Field(default=20, description="Maximum number of facts to return.")
    category_names: Names | None = Field(default=None, description=_CATEGORIES)
    min_score: Score | None = Field(default=None, description=_MIN_SCORE)

    def recall(self, recalls: Recalls, space_id: str) -> Recall:
        return recalls.recall_by_entity(
            space_id,
            self.entity,
            limit=self.limit,
            category_names=self.category_names or None,
            min_score=self.min_score,
        )


class TimelineArguments(ToolArguments):
    """Arguments of RECALL_TIMELINE."""

    purpose = (
        "Look up how something has changed over time, oldest first, with dates and with what has been replaced since. "
        "Use it for questions about before, after, when, or how things have changed."
    )
    entity: Words | None = Field(
        default=None, description="The name or id of the entity. Give this or query, not both."
    )
    query: Words | None = Field(
        default=None, description="The topic of the timeline, in a few words. Give this or entity, not both."
    )
    from_: Date | None = Field(
        default=None, alias="from", description=f"Only facts that were true at or after this time, {_DATE}"
    )
    to: Date | None = Field(default=None, description=f"Only facts that were true at or before this time, {_DATE}")
    limit: Count = Field(default=50, description="Maximum number of facts to return.")
    include_superseded: bool = Field(
        default=True, description="Whether to include facts that newer ones have replaced."
    )
    min_score: Score | None = Field(default=None, description=_MIN_SCORE)

    def recall(self, recalls: Recalls, space_id: str) -> Recall:
        return recalls.recall_timeline(
            space_id,
            entity_id_or_name=self.entity,
            query=self.query,
            from_=_validate_instant_text("from", self.from_),
            to=_parse_window_end("to", self.to),
            limit=self.limit,
            include_superseded=self.include_superseded,
            min_score=self.min_score,
        )


ARGUMENTS_OF: dict[ToolType, type[ToolArguments]] = {
    "RECALL_BY_TOPIC": TopicArguments,
    "RECALL_BY_ENTITY": EntityArguments,
    "RECALL_TIMELINE": TimelineArguments,
}


def _validate_instant_text(name: str, written: str | None) -> str | None:
    if written is not None:
        # Checked here, so that an error has the name that the model knows.
        to_micros(written, name)
    return written


def _parse_window_end(name: str, written: str | None) -> str | datetime | None:
    """Return the end of a window, or None if it is open; a date alone includes all of its day."""
    try:
        return None if written is None else datetime.combine(date.fromisoformat(written), time.max, UTC)
    except ValueError:
        return _validate_instant_text(name, written)


def validate_arguments(kind: type[ToolArguments], given: object) -> ToolArguments:
    """Return the arguments that a model chose; the error lists all that is wrong, for the model to correct."""
    fields = ", ".join(build_schema(kind)["properties"])
    if not isinstance(given, dict):
        raise InvalidInput(f"The arguments must be an object, not {type(given).__name__}.", hint=f"Pass {fields}.")
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong)
        raise InvalidInput(f"The arguments are wrong: {problems}.", hint=f"Pass {fields}.") from None


@cache
def build_schema(kind: type[ToolArguments]) -> dict[str, Any]:
    """Return the JSON schema in the form that models read best: without titles and alternatives."""
    schema = kind.model_json_schema()
    return {
        "type": "object",
        "properties": {name: _simplify_field(each) for name, each in schema["properties"].items()},
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _simplify_field(field: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in field.items() if key not in ("title", "anyOf") and value is not None}
    problems: dict[str, Any] = next((each for each in field.get("anyOf", []) if each["type"] != "null"), {})
    return {**problems, **kept}
