"""The operations on long-term memory, for one scope."""

from __future__ import annotations

from longmind.memory.atoms import Atoms
from longmind.memory.bindings import Bindings
from longmind.memory.entities import Entities
from longmind.memory.grants import Grants
from longmind.memory.recall_tools import AgentTools
from longmind.memory.spaces import Spaces


class Memory(Spaces, Grants, Atoms, Entities, Bindings, AgentTools):
    """Spaces, atoms and entities of the current user, what becomes one, and the three ways to find them again."""
