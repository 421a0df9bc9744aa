"""Working contexts: prompts with memory, built within a token budget."""

from longmind.working_context.service import WorkingContexts

__all__ = ["WorkingContexts"]
