"""The memory tools of an agent."""

from longmind.tools.service import Tools

__all__ = ["Tools"]
