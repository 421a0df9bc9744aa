"""Working context: a prompt that remembers, within a budget of tokens."""

from recollect.working_context.working_context import WorkingContexts

__all__ = ["WorkingContexts"]
