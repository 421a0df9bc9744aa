"""Long-term memory: spaces, atoms and entities, and the ways to find them again."""

from recollect.memory.memory import Memory

__all__ = ["Memory"]
