"""How many messages become a few sentences."""

from recollect.summaries.summariser import Summariser

__all__ = ["Summariser"]
