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
from longmind.runtime.thread_pool import make_async_twin
from longmind.tools import Tools
from longmind.working_context import WorkingContexts

AsyncConversations = make_async_twin(Conversations, run_turn=run_turn)
AsyncMemory = make_async_twin(Memory)
AsyncWorkingContexts = make_async_twin(WorkingContexts)
AsyncBlocks = make_async_twin(Blocks)
AsyncTools = make_async_twin(Tools)
AsyncEvents = make_async_twin(Events)
AsyncJobs = make_async_twin(Jobs)
AsyncAccessKeys = make_async_twin(AccessKeys)
AsyncAdmin = make_async_twin(Admin)
