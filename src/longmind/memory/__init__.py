"""Long-term memory: spaces, atoms and entities, and the ways to find them again."""

from longmind.memory.service import Memory

__all__ = ["Memory"]
