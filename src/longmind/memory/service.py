"""Operations on the long-term memory of one user.

Each group of operations is a class of its own (spaces, grants, atoms, decisions, entities, bindings, recalls, profiles,
histories of attributes) that stands on `MemoryBase`; `Memory` joins them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longmind.memory.atoms import Atoms
from longmind.memory.attribute_history import AttributeHistory
from longmind.memory.bindings import Bindings
from longmind.memory.decision_history import Decisions
from longmind.memory.entities import Entities
from longmind.memory.grants import Grants
from longmind.memory.profiles import Profiles
from longmind.memory.recall import Recalls
from longmind.memory.recall_tools import make_recall_tools
from longmind.memory.spaces import Spaces
from longmind.providers.language_model import BoundTool


class Memory(Spaces, Grants, Atoms, Decisions, Entities, Bindings, Recalls, Profiles, AttributeHistory):
    """Spaces, atoms and entities of the current user, the bindings that fill them, and three ways of recall."""

    def agent_tools(
        self, definitions: dict[str, Any] | Sequence[dict[str, Any]], arguments: Mapping[str, Any] | None = None
    ) -> list[BoundTool]:
        """Make the recall tools that an agent's definition lists, ready to be passed to a model and run.

        definitions: an agent's JSON, one definition or a list of them; tools of other types are skipped.
        arguments: values for memory spaces written as `$name`. A space, and the right to
        read it, are checked only when the tool runs.
        """
        return make_recall_tools(self, definitions, arguments)
