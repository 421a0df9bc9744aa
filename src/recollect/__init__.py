"""Recollect: persistent, per-user memory for AI agents."""

import importlib
import typing

from recollect.clock import Clock
from recollect.context import Context
from recollect.engine import Recollect, open
from recollect.errors import (
    BlockConflict,
    Conflict,
    ConversationClosed,
    EmbedderFailed,
    EngineClosed,
    ExtensionMissing,
    Forbidden,
    IdempotencyMismatch,
    InvalidIdentity,
    InvalidInput,
    InvalidUrl,
    LeaseLost,
    LimitExceeded,
    ModelCancelled,
    ModelFailed,
    ModelMissing,
    ModelNotChosen,
    ModelTimedOut,
    NotADatabase,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    RecollectError,
    RerankerFailed,
    SchemaTooNew,
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
from recollect.extraction.candidate import Extractor
from recollect.jobs import Effect, JobRun
from recollect.models.atom import Atom, Category, NewAtom
from recollect.models.binding import Binding, ConversationScope, ExtractionPolicy, ExtractionPreview
from recollect.models.block import Block, BlockLine, BlockRevision, MemoryPolicy, SleepTime
from recollect.models.change import Change
from recollect.models.content import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from recollect.models.conversation import Conversation, RollingSummary
from recollect.models.entity import Entity
from recollect.models.event import Event, EventUsage
from recollect.models.event_search import EventSearchResult, SearchItem
from recollect.models.grant import SpaceGrant
from recollect.models.job import Job, WorkReport
from recollect.models.key import AccessKey, MadeKey
from recollect.models.measures import Measures
from recollect.models.message import AssistantTurn, Message, Turn, Usage
from recollect.models.recall import Explanation, Hit, Recall, WhyNot
from recollect.models.space import MemorySpace
from recollect.models.tool import AuditEntry, Brief, BriefEntry, DeletedEntry, FoundEntries, FoundEntry, StoredEntry
from recollect.models.turn import ToolInvocation, TurnOptions, TurnResult
from recollect.models.value import Page
from recollect.models.working_context import ContextSection, LeftOut, WorkingContext
from recollect.providers.embedder import Embedder
from recollect.providers.language import BoundTool, Cancel, LanguageModel, Tool
from recollect.providers.reranker import Reranker
from recollect.scope import Scope
from recollect.settings import Settings
from recollect.summaries import Summariser

if typing.TYPE_CHECKING:
    from recollect.asynchronous import AsyncContext, AsyncRecollect, open_async

__version__ = "0.2.0"

__all__ = [
    "AccessKey",
    "AssistantTurn",
    "AsyncContext",
    "AsyncRecollect",
    "Atom",
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
    "EngineClosed",
    "Entity",
    "Event",
    "EventSearchResult",
    "EventUsage",
    "Explanation",
    "ExtensionMissing",
    "ExtractionPolicy",
    "ExtractionPreview",
    "Extractor",
    "Forbidden",
    "FoundEntries",
    "FoundEntry",
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
    "MadeKey",
    "Measures",
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
    "RateLimited",
    "Recall",
    "Recollect",
    "RecollectError",
    "Reranker",
    "RerankerFailed",
    "RollingSummary",
    "SchemaTooNew",
    "Scope",
    "SearchItem",
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

# Loaded when they are first asked for: who works without an event loop need not wait for asyncio.
_ASYNCHRONOUS = ("AsyncContext", "AsyncRecollect", "open_async")


def __getattr__(name: str) -> typing.Any:
    if name in _ASYNCHRONOUS:
        value = globals()[name] = getattr(importlib.import_module("recollect.asynchronous"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
