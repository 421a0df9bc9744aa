"""How many messages become a few sentences."""

from longmind.summaries.summariser import Summariser

__all__ = ["Summariser"]
