"""Who may read a space may do nothing else: every operation is tried with things of a space that was granted."""

from __future__ import annotations

import pytest

import longmind
from longmind.operations import OPERATIONS
from tests.scope import test_isolation as isolation
from tests.scope.test_isolation import ARGUMENTS, MIXED, OWNER, anonymous, ask, furnish, missing, state_of, told

engine = isolation.engine

# What reads a space, or what is in one; all else answers who was granted it as it answers anybody.
READS_SPACES = {
    "memory.get_memory_space",
    "memory.list_shared_spaces",
    "memory.get_atom",
    "memory.list_atoms",
    "memory.list_decisions",
    "memory.get_entity",
    "memory.find_entity_by_name",
    "memory.search_entities",
    "memory.recall_by_topic",
    "memory.recall_by_entity",
    "memory.recall_timeline",
    "memory.why_not",
    "memory.get_profile",
    "memory.get_history",
    "working_context.build_memory_context",
}


def of_ada(engine: longmind.Engine) -> tuple[longmind.Context, isolation.Things]:
    """Ada, who keeps what she has in shared spaces and has granted them to Eve."""
    ada = engine.context(**OWNER)
    hers = furnish(engine, ada, isolation.SECRET, kind="shared")
    for space_id in (hers.space_id, hers.spare_space_id, hers.shared_space_id):
        ada.memory.grant_space(space_id, "eve")
    return ada, hers


@pytest.mark.patient
@pytest.mark.conforms("T6", "T7", "A0.4")
def test_a_grant_lets_nobody_write_and_leaves_no_trace_in_what_is_not_read(engine: longmind.Engine) -> None:
    ada, hers = of_ada(engine)
    eve, mallory = (engine.context(**{**OWNER, "user_id": name}) for name in ("eve", "mallory"))
    for stranger in (eve, mallory):
        furnish(engine, stranger, "My own")
    before = state_of(engine, ada)
    tried = 0
    for operation in OPERATIONS:
        for arguments_of in ARGUMENTS[operation.path]:
            given, made_up = arguments_of(hers), arguments_of(missing(hers))
            answer = told(ask(eve, operation, given), hers)
            if operation.path in READS_SPACES:
                assert operation.access == "read"
                continue
            nothing = told(ask(mallory, operation, made_up), missing(hers))
            assert anonymous(answer) == anonymous(nothing), (operation, given)
            assert isolation.SECRET not in answer, (operation, given)
            assert state_of(engine, ada) == before, (operation, given)
            tried += 1
    assert tried > 50
    assert anonymous(told(state_of(engine, eve))) == anonymous(told(state_of(engine, mallory)))


@pytest.mark.conforms("T6", "A2.5")
def test_what_may_be_read_cannot_be_put_into_ones_own_memory_by_its_id(engine: longmind.Engine) -> None:
    ada, hers = of_ada(engine)
    eve = engine.context(**{**OWNER, "user_id": "eve"})
    mine = furnish(engine, eve, "My own")
    before, own_before = state_of(engine, ada), state_of(engine, eve)
    operations = {operation.path: operation for operation in OPERATIONS}
    for name, arguments_of in MIXED:
        operation = operations[f"memory.{name}"]
        answer = told(ask(eve, operation, arguments_of(mine, hers)), hers)
        nothing = told(ask(eve, operation, arguments_of(mine, missing(hers))), missing(hers))
        assert anonymous(answer) == anonymous(nothing), name
        assert state_of(engine, ada) == before, name
        assert state_of(engine, eve) == own_before, name
