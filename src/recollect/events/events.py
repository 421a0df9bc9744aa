"""The operations on events, for one timeline of one scope."""

from __future__ import annotations

from recollect.events.addresses import Addresses
from recollect.events.chat import Chat
from recollect.events.distilling import Distilling
from recollect.events.introspection import Introspection
from recollect.events.prompting import Prompting
from recollect.events.reading import Reading
from recollect.events.searching import Searching
from recollect.events.states import States
from recollect.events.tool_results import ToolResults


class Events(Chat, ToolResults, States, Reading, Searching, Distilling, Prompting, Addresses, Introspection):
    """What happened on a timeline of the current user: recorded once, kept for ever, never changed.

    A timeline is that of the session unless another level is asked for, and holds what this user has recorded, also
    where it is named after the whole organisation. Events stand in the order of their time, and those of one instant
    in the order in which they were committed. The hot log is the newest part of a timeline.
    """
