"""The services of a context, and the keys of an engine, awaitable.

Their types are in the stub beside this file, written by `tools/twins.py`.
"""

from recollect.admin import Admin
from recollect.blocks import Blocks
from recollect.conversations import Conversations
from recollect.conversations.awaiting import run_turn
from recollect.events import Events
from recollect.hop import twin_of
from recollect.jobs import Jobs
from recollect.keys import AccessKeys
from recollect.memory import Memory
from recollect.tools import Tools
from recollect.working_context import WorkingContexts

AsyncConversations = twin_of(Conversations, run_turn=run_turn)
AsyncMemory = twin_of(Memory)
AsyncWorkingContexts = twin_of(WorkingContexts)
AsyncBlocks = twin_of(Blocks)
AsyncTools = twin_of(Tools)
AsyncEvents = twin_of(Events)
AsyncJobs = twin_of(Jobs)
AsyncAccessKeys = twin_of(AccessKeys)
AsyncAdmin = twin_of(Admin)
