"""Summaries of conversations and of event timelines.

One contract, `Summariser`, has two implementations: `extractive` picks sentences without a model, and `model:<name>`
asks a language model. Rolling summaries use them for conversations. Distillers use them for events, and add key facts
and open ends where a model can name them.
"""

from longmind.summaries.summariser import Summariser

__all__ = ["Summariser"]
