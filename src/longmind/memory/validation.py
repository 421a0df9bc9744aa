"""Checks of what may become memory.

Atoms arrive by the thousand, so the usual case is fast: a plain dict whose values have exactly the types that a
`NewAtom` would have is checked field by field without making one, and ASCII text within its limit needs no scan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, TypeGuard, TypeVar, get_args

from pydantic import ValidationError
from pydantic.alias_generators import to_snake

from longmind.clock import Instant, Micros, to_iso, to_micros
from longmind.errors import InvalidInput, LimitExceeded
from longmind.ids import id_of, new_id
from longmind.models.atom import AtomInput, AtomKind, AtomStatus, Category, NewAtom, Origin, Trust
from longmind.models.entity import EntityType
from longmind.models.value import Value
from longmind.store.tables.atom_rows import PreparedAtom
from longmind.validation.identifiers import LIST_LIMIT, validate_atom_metadata, validate_label
from longmind.validation.parameter_limits import ATOM_TEXT, CONFIDENCE, IMPORTANCE, NAME
from longmind.validation.text import validate_text

BULK_LIMIT = 100_000

V = TypeVar("V", bound=Value)
_TEXT_LENGTH, _NAME_LENGTH = ATOM_TEXT.most or 0, NAME.most or 0
_NOTHING: Mapping[str, Callable[[str, Any], object]] = {}


def validate_atom(given: AtomInput, now: Micros, where: str = "atom", random: str | None = None) -> PreparedAtom:
    """Return a checked atom, ready to be stored.

    where: the name of the argument in messages. random: the random half of the id, for callers that draw many at once.
    """
    if isinstance(given, str):
        given = {"text": given}
    try:
        return _validate_atom(given, now, where, random)
    except (TypeError, AttributeError, KeyError):
        if not isinstance(given, NewAtom):
            raise
        # Made by `model_construct` or `model_copy`, which check nothing; checking every value would take too long.
        return _validate_atom(_revalidate(given, where), now, where, random)


def _validate_atom(given: NewAtom | dict[str, Any], now: Micros, where: str, random: str | None) -> PreparedAtom:
    if _is_plain(given):
        fields = _USUAL | given
        name, kind = given["category"]["name"], given["category"]["kind"]
    else:
        new = validate_value(NewAtom, given, where, _SAID_EXACTLY)
        if type(new.category) is not Category or (new.category.kind, new.trust, new.origin) not in _CHOICES:
            new = _revalidate(new, where)
        fields, name, kind = new.__dict__, new.category.name, new.category.kind
    # Patterns carry evidence that is counted in many episodes, so nobody may make one up.
    if kind == "PATTERN":
        raise InvalidInput(
            f"{where}.category.kind is PATTERN, which only the platform makes, from many episodes.",
            hint="Use EPISODE or FACT.",
        )
    given_at, begins, ends = fields["created_at"], fields["valid_from"], fields["valid_to"]
    created_at = now if given_at is None else to_micros(given_at, f"{where}.created_at")
    if created_at > now:
        raise InvalidInput(f"{where}.created_at must not be in the future; it is {to_iso(created_at)}.")
    valid_from = created_at if begins is None else to_micros(begins, f"{where}.valid_from")
    valid_to = None if ends is None else to_micros(ends, f"{where}.valid_to")
    if valid_to is not None and valid_to <= valid_from:
        raise InvalidInput(
            f"{where}.valid_to {to_iso(valid_to)} is not after valid_from {to_iso(valid_from)}.",
            hint="Pass a later valid_to, or none.",
        )
    text, context, confidence = fields["text"], fields["search_context"], fields["confidence"]
    if not 0.0 <= confidence <= 1.0:
        CONFIDENCE.check(f"{where}.confidence", confidence)
    # What the user or the assistant said has a speaker even if it has no name.
    trust, speaker, conversation_id = fields["trust"], fields["speaker"], fields["source_conversation_id"]
    # Positional, in the order of the fields: keywords would take as long as all of the checks.
    return PreparedAtom(
        new_id("atom", created_at) if random is None else id_of("atom", created_at, random),
        text if _is_usual_text(text) else ATOM_TEXT.check(f"{where}.text", text),
        _validate_context(f"{where}.search_context", context) if context else (),
        _SPEAKERS.get(trust) if speaker is None else validate_name(f"{where}.speaker", speaker),
        name if _is_usual_text(name, _NAME_LENGTH) else validate_name(f"{where}.category.name", name),
        kind,
        validate_importance(f"{where}.importance", fields["importance"]),
        float(confidence),
        valid_from,
        valid_to,
        None if conversation_id is None else validate_label(f"{where}.source_conversation_id", conversation_id),
        _validate_list(f"{where}.source_message_ids", messages) if (messages := fields["source_message_ids"]) else (),
        _validate_list(f"{where}.entity_ids", entities) if (entities := fields["entity_ids"]) != [] else (),
        _validate_list(f"{where}.tags", tags) if (tags := fields["tags"]) != [] else (),
        fields["origin"],
        trust,
        created_at,
        metadata=validate_atom_metadata(f"{where}.metadata", metadata) if (metadata := fields["metadata"]) else "{}",
        key=None if (key := fields["key"]) is None else validate_name(f"{where}.key", key),
    )


def _revalidate(new: NewAtom, where: str) -> NewAtom:
    fields = {name: value.__dict__ if isinstance(value, Value) else value for name, value in new.__dict__.items()}
    return validate_value(NewAtom, fields, where, _SAID_EXACTLY)


def _is_plain(given: object) -> TypeGuard[dict[str, Any]]:
    """Return True for a dict with the very values that a `NewAtom` made from it would have.

    Most are, and making thousands of values takes longer than looking whether they have to be made.
    """
    if type(given) is not dict or not given.keys() >= _SAID_BY_MOST:
        return False
    for name, value in given.items():
        kind = type(value)
        if kind not in _TAKEN_AS_IT_IS.get(name, ()) or (kind is list and not _TEXT.issuperset(map(type, value))):
            return False
    category = given["category"]
    return (
        category.keys() == _CATEGORY
        and type(category["name"]) is type(category["kind"]) is str
        and category["kind"] in _KINDS
        and given.get("trust", "app") in _TRUSTS
        and given.get("origin", "app") in _ORIGINS
    )


_TEXT: frozenset[type] = frozenset({str})
_TEXT_OR_NONE: frozenset[type] = frozenset({str, type(None)})
_TEXTS: frozenset[type] = frozenset({list})
_TAKEN_AS_IT_IS: dict[str, frozenset[type]] = {
    "text": _TEXT,
    "category": frozenset({dict}),
    "importance": frozenset({int}),
    "confidence": frozenset({float}),
    "valid_from": _TEXT_OR_NONE,
    "valid_to": _TEXT_OR_NONE,
    "source_conversation_id": _TEXT_OR_NONE,
    "source_message_ids": _TEXTS,
    "entity_ids": _TEXTS,
    "tags": _TEXTS,
    "metadata": frozenset({dict}),
    "key": _TEXT_OR_NONE,
    "search_context": _TEXT | _TEXTS,
    "speaker": _TEXT_OR_NONE,
    "origin": _TEXT,
    "trust": _TEXT,
    "created_at": _TEXT_OR_NONE,
}
"""For each field, the types that a `NewAtom` takes without conversion."""
_SAID_BY_MOST = frozenset({"text", "category"})
_USUAL = {
    name: field.get_default(call_default_factory=True)
    for name, field in NewAtom.model_fields.items()
    if not field.is_required()
}
_CATEGORY = frozenset(Category.model_fields)
_KINDS, _TRUSTS, _ORIGINS = frozenset(get_args(AtomKind)), frozenset(get_args(Trust)), frozenset(get_args(Origin))
_CHOICES = frozenset(product(_KINDS, _TRUSTS, _ORIGINS))


def _is_usual_text(text: object, limit: int = _TEXT_LENGTH) -> bool:
    """Return True for a text in which nothing can be wrong: ASCII, not blank, within its limit."""
    return isinstance(text, str) and text.isascii() and "\x00" not in text and len(text) <= limit and bool(text.strip())


_SPEAKERS = {"user": "user", "assistant": "assistant"}


def validate_metadata_filter(metadata: object, where: str = "metadata") -> dict[str, Any] | None:
    """Return the keys that an atom must have in its metadata, each with its value; None for no filter.

    The values are those that can be equal: texts, numbers, truth values and None.
    """
    if metadata is None:
        return None
    validate_atom_metadata(where, metadata)
    assert isinstance(metadata, dict)  # checked there
    for key, value in metadata.items():
        if isinstance(value, dict | list | tuple):
            raise InvalidInput(
                f"{where}.{key} is a {type(value).__name__}, which is no filter.",
                hint="Filter by texts, numbers, True, False or None at the top level of the metadata.",
            )
    return dict(metadata)


def _validate_context(where: str, context: object) -> tuple[str, ...]:
    texts = [context] if isinstance(context, str) else context
    if not isinstance(texts, list | tuple):
        raise InvalidInput(f"{where} must be a text or a list of texts, not {type(context).__name__}.")
    if len(texts) > LIST_LIMIT:
        raise LimitExceeded(where, limit=LIST_LIMIT, given=len(texts), unit="texts")
    # Empty texts stay: the position of a text is its distance from the fact.
    return tuple(validate_text(f"{where}[{place}]", text, limit=_TEXT_LENGTH) for place, text in enumerate(texts))


def validate_importance(where: str, importance: object) -> int:
    """Return an importance from 1 to 5."""
    return int(IMPORTANCE.check(where, importance))


def validate_name(where: str, name: object) -> str:
    """Return a name: at most 255 characters, not blank."""
    return NAME.check(where, name)


def validate_entity_type(type: object) -> EntityType:
    """Return one of the known types of entities."""
    if type in get_args(EntityType):
        return type  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"type is {type!r}.", hint=f"Pass one of {', '.join(get_args(EntityType))}.")


def validate_status(status: object) -> AtomStatus | None:
    """Return a status of atoms, or None for any."""
    if status is None or status in _STATUSES:
        return status  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"status is {status!r}.", hint=f"Pass one of {', '.join(_STATUSES)}.")


_STATUSES = get_args(AtomStatus)


def validate_kinds(kinds: object) -> tuple[AtomKind, ...] | None:
    """Return kinds of atoms to select, or None for all."""
    if kinds is None:
        return None
    return _validate_choices("kinds", kinds, get_args(AtomKind))  # type: ignore[return-value]  # they are of the known


def validate_trusts(trusts: object) -> tuple[Trust, ...] | None:
    """Return levels of trust to select, or None for all."""
    if trusts is None:
        return None
    return _validate_choices("trust", trusts, get_args(Trust))  # type: ignore[return-value]  # they are of the known


def _validate_choices(where: str, given: object, known: tuple[str, ...]) -> tuple[str, ...]:
    names = _validate_list(where, given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidInput(f"Unknown {where} {unknown}.", hint=f"Use {', '.join(known)}.")
    return names


def validate_names(where: str, names: object) -> tuple[str, ...] | None:
    """Return a list of names without duplicates, or None."""
    return None if names is None else _validate_list(where, names)


def validate_instant(where: str, instant: Instant | None) -> Micros | None:
    """Return an instant in microseconds, or None."""
    return None if instant is None else to_micros(instant, where)


def _validate_list(where: str, members: object) -> tuple[str, ...]:
    if members == []:
        return ()
    if isinstance(members, str) or not isinstance(members, list | tuple | set | frozenset):
        raise InvalidInput(f"{where} must be a list of texts, not {type(members).__name__}.")
    if len(members) > LIST_LIMIT:
        raise LimitExceeded(where, limit=LIST_LIMIT, given=len(members), unit="members")
    checked = [
        member if _is_usual_text(member, _NAME_LENGTH) else validate_name(f"{where}[{place}]", member)
        for place, member in enumerate(members)
    ]
    # In their order, without duplicates.
    return tuple(dict.fromkeys(checked))


def validate_value(
    kind: type[V], given: object, where: str, said_exactly: Mapping[str, Callable[[str, Any], object]] = _NOTHING
) -> V:
    """Return a value that the caller passed as itself or as a dict of its fields.

    said_exactly: checks for fields of several types, where pydantic's error would name the alternatives as if they were
    fields.
    """
    if isinstance(given, kind):
        return given
    if not isinstance(given, dict):
        raise InvalidInput(
            f"{where} must be a dict or {kind.__name__}, not {type(given).__name__}.",
            hint=f"Its fields are {', '.join(kind.model_fields)}.",
        )
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        # Only the first error is shown: it often causes the others.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        # pydantic names no location for a key that is not valid text.
        field, *within = first["loc"] or ("",)
        place = f"{where}.{field}" if field else where
        check = said_exactly.get(to_snake(str(field)))
        if check is not None:
            check(place, given[field])
        place += "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in within)
        # The names of the fields help only where one is missing or not known.
        misnamed = first["type"] in ("missing", "extra_forbidden")
        hint = f"Use the fields {', '.join(kind.model_fields)}." if misnamed else f"Pass another {field or where}."
        raise InvalidInput(f"{place}: {first['msg']}.", hint=hint) from None


def _check_instant(where: str, instant: Any) -> None:
    to_micros(instant, where)


_SAID_EXACTLY = {
    "valid_from": _check_instant,
    "valid_to": _check_instant,
    "created_at": _check_instant,
    "search_context": _validate_context,
    "metadata": validate_atom_metadata,
}
