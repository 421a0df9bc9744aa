"""Checks of imported rows: a column may hold what this database itself would have written, and nothing else.

The hash of an export says that it is whole, not who wrote it. So its rows are held to the rules of the operations: a
value that none of them could have stored would fail a later read, far from the import.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from longmind.admin.import_sources import ImportedRecords
from longmind.clock import to_iso
from longmind.errors import InvalidInput, StoreError
from longmind.models.atom import AtomKind, Decided, Origin, Precision, Trust
from longmind.models.binding import ConversationScope
from longmind.models.block import Writer
from longmind.models.content import decode_content
from longmind.models.decision import DecisionAction
from longmind.models.entity import EntityType
from longmind.models.message import decode_usage
from longmind.recall.index.atom_columns import KINDS, NOBODY, TRUSTS, AtomColumns
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.store.tables.bindings import BoundSpace
from longmind.store.whole_tables.user_rows import TableColumns
from longmind.validation.text import decode_json, validate_text

ColumnCheck = Callable[[Any], object]
"""Raises an error of any kind for a value that a column cannot hold."""

_MOST = 2**62
"""Half of the largest number of a column, so that there is room to count on from an imported value."""
_TEXTS = TypeAdapter(list[str])
_NUMBERS = TypeAdapter(list[float])
_INSTANTS = TypeAdapter(list[int])
_Value = TypeVar("_Value")
_Pair = tuple[_Value, _Value]
_Share = Annotated[float, Field(ge=0, le=1)]
_Grade = Annotated[int, Field(ge=1, le=5)]
_NAMES = TypeAdapter(tuple[list[str], list[str], dict[str, list[int]]])
_SCOPES = TypeAdapter(ConversationScope | list[ConversationScope])


class _FieldChanges(BaseModel):
    """The changes of an atom that a decision keeps, and that an undo would write back."""

    model_config = ConfigDict(strict=True, extra="forbid")

    status: _Pair[Literal["ACTIVE", "ARCHIVED"]] | None = None
    archived_at: _Pair[int | None] | None = None
    valid_to: _Pair[int | None] | None = None
    supersedes: _Pair[str | None] | None = None
    superseded_by: _Pair[str | None] | None = None
    superseded_at: _Pair[int | None] | None = None
    confidence: _Pair[_Share] | None = None
    importance: _Pair[_Grade] | None = None
    trust: _Pair[Trust] | None = None
    last_confirmed_at: _Pair[int | None] | None = None
    source_message_ids: _Pair[list[str]] | None = None
    entity_ids: _Pair[list[str]] | None = None


def check_row(table: TableColumns, row: Mapping[str, Any]) -> None:
    """Raise InvalidInput for a row that this database would not have written."""
    for column, value in row.items():
        if value is None:
            # The table itself refuses NULL where a value is required.
            continue
        try:
            _check_kind(table.kinds[column], value)
            if column.endswith("_at") or column in _INSTANT_COLUMNS:
                to_iso(value)
            check = _CHECKS.get(f"{table.name}.{column}")
            if check is not None:
                check(value)
        except (ValueError, TypeError, LookupError, OverflowError, StoreError, RecursionError) as error:
            raise InvalidInput(
                f"A row of {table.name} in the export has an invalid {column}.",
                hint="Import the export unchanged.",
            ) from error


def check_index(records: ImportedRecords) -> None:
    """Raise InvalidInput for a search index that does not fit to itself.

    It must not claim more atoms than it has words of, since a cache makes room for as many as it claims. Its vectors
    have one length for each model.
    """
    words: Counter[Any] = Counter()
    lengths: dict[tuple[Any, Any], int] = {}
    try:
        for row in _read_rows(records, "term_segments"):
            _require(WordsSegment.decode(row["body"]).atoms == row["atoms"])
            words[row["space_id"]] += row["atoms"]
        for row in _read_rows(records, "vector_segments"):
            segment = VectorsSegment.decode(row["body"])
            length = lengths.setdefault((row["space_id"], row["model"]), segment.dimension)
            _require(segment.atoms == row["atoms"] and length == segment.dimension)
        for row in _read_rows(records, "fact_segments"):
            _require(AtomColumns.decode(row["body"]).atoms == row["atoms"])
        for row in _read_rows(records, "spaces"):
            _require(0 <= row["next_position"] <= words[row["id"]])
        for name in ("atoms", "atom_removals"):
            for row in _read_rows(records, name):
                _require(0 <= row["position"] < words[row["space_id"]])
    except (ValueError, TypeError, LookupError, StoreError) as error:
        raise InvalidInput(
            "The search index in the export does not match its atoms.", hint="Import the export unchanged."
        ) from error


def _read_rows(records: ImportedRecords, table: str) -> Iterator[dict[str, Any]]:
    columns = records.columns(table)
    return (dict(zip(columns, row, strict=True)) for row in (records.rows(table) if columns else ()))


def _check_kind(kind: str, value: object) -> None:
    """Raise an error for a value that a column of a type cannot hold, by the names of either engine."""
    match kind:
        case "text":
            validate_text("It", value)
        case "blob" | "bytea":
            _require(isinstance(value, bytes))
        case "real" | "double precision":
            _require(isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
        case "boolean":
            _require(value in (0, 1))
        case _:
            # Exports of both engines have 1 and 0 for true and false.
            _require(isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST)


def _require(true: bool) -> None:
    if not true:
        raise ValueError


def _make_choice_check(kind: Any) -> ColumnCheck:
    """Return a check for the values of a Literal type."""
    known = get_args(kind)
    return lambda value: _require(value in known)


def _check_object(value: str) -> None:
    """Raise an error for text that is no JSON object."""
    decode_json(value, dict)


def _check_texts(value: str) -> None:
    _TEXTS.validate_json(value, strict=True)


def _check_instants(value: str) -> None:
    for moment in _INSTANTS.validate_json(value, strict=True):
        to_iso(moment)


def _check_changes(value: str) -> None:
    """Raise an error for changes of an atom that no decision would have made."""
    for name, pair in _FieldChanges.model_validate_json(value).model_dump(exclude_unset=True).items():
        for each in pair:
            if name.endswith(("_at", "_to")) and each is not None:
                to_iso(each)


def _check_words(value: bytes) -> None:
    """Raise an error for postings that lead outside their segment: kernels read them without checks."""
    segment = WordsSegment.decode(value)
    run = segment.run
    _require(bool((run.places < segment.atoms).all() and (run.starts[1:] >= run.starts[:-1]).all()))
    _require(int(run.starts[-1]) == len(run.places))


def _check_facts(value: bytes) -> None:
    """Raise an error for codes that stand for no name, kind or trust."""
    facts = AtomColumns.decode(value)
    rows = facts.rows
    _NAMES.validate_python((facts.categories, facts.speakers, facts.tags), strict=True)
    for codes, names in ((rows["category"], facts.categories), (rows["speaker"], facts.speakers)):
        _require(bool(((codes >= NOBODY) & (codes < len(names))).all()))
    _require(bool((rows["kind"] < len(KINDS)).all() and (rows["trust"] < len(TRUSTS)).all()))
    _require(all(0 <= place < facts.atoms for places in facts.tags.values() for place in places))
    _require(bool(((facts.marks["place"] >= 0) & (facts.marks["place"] < facts.atoms)).all()))


_INSTANT_COLUMNS = frozenset({"ts", "valid_from", "valid_to", "open_until"})

_CHECKS: dict[str, ColumnCheck] = {
    "conversations.metadata": _check_object,
    "spaces.metadata": _check_object,
    "blocks.line_times": _check_instants,
    "blocks.written_by": _make_choice_check(Writer),
    "block_revisions.written_by": _make_choice_check(Writer),
    "jobs.payload": _check_object,
    "jobs.result": lambda value: decode_json(value, object),
    "events.tags": _check_texts,
    "events.data": lambda value: decode_json(value, object),
    "events.metrics": _check_object,
    "events.inputs": lambda value: decode_json(value, list),
    "events.outputs": lambda value: decode_json(value, list),
    "events.embedding": lambda value: _NUMBERS.validate_json(value),
    "events.pii_flags": _check_object,
    "events.content": decode_content,
    "events.usage": decode_usage,
    "atoms.kind": _make_choice_check(AtomKind),
    "atoms.trust": _make_choice_check(Trust),
    "atoms.origin": _make_choice_check(Origin),
    "atoms.decision": _make_choice_check(Decided),
    "atoms.precision": _make_choice_check(Precision),
    "atoms.source_message_ids": _check_texts,
    "atoms.entity_ids": _check_texts,
    "atoms.tags": _check_texts,
    "atoms.metadata": _check_object,
    "atoms.evidence": _check_texts,
    "decisions.action": _make_choice_check(DecisionAction),
    "decisions.source_message_ids": _check_texts,
    "decision_atoms.changes": _check_changes,
    "entities.type": _make_choice_check(EntityType),
    "entities.attributes": _check_object,
    "entity_names.type": _make_choice_check(EntityType),
    "bindings.conversation_scope": lambda value: _SCOPES.validate_json(value),
    "bindings.spaces": lambda value: [BoundSpace(**space) for space in decode_json(value, list)],
    "term_segments.body": _check_words,
    "vector_segments.body": VectorsSegment.decode,
    "fact_segments.body": _check_facts,
}
