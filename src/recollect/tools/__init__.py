"""The memory tools of an agent."""

from recollect.tools.tools import Tools

__all__ = ["Tools"]
