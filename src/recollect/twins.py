"""The services of a context, awaitable. Their types are in the stub beside this file, written by `tools/twins.py`."""

from recollect.conversations import Conversations
from recollect.hop import twin_of
from recollect.jobs import Jobs
from recollect.memory import Memory

AsyncConversations = twin_of(Conversations)
AsyncMemory = twin_of(Memory)
AsyncJobs = twin_of(Jobs)
