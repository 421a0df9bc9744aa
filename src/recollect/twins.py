"""The services of a context, awaitable. Their types are in the stub beside this file, written by `tools/twins.py`."""

from recollect.conversations import Conversations
from recollect.hop import twin_of
from recollect.jobs import Jobs

AsyncConversations = twin_of(Conversations)
AsyncJobs = twin_of(Jobs)
