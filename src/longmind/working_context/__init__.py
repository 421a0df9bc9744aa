"""Working context: a prompt that remembers, within a budget of tokens."""

from longmind.working_context.service import WorkingContexts

__all__ = ["WorkingContexts"]
