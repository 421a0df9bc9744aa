"""The operations on long-term memory, for one scope."""

from __future__ import annotations

from recollect.memory.agent_tools import AgentTools
from recollect.memory.atoms import Atoms
from recollect.memory.bindings import Bindings
from recollect.memory.entities import Entities
from recollect.memory.sharing import Sharing
from recollect.memory.spaces import Spaces


class Memory(Spaces, Sharing, Atoms, Entities, Bindings, AgentTools):
    """Spaces, atoms and entities of the current user, what becomes one, and the three ways to find them again."""
