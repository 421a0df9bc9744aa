"""What the columns of imported rows may hold: what this database itself would have written, and nothing else.

An export tells by a hash whether it is whole, not who has written it. So its rows are held to the same rules as a call:
a value that no operation could have stored would be found by whoever reads it next, in the middle of something else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from pydantic import TypeAdapter

from longmind.admin.import_sources import Records
from longmind.clock import to_iso
from longmind.errors import InvalidInput, StoreError
from longmind.models.atom import AtomKind, Decided, Origin, Precision, Trust
from longmind.models.binding import ConversationScope
from longmind.models.block import Writer
from longmind.models.content import decode_content
from longmind.models.entity import EntityType
from longmind.models.message import decode_usage
from longmind.recall.index.atom_columns import KINDS, NOBODY, TRUSTS, AtomColumns
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.store.tables.bindings import BoundSpace
from longmind.store.whole_tables.rows import TableColumns
from longmind.validation.text import decode_json, validate_text

Check = Callable[[Any], object]
"""Raises an error of any kind when a value cannot be one."""

_MOST = 2**62
"""Half of what a column can hold, so that counting on from there does not end at once."""
_TEXTS = TypeAdapter(list[str])
_NUMBERS = TypeAdapter(list[float])
_INSTANTS = TypeAdapter(list[int])
_NAMES = TypeAdapter(tuple[list[str], list[str], dict[str, list[int]]])
_SCOPES = TypeAdapter(ConversationScope | list[ConversationScope])


def check_row(table: TableColumns, row: Mapping[str, Any]) -> None:
    """Refuse a row that this database would not have written."""
    for column, value in row.items():
        if value is None:
            # Which columns must have one is known to the table itself.
            continue
        try:
            _check_kind(table.kinds[column], value)
            if column.endswith("_at") or column in _MOMENTS:
                to_iso(value)
            check = _CHECKS.get(f"{table.name}.{column}")
            if check is not None:
                check(value)
        except (ValueError, TypeError, LookupError, OverflowError, StoreError, RecursionError) as error:
            raise InvalidInput(
                f"The export has a row of {table.name} whose {column} cannot be one.",
                hint="Import it as it was exported.",
            ) from error


def check_index(records: Records) -> None:
    """Refuse an index that claims more atoms than it has words of: room is made for as many as it says there are.

    Its vectors have one length for each model.
    """
    words: Counter[Any] = Counter()
    lengths: dict[tuple[Any, Any], int] = {}
    try:
        for row in _rows(records, "term_segments"):
            _expect(WordsSegment.decode(row["body"]).atoms == row["atoms"])
            words[row["space_id"]] += row["atoms"]
        for row in _rows(records, "vector_segments"):
            segment = VectorsSegment.decode(row["body"])
            length = lengths.setdefault((row["space_id"], row["model"]), segment.dimension)
            _expect(segment.atoms == row["atoms"] and length == segment.dimension)
        for row in _rows(records, "fact_segments"):
            _expect(AtomColumns.decode(row["body"]).atoms == row["atoms"])
        for row in _rows(records, "spaces"):
            _expect(0 <= row["next_position"] <= words[row["id"]])
        for name in ("atoms", "atom_removals"):
            for row in _rows(records, name):
                _expect(0 <= row["position"] < words[row["space_id"]])
    except (ValueError, TypeError, LookupError, StoreError) as error:
        raise InvalidInput(
            "The search index of the export is not that of its atoms.", hint="Import it as it was exported."
        ) from error


def _rows(records: Records, table: str) -> Iterator[dict[str, Any]]:
    columns = records.columns(table)
    return (dict(zip(columns, row, strict=True)) for row in (records.rows(table) if columns else ()))


def _check_kind(kind: str, value: object) -> None:
    match kind:
        case "text":
            validate_text("It", value)
        case "blob" | "bytea":
            _expect(isinstance(value, bytes))
        case "real" | "double precision":
            _expect(isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
        case "boolean":
            _expect(value in (0, 1))
        case _:
            # An export has 1 and 0 for true and false, from either engine.
            _expect(isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST)


def _expect(true: bool) -> None:
    if not true:
        raise ValueError


def _one_of(kind: Any) -> Check:
    known = get_args(kind)
    return lambda value: _expect(value in known)


def _object(value: str) -> None:
    decode_json(value, dict)


def _texts(value: str) -> None:
    _TEXTS.validate_json(value, strict=True)


def _moments(value: str) -> None:
    for moment in _INSTANTS.validate_json(value, strict=True):
        to_iso(moment)


def _words(value: bytes) -> None:
    segment = WordsSegment.decode(value)
    run = segment.run
    _expect(bool((run.places < segment.atoms).all() and (run.starts[1:] >= run.starts[:-1]).all()))
    _expect(int(run.starts[-1]) == len(run.places))


def _facts(value: bytes) -> None:
    facts = AtomColumns.decode(value)
    rows = facts.rows
    _NAMES.validate_python((facts.categories, facts.speakers, facts.tags), strict=True)
    for codes, names in ((rows["category"], facts.categories), (rows["speaker"], facts.speakers)):
        _expect(bool(((codes >= NOBODY) & (codes < len(names))).all()))
    _expect(bool((rows["kind"] < len(KINDS)).all() and (rows["trust"] < len(TRUSTS)).all()))
    _expect(all(0 <= place < facts.atoms for places in facts.tags.values() for place in places))


_MOMENTS = frozenset({"ts", "valid_from", "valid_to", "open_until"})

_CHECKS: dict[str, Check] = {
    "conversations.metadata": _object,
    "spaces.metadata": _object,
    "blocks.line_times": _moments,
    "blocks.written_by": _one_of(Writer),
    "block_revisions.written_by": _one_of(Writer),
    "jobs.payload": _object,
    "jobs.result": lambda value: decode_json(value, object),
    "events.tags": _texts,
    "events.data": lambda value: decode_json(value, object),
    "events.metrics": _object,
    "events.inputs": lambda value: decode_json(value, list),
    "events.outputs": lambda value: decode_json(value, list),
    "events.embedding": lambda value: _NUMBERS.validate_json(value),
    "events.pii_flags": _object,
    "events.content": decode_content,
    "events.usage": decode_usage,
    "atoms.kind": _one_of(AtomKind),
    "atoms.trust": _one_of(Trust),
    "atoms.origin": _one_of(Origin),
    "atoms.decision": _one_of(Decided),
    "atoms.precision": _one_of(Precision),
    "atoms.source_message_ids": _texts,
    "atoms.entity_ids": _texts,
    "atoms.tags": _texts,
    "atoms.evidence": _texts,
    "entities.type": _one_of(EntityType),
    "entities.attributes": _object,
    "entity_names.type": _one_of(EntityType),
    "bindings.conversation_scope": lambda value: _SCOPES.validate_json(value),
    "bindings.spaces": lambda value: [BoundSpace(**space) for space in decode_json(value, list)],
    "term_segments.body": _words,
    "vector_segments.body": VectorsSegment.decode,
    "fact_segments.body": _facts,
}
