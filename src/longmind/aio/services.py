"""The services of a context and the operations of an engine, awaitable.

Each class is derived from the synchronous one, which alone has the signatures and docstrings. Their types are in the
stub `services.pyi`, which `tools/twins.py` writes.
"""

from longmind.admin import Admin
from longmind.agents import Agents
from longmind.aio.derivation import derive_async
from longmind.aio.run_turn import invoke_agent, run_turn
from longmind.blocks import Blocks
from longmind.conversations import Conversations
from longmind.engine import Engine
from longmind.events import Events
from longmind.jobs import Jobs
from longmind.keys import AccessKeys
from longmind.memory import Memory
from longmind.tools import Tools
from longmind.working_context import WorkingContexts

AsyncConversations = derive_async(Conversations, run_turn=run_turn)
AsyncMemory = derive_async(Memory)
AsyncWorkingContexts = derive_async(WorkingContexts)
AsyncBlocks = derive_async(Blocks)
AsyncTools = derive_async(Tools)
AsyncEvents = derive_async(Events)
AsyncJobs = derive_async(Jobs)
AsyncAccessKeys = derive_async(AccessKeys)
AsyncAgents = derive_async(Agents, invoke=invoke_agent)
AsyncAdmin = derive_async(Admin)
AsyncEngineOperations = derive_async(
    Engine,
    plain=("start_workers",),
    separate=("work", "stop_workers"),
    # The first five are written by hand in `longmind.aio.engine`; the others are for the synchronous engine alone.
    without=(
        "context",
        "subscribe",
        "follow",
        "register_job",
        "register_tool",
        "close",
        "following",
        "renew_after_fork",
    ),
)
