"""The base of all groups of memory operations.

A read looks in the user's own scope first, which costs no look at the grants. Only if it finds nothing there is the
space of another user tried, in the scope of its owner and read-only. Grants are looked up on every call, so a revoked
one ends at once in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from longmind.assembly.tokens import TokenCounter
from longmind.clock import Clock
from longmind.errors import NotFound
from longmind.extraction.extraction_versions import ExtractionVersions
from longmind.memory.space_names import find_space_id
from longmind.scope import ReaderScope, Scope, ScopedService
from longmind.store.database import Database
from longmind.store.tables import grants

if TYPE_CHECKING:
    from longmind.extraction.pipeline import Pipeline
    from longmind.recall.retriever import AtomRetriever

T = TypeVar("T")


class SpaceMember(Protocol):
    """A thing in a memory space that knows its space."""

    @property
    def memory_space_id(self) -> str: ...


Member = TypeVar("Member", bound=SpaceMember)


class MemoryBase(ScopedService):
    """The dependencies of memory operations, and reads that include shared spaces.

    `retriever` and `pipeline` are functions because both are made on first use: they load numpy.
    """

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        retriever: Callable[[], AtomRetriever],
        pipeline: Callable[[], Pipeline],
        job_attempts: int,
        wake_workers: Callable[[], None],
        count: TokenCounter,
        versions: ExtractionVersions,
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._find_retriever = retriever
        self._found_retriever: AtomRetriever | None = None
        self._find_pipeline = pipeline
        self._job_attempts = job_attempts
        self._wake_workers = wake_workers
        self._count = count
        self._versions = versions

    @property
    def _retriever(self) -> AtomRetriever:
        if self._found_retriever is None:
            self._found_retriever = self._find_retriever()
        return self._found_retriever

    @property
    def _pipeline(self) -> Pipeline:
        return self._find_pipeline()

    def _find_space(self, id_or_name: object) -> str:
        """Return the id of the space that an id or a name stands for; raise NotFound for an unknown name."""
        return find_space_id(self._database, self._scope, id_or_name)

    def _read_space(self, space_id: str, read: Callable[[Scope], T]) -> T:
        """Read a space in the user's own scope, or, if it is shared with the user, in that of its owner."""
        try:
            return read(self._scope)
        except NotFound as error:
            missing = error
        owner = self._find_owner(space_id)
        if owner is None:
            raise missing
        return read(owner)

    def _find_by_id(self, find: Callable[[Scope], Member | None]) -> tuple[Member, Scope] | None:
        """Find a thing by its id alone, own or shared; return it with the scope that it was found in."""
        found = find(self._scope)
        if found is not None:
            return found, self._scope
        # An id does not say whose space it is in, so each owner who shares something is asked.
        granted = self._database.read(self._scope, grants.list_granted, self._scope)
        for owner in dict.fromkeys(owner for _, owner in granted):
            found = find(owner)
            if found is not None and self._find_owner(found.memory_space_id) == owner:
                return found, owner
        return None

    def _find_owner(self, space_id: str) -> ReaderScope | None:
        return grants.find_shared_owner(self._database, self._scope, space_id)
