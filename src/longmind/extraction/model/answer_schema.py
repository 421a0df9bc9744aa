"""What a model is to answer, and how it is read: clamped where it can be, left out where it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from longmind.clock import Micros, to_micros
from longmind.errors import InvalidInput
from longmind.extraction.candidate import Mention, Precision
from longmind.models.entity import EntityType
from longmind.validation.text import to_storable

FACT_LIMIT = 2_000
"""Characters of one fact. What is longer is no fact any more, and is cut."""
NAME_LIMIT = 255
SOURCES_LIMIT = 50
MENTIONS_LIMIT = 20
TAGS_LIMIT = 5

Kind = Literal["FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE"]
"""Without PATTERN, which only the platform makes."""


def _one_line(most: int) -> BeforeValidator:
    def read(value: object) -> object:
        return " ".join(to_storable(value).split())[:most].rstrip() if isinstance(value, str) else value

    return BeforeValidator(read)


def _clamped(least: float, most: float, usual: float) -> BeforeValidator:
    def read(value: object) -> float:
        try:
            number = float(value)  # type: ignore[arg-type]  # what cannot be a number is caught
        except (TypeError, ValueError, OverflowError):
            return usual
        # What is not a number is not equal to itself.
        return min(most, max(least, number)) if number == number else usual

    return BeforeValidator(read)


def _chosen(known: tuple[str, ...], usual: str) -> BeforeValidator:
    def read(value: object) -> str:
        folded = value.strip().casefold() if isinstance(value, str) else ""
        return next((each for each in known if each.casefold() == folded), usual)

    return BeforeValidator(read)


def _each(member: Any, most: int) -> BeforeValidator:
    """Those members of a list that are right: one that is wrong does not spoil the others."""
    reader: TypeAdapter[Any] = TypeAdapter(member)

    def read(value: object) -> list[Any]:
        found = (_or_none(reader.validate_python, each) for each in (value if isinstance(value, list) else []))
        return [each for each in found if each is not None][:most]

    return BeforeValidator(read)


def _or_none(read: Callable[[Any], Any], value: object) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


def _not_empty(text: str) -> str:
    # Not said in the schema: some vendors know no least length.
    if not text:
        raise ValueError("it is empty")
    return text


_Name = Annotated[str, _one_line(NAME_LIMIT), AfterValidator(_not_empty)]
_Moment = Annotated[str | None, BeforeValidator(lambda value: value if isinstance(value, str) else None)]


class _Part(BaseModel):
    # With every property required, and none beside them, vendors can hold a model to the schema. Here more is let pass.
    model_config = ConfigDict(
        json_schema_serialization_defaults_required=True, json_schema_extra={"additionalProperties": False}
    )


class Named(_Part):
    name: _Name
    type: Annotated[EntityType, _chosen(get_args(EntityType), "CONCEPT")] = "CONCEPT"


class KnownAs(Named):
    aliases: Annotated[list[_Name], _each(_Name, TAGS_LIMIT)] = Field(default_factory=list)


class GivenSlot(_Part):
    subject: _Name
    attribute: _Name
    value: _Name


class Fact(_Part):
    """What both versions ask for."""

    text: Annotated[str, _one_line(FACT_LIMIT), AfterValidator(_not_empty)]
    category: Annotated[str, _one_line(NAME_LIMIT)] = ""
    kind: Annotated[Kind, BeforeValidator(lambda value: value.strip().upper() if isinstance(value, str) else value)]
    # Read from the right: brought within its bounds, then made whole.
    importance: Annotated[int, BeforeValidator(round), _clamped(1, 5, 3)] = 3
    confidence: Annotated[float, _clamped(0, 1, 0.5)] = 0.5
    sources: Annotated[list[str], _each(str, SOURCES_LIMIT)] = Field(default_factory=list)
    valid_from: _Moment = None

    def mentions(self) -> tuple[Mention, ...]:
        return ()


class FactV1(Fact):
    entities: Annotated[list[Named], _each(Named, MENTIONS_LIMIT)] = Field(default_factory=list)

    def mentions(self) -> tuple[Mention, ...]:
        return tuple(Mention(each.name, each.type) for each in self.entities)


class FactV2(Fact):
    valid_to: _Moment = None
    precision: Annotated[Precision, _chosen(get_args(Precision), "day")] = "day"
    entities: Annotated[list[KnownAs], _each(KnownAs, MENTIONS_LIMIT)] = Field(default_factory=list)
    slot: Annotated[
        GivenSlot | None, BeforeValidator(lambda value: _or_none(GivenSlot.model_validate, value) if value else None)
    ] = None
    corrects: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    tags: Annotated[list[_Name], _each(_Name, TAGS_LIMIT)] = Field(default_factory=list)

    def mentions(self) -> tuple[Mention, ...]:
        return tuple(Mention(each.name, each.type, tuple(each.aliases)) for each in self.entities)


FACTS: dict[str, type[Fact]] = {"extraction-v1": FactV1, "extraction-v2": FactV2}
"""What each version of the prompt asks for."""


@dataclass(frozen=True)
class ParsedAnswer:
    """What could be read of an answer, and what was wrong with the rest of it."""

    facts: list[Fact]
    complaints: list[str]
    usable: bool = True
    """False when there is no list of facts at all."""


def build_answer_schema(version: str) -> dict[str, Any]:
    fact = _plain(FACTS[version].model_json_schema(mode="serialization"))
    definitions = fact.pop("$defs", {})
    facts = {"type": "array", "items": fact}
    return {
        "type": "object",
        "properties": {"facts": facts},
        "required": ["facts"],
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def _plain(schema: Any) -> Any:
    """The schema without what vendors cannot hold a model to."""
    if isinstance(schema, list):
        return [_plain(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _plain(value) for name, value in schema.items() if name not in ("default", "title")}


def read_answer(text: str, version: str) -> ParsedAnswer:
    try:
        given = json.loads(unwrap_json(text))
    except (ValueError, RecursionError) as error:
        return ParsedAnswer([], [f"The answer is not JSON: {str(error)[:200]}."], usable=False)
    members = given.get("facts") if isinstance(given, dict) else None
    if not isinstance(members, list):
        return ParsedAnswer([], ["The answer is not an object with the list `facts`."], usable=False)
    facts: list[Fact] = []
    complaints: list[str] = []
    for place, member in enumerate(members):
        if isinstance(member, dict) and str(member.get("kind")).strip().upper() == "PATTERN":
            # Not the model's to say; nothing is gained by asking it for another.
            continue
        try:
            facts.append(FACTS[version].model_validate(member))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            way = "".join(f".{part}" for part in first["loc"])
            complaints.append(f"facts[{place}]{way}: {first['msg']}.")
    return ParsedAnswer(facts, complaints)


def unwrap_json(text: str) -> str:
    """The JSON without the words or the fence that some models put around it."""
    return text[text.find("{") : text.rfind("}") + 1] or text


_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def read_moment(written: str | None) -> tuple[Micros, Precision] | None:
    """Read an ISO 8601 time, date, month or year, with its precision; return None for anything else."""
    written = (written or "").strip()
    date = _DATE.fullmatch(written)
    try:
        if date is None:
            return to_micros(written), "instant"
        year, month, day = (int(part or 1) for part in date.groups())
        precision: Precision = "day" if date[3] else "month" if date[2] else "year"
        return to_micros(datetime(year, month, day, tzinfo=UTC)), precision
    except (InvalidInput, ValueError):
        return None
