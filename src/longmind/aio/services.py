"""The services of a context, and the keys of an engine, awaitable.

Their types are in the stub beside this file, written by `tools/twins.py`.
"""

from longmind.admin import Admin
from longmind.aio.run_turn import run_turn
from longmind.blocks import Blocks
from longmind.conversations import Conversations
from longmind.events import Events
from longmind.jobs import Jobs
from longmind.keys import AccessKeys
from longmind.memory import Memory
from longmind.runtime.thread_pool import twin_of
from longmind.tools import Tools
from longmind.working_context import WorkingContexts

AsyncConversations = twin_of(Conversations, run_turn=run_turn)
AsyncMemory = twin_of(Memory)
AsyncWorkingContexts = twin_of(WorkingContexts)
AsyncBlocks = twin_of(Blocks)
AsyncTools = twin_of(Tools)
AsyncEvents = twin_of(Events)
AsyncJobs = twin_of(Jobs)
AsyncAccessKeys = twin_of(AccessKeys)
AsyncAdmin = twin_of(Admin)
