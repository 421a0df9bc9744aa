"""The answer that a model is asked for, and how it is read.

The schema that the model is shown is derived from the classes below, and their names stand in it: renaming a class
changes the request. Reading is lenient. Numbers are clamped, long texts are cut, unknown values become the usual one,
and a wrong member of a list is dropped. A fact that has no text or no kind is left out with a complaint, which the
model is shown when it is asked again.
"""

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
"""Characters of one fact; a longer text is cut."""
NAME_LIMIT = 255
SOURCES_LIMIT = 50
MENTIONS_LIMIT = 20
TAGS_LIMIT = 5

Kind = Literal["FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE"]
"""The kinds that a model may give: all but PATTERN, which is found among many events."""


def _to_one_line(most: int) -> BeforeValidator:
    """Return a validator that puts a text on one line and cuts it."""

    def read(value: object) -> object:
        return " ".join(to_storable(value).split())[:most].rstrip() if isinstance(value, str) else value

    return BeforeValidator(read)


def _clamp_number(least: float, most: float, usual: float) -> BeforeValidator:
    """Return a validator that brings a number within its bounds; `usual` stands for anything else."""

    def read(value: object) -> float:
        try:
            number = float(value)  # type: ignore[arg-type]  # what cannot be a number is caught
        except (TypeError, ValueError, OverflowError):
            return usual
        # NaN is not equal to itself.
        return min(most, max(least, number)) if number == number else usual

    return BeforeValidator(read)


def _choose_known(known: tuple[str, ...], usual: str) -> BeforeValidator:
    """Return a validator that recognises a known value in any case; `usual` stands for any other."""

    def read(value: object) -> str:
        folded = value.strip().casefold() if isinstance(value, str) else ""
        return next((each for each in known if each.casefold() == folded), usual)

    return BeforeValidator(read)


def _keep_valid(member: Any, most: int) -> BeforeValidator:
    """Return a validator that keeps the valid members of a list: a wrong one does not spoil the others."""
    reader: TypeAdapter[Any] = TypeAdapter(member)

    def read(value: object) -> list[Any]:
        found = (_read_or_none(reader.validate_python, each) for each in (value if isinstance(value, list) else []))
        return [each for each in found if each is not None][:most]

    return BeforeValidator(read)


def _read_or_none(read: Callable[[Any], Any], value: object) -> Any:
    """Return a value as read, or None if it is not valid."""
    try:
        return read(value)
    except ValidationError:
        return None


def _require_text(text: str) -> str:
    """Return a text, or raise if it is empty."""
    # Not a part of the schema: some vendors reject a minimum length.
    if not text:
        raise ValueError("it is empty")
    return text


_Name = Annotated[str, _to_one_line(NAME_LIMIT), AfterValidator(_require_text)]
_Moment = Annotated[str | None, BeforeValidator(lambda value: value if isinstance(value, str) else None)]


def _read_phrase(value: object) -> str | None:
    """Return a short text or a number as one line; None for anything else, and for an empty one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return " ".join(to_storable(str(value)).split())[:NAME_LIMIT].rstrip() or None


_Phrase = Annotated[str | None, BeforeValidator(_read_phrase)]
_Sentence = Annotated[str, _to_one_line(FACT_LIMIT), AfterValidator(_require_text)]
_CategoryName = Annotated[str, _to_one_line(NAME_LIMIT)]
_KnownKind = Annotated[Kind, BeforeValidator(lambda value: value.strip().upper() if isinstance(value, str) else value)]
# Validators run from right to left: clamped first, then rounded.
_Importance = Annotated[int, BeforeValidator(round), _clamp_number(1, 5, 3)]
_Sources = Annotated[list[str], _keep_valid(str, SOURCES_LIMIT)]


class _Part(BaseModel):
    """A part of the answer.

    The schema requires every property and allows no others, so that vendors can enforce it. Reading is more lenient.
    """

    model_config = ConfigDict(
        json_schema_serialization_defaults_required=True, json_schema_extra={"additionalProperties": False}
    )


class Named(_Part):
    """An entity as the first version asks for it."""

    name: _Name
    type: Annotated[EntityType, _choose_known(get_args(EntityType), "CONCEPT")] = "CONCEPT"


class KnownAs(Named):
    """An entity with its other names, as the second version asks for it."""

    aliases: Annotated[list[_Name], _keep_valid(_Name, TAGS_LIMIT)] = Field(default_factory=list)


class GivenSlot(_Part):
    """A slot as the model gives it."""

    subject: _Name
    attribute: _Name
    value: _Name


class Fact(_Part):
    """The fields of a fact that the first two versions ask for."""

    text: _Sentence
    category: _CategoryName = ""
    kind: _KnownKind
    importance: _Importance = 3
    confidence: Annotated[float, _clamp_number(0, 1, 0.5)] = 0.5
    sources: _Sources = Field(default_factory=list)
    valid_from: _Moment = None

    def to_mentions(self) -> tuple[Mention, ...]:
        """Return the entities of the fact as mentions."""
        return ()


class FactV1(Fact):
    """A fact of the first version."""

    entities: Annotated[list[Named], _keep_valid(Named, MENTIONS_LIMIT)] = Field(default_factory=list)

    def to_mentions(self) -> tuple[Mention, ...]:
        """Return the entities of the fact as mentions."""
        return tuple(Mention(each.name, each.type) for each in self.entities)


class FactV2(Fact):
    """A fact of the second version, with its end, its precision, a slot and tags."""

    valid_to: _Moment = None
    precision: Annotated[Precision, _choose_known(get_args(Precision), "day")] = "day"
    entities: Annotated[list[KnownAs], _keep_valid(KnownAs, MENTIONS_LIMIT)] = Field(default_factory=list)
    slot: Annotated[
        GivenSlot | None,
        BeforeValidator(lambda value: _read_or_none(GivenSlot.model_validate, value) if value else None),
    ] = None
    corrects: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    tags: Annotated[list[_Name], _keep_valid(_Name, TAGS_LIMIT)] = Field(default_factory=list)

    def to_mentions(self) -> tuple[Mention, ...]:
        """Return the entities of the fact as mentions."""
        return tuple(Mention(each.name, each.type, tuple(each.aliases)) for each in self.entities)


CERTAINTIES = (1.0, 0.7, 0.4)
"""The degrees of certainty: stated, probable, hedged."""
FactDecision = Literal["add", "reinforce", "replace", "correct", "end"]
"""The decisions about known facts that a model may propose."""


class FactV3(_Part):
    """A fact of the third version, with its slot in parts and a decision about a known fact."""

    text: _Sentence
    subject: Annotated[str, BeforeValidator(lambda value: _read_phrase(value) or "user")] = "user"
    attribute: _Phrase = None
    qualifier: _Phrase = None
    value: _Phrase = None
    kind: _KnownKind
    category: _CategoryName = ""
    importance: _Importance = 3
    certainty: Annotated[
        float,
        BeforeValidator(lambda value: min(CERTAINTIES, key=lambda each: abs(each - value))),
        _clamp_number(0, 1, 0.7),
        Field(json_schema_extra={"enum": list(CERTAINTIES)}),
    ] = 0.7
    negated: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    valid_from: _Moment = None
    sources: _Sources = Field(default_factory=list)
    decision: Annotated[FactDecision, _choose_known(get_args(FactDecision), "add")] = "add"
    of: _Phrase = None
    entities: Annotated[list[KnownAs], _keep_valid(KnownAs, MENTIONS_LIMIT)] = Field(default_factory=list)

    @property
    def confidence(self) -> float:
        """The certainty, under the name that it has in a candidate."""
        return self.certainty

    @property
    def is_hedged(self) -> bool:
        """True if the speaker does not commit to it."""
        return self.certainty <= CERTAINTIES[-1]

    def to_mentions(self) -> tuple[Mention, ...]:
        """Return the entities of the fact as mentions."""
        return tuple(Mention(each.name, each.type, tuple(each.aliases)) for each in self.entities)


AnyFact = Fact | FactV3
FACTS: dict[str, type[Fact] | type[FactV3]] = {
    "extraction-v1": FactV1,
    "extraction-v2": FactV2,
    "extraction-v3": FactV3,
}
"""The fact that each version of the prompt asks for."""


@dataclass(frozen=True)
class ParsedAnswer:
    """The facts of an answer, and complaints about the parts that could not be read."""

    facts: list[AnyFact]
    complaints: list[str]
    usable: bool = True
    """False if there is no list of facts at all."""


def build_answer_schema(version: str) -> dict[str, Any]:
    """Return the JSON schema of the answer for a version of the prompt."""
    fact = _simplify_schema(FACTS[version].model_json_schema(mode="serialization"))
    definitions = fact.pop("$defs", {})
    facts = {"type": "array", "items": fact}
    return {
        "type": "object",
        "properties": {"facts": facts},
        "required": ["facts"],
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


_UNSENT = frozenset({"default", "title", "description"})
"""Keywords that vendors cannot enforce, and our docstrings, which are written for people."""


def _simplify_schema(schema: Any) -> Any:
    """Return a schema without the keywords that a model should not see."""
    if isinstance(schema, list):
        return [_simplify_schema(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _simplify_schema(value) for name, value in schema.items() if name not in _UNSENT}


def read_answer(text: str, version: str) -> ParsedAnswer:
    """Read the answer of a model, whatever it is. Raises nothing."""
    try:
        answer = json.loads(unwrap_json(text))
    except (ValueError, RecursionError) as error:
        return ParsedAnswer([], [f"The answer is not JSON: {str(error)[:200]}."], usable=False)
    members = answer.get("facts") if isinstance(answer, dict) else None
    if not isinstance(members, list):
        return ParsedAnswer([], ["The answer is not an object with the list `facts`."], usable=False)
    facts: list[AnyFact] = []
    complaints: list[str] = []
    for place, member in enumerate(members):
        if isinstance(member, dict) and str(member.get("kind")).strip().upper() == "PATTERN":
            # Patterns are dropped without a complaint: asking again would gain nothing.
            continue
        try:
            facts.append(FACTS[version].model_validate(member))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            path = "".join(f".{part}" for part in first["loc"])
            complaints.append(f"facts[{place}]{path}: {first['msg']}.")
    return ParsedAnswer(facts, complaints)


def unwrap_json(text: str) -> str:
    """Return the JSON without the words or the fence that some models put around it."""
    return text[text.find("{") : text.rfind("}") + 1] or text


_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def read_moment(text: str | None) -> tuple[Micros, Precision] | None:
    """Read an ISO 8601 time, date, month or year, with its precision; return None for anything else."""
    text = (text or "").strip()
    date = _DATE.fullmatch(text)
    try:
        if date is None:
            return to_micros(text), "instant"
        year, month, day = (int(part or 1) for part in date.groups())
        precision: Precision = "day" if date[3] else "month" if date[2] else "year"
        return to_micros(datetime(year, month, day, tzinfo=UTC)), precision
    except (InvalidInput, ValueError):
        return None
