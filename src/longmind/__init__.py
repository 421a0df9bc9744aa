"""Longmind: persistent, per-user memory for AI agents."""

import importlib
import typing

from longmind.clock import Clock
from longmind.context import Context
from longmind.engine import Engine, open
from longmind.errors import (
    BlockConflict,
    Conflict,
    ConversationClosed,
    EmbedderFailed,
    EngineClosed,
    ExtensionMissing,
    ExtractionFailed,
    Forbidden,
    IdempotencyMismatch,
    InvalidIdentity,
    InvalidInput,
    InvalidUrl,
    LeaseLost,
    LimitExceeded,
    LongmindError,
    ModelCancelled,
    ModelFailed,
    ModelMissing,
    ModelNotChosen,
    ModelTimedOut,
    NotADatabase,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    RerankerFailed,
    SchemaTooNew,
    ServerFailed,
    ServerUnavailable,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    SummariserFailed,
    ToolError,
    Unauthenticated,
    UserErased,
)
from longmind.extraction.candidate import Extractor
from longmind.jobs import Effect, JobRun
from longmind.models.agent import Agent, AgentDefinition, AgentMemory
from longmind.models.atom import Atom, Category, NewAtom
from longmind.models.binding import Binding, ConversationScope, ExtractionPolicy, ExtractionPreview
from longmind.models.block import Block, BlockLine, BlockRevision, MemoryPolicy, SleepTime
from longmind.models.change import Change
from longmind.models.content import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.models.conversation import Conversation, RollingSummary
from longmind.models.decision import AtomDecision
from longmind.models.engine_measures import Measures
from longmind.models.entity import Entity
from longmind.models.event import Event, EventUsage
from longmind.models.event_search import EventSearchResult, SearchItem
from longmind.models.grant import SpaceGrant
from longmind.models.job import Job, WorkReport
from longmind.models.key import AccessKey, MadeKey
from longmind.models.message import AppendedMessages, AssistantTurn, GivenMessage, Message, Turn, Usage
from longmind.models.profile import Profile, ProfileLine
from longmind.models.recall import Explanation, Hit, Recall, WhyNot
from longmind.models.space import MemorySpace
from longmind.models.tool import AuditEntry, Brief, BriefEntry, DeletedEntry, FoundEntries, FoundEntry, StoredEntry
from longmind.models.turn import ToolInvocation, TurnOptions, TurnResult
from longmind.models.value import Page
from longmind.models.working_context import ContextSection, LeftOut, WorkingContext
from longmind.providers.embedder import Embedder
from longmind.providers.language_model import BoundTool, Cancel, LanguageModel, Tool
from longmind.providers.reranker import Reranker
from longmind.scope import Scope
from longmind.settings import Settings
from longmind.summaries import Summariser

if typing.TYPE_CHECKING:
    from longmind.aio.engine import AsyncContext, AsyncEngine, open_async
    from longmind.client.async_memory_client import AsyncClient
    from longmind.client.memory_client import Client
    from longmind.front_door.async_memory import AsyncMemory
    from longmind.front_door.memory import Memory

__version__ = "0.3.0"

__all__ = [
    "AccessKey",
    "Agent",
    "AgentDefinition",
    "AgentMemory",
    "AppendedMessages",
    "AssistantTurn",
    "AsyncClient",
    "AsyncContext",
    "AsyncEngine",
    "AsyncMemory",
    "Atom",
    "AtomDecision",
    "AuditEntry",
    "Binding",
    "Block",
    "BlockConflict",
    "BlockLine",
    "BlockRevision",
    "BoundTool",
    "Brief",
    "BriefEntry",
    "Cancel",
    "Category",
    "Change",
    "Client",
    "Clock",
    "Conflict",
    "Context",
    "ContextSection",
    "Conversation",
    "ConversationClosed",
    "ConversationScope",
    "DeletedEntry",
    "Effect",
    "Embedder",
    "EmbedderFailed",
    "Engine",
    "EngineClosed",
    "Entity",
    "Event",
    "EventSearchResult",
    "EventUsage",
    "Explanation",
    "ExtensionMissing",
    "ExtractionFailed",
    "ExtractionPolicy",
    "ExtractionPreview",
    "Extractor",
    "Forbidden",
    "FoundEntries",
    "FoundEntry",
    "GivenMessage",
    "Hit",
    "IdempotencyMismatch",
    "ImageBlock",
    "InvalidIdentity",
    "InvalidInput",
    "InvalidUrl",
    "Job",
    "JobRun",
    "LanguageModel",
    "LeaseLost",
    "LeftOut",
    "LimitExceeded",
    "LongmindError",
    "MadeKey",
    "Measures",
    "Memory",
    "MemoryPolicy",
    "MemorySpace",
    "Message",
    "ModelCancelled",
    "ModelFailed",
    "ModelMissing",
    "ModelNotChosen",
    "ModelTimedOut",
    "NewAtom",
    "NotADatabase",
    "NotFound",
    "OutcomeUnknown",
    "Page",
    "Profile",
    "ProfileLine",
    "RateLimited",
    "Recall",
    "Reranker",
    "RerankerFailed",
    "RollingSummary",
    "SchemaTooNew",
    "Scope",
    "SearchItem",
    "ServerFailed",
    "ServerUnavailable",
    "Settings",
    "SleepTime",
    "SpaceGrant",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "StoredEntry",
    "Summariser",
    "SummariserFailed",
    "TextBlock",
    "Tool",
    "ToolError",
    "ToolInvocation",
    "ToolResultBlock",
    "ToolUseBlock",
    "Turn",
    "TurnOptions",
    "TurnResult",
    "Unauthenticated",
    "Usage",
    "UserErased",
    "WhyNot",
    "WorkReport",
    "WorkingContext",
    "open",
    "open_async",
]

# Loaded when they are first asked for: a program without an event loop need not wait for asyncio.
_LATE = {
    **dict.fromkeys(("AsyncContext", "AsyncEngine", "open_async"), "longmind.aio.engine"),
    "AsyncClient": "longmind.client.async_memory_client",
    "AsyncMemory": "longmind.front_door.async_memory",
    "Client": "longmind.client.memory_client",
    "Memory": "longmind.front_door.memory",
}


def __getattr__(name: str) -> typing.Any:
    if name in _LATE:
        value = globals()[name] = getattr(importlib.import_module(_LATE[name]), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
