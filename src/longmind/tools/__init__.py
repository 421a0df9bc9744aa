"""Memory tools of an agent: store, search, brief and delete, audited and within limits."""

from longmind.tools.service import Tools

__all__ = ["Tools"]
