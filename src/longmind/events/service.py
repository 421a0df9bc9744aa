"""The operations on events, for one timeline of one scope."""

from __future__ import annotations

from longmind.events.addresses import Addresses
from longmind.events.chat import Chat
from longmind.events.distilling import Distilling
from longmind.events.introspection import Introspection
from longmind.events.prompts import Prompting
from longmind.events.reading import Reading
from longmind.events.search import Searching
from longmind.events.states import States
from longmind.events.tool_results import ToolResults


class Events(Chat, ToolResults, States, Reading, Searching, Distilling, Prompting, Addresses, Introspection):
    """What happened on a timeline of the current user: recorded once, kept for ever, never changed.

    A timeline is that of the session unless another level is asked for, and holds what this user has recorded, also
    where it is named after the whole organisation. Events stand in the order of their time, and those of one instant
    in the order in which they were committed. The hot log is the newest part of a timeline.
    """
