"""Memory blocks: short core and archival documents of a user or an agent, written by compare-and-set."""

from longmind.blocks.reader import BlockReader
from longmind.blocks.service import Blocks

__all__ = ["BlockReader", "Blocks"]
