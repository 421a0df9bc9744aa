"""The log of what happened: recorded on timelines, and read back newest last."""

from recollect.events.events import Events
from recollect.events.jsonl import read_jsonl

__all__ = ["Events", "read_jsonl"]
