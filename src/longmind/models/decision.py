"""Decisions: what extraction has changed in a memory space, and why, each of which can be undone."""

from __future__ import annotations

from typing import Literal

from longmind.models.value import Value

# What a skipped candidate was is no decision: nothing changed that could be undone.
DecisionAction = Literal["add", "reinforce", "supersede", "end", "merge", "retire", "undo"]


class AtomDecision(Value):
    """A decision that has changed atoms: it says why in one sentence, and `undo_decision` restores what was before.

    Candidates that extraction has skipped have changed nothing, and are counted in the result of their job.
    """

    id: str
    memory_space_id: str
    action: DecisionAction
    """`add` and `supersede` have added `atom_id`, `reinforce` has confirmed it, `end` has ended it, `merge` has
    let another fact that says the same stand for it, `retire` has archived it since a replay did not find it again, and
    `undo` took another decision back.
    """
    atom_id: str
    changed_atom_ids: list[str]
    """The other atoms that it has changed, such as the ones that `atom_id` supersedes."""
    because: str
    source_conversation_id: str | None
    source_message_ids: list[str]
    """The messages that gave the reason."""
    extraction_version: str | None
    decided_at: str
    # A decision and its undo name each other, so that either can be shown alone.
    undoes: str | None
    """For an `undo`, the decision that it took back."""
    undone_by: str | None
    """The decision that took this one back."""
    undone_at: str | None
