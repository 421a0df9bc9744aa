"""The methods of `longmind.Memory` over HTTP, for the user of the request.

`longmind.Client` sends these requests. Paths and methods are public and never change, like those of all operations.
What is added with `wait=False` is read by a worker of the server, or by `flush`.
"""

from __future__ import annotations

from typing import Any

from longmind.context import Context
from longmind.errors import ExtractionFailed, StoreError
from longmind.front_door.arguments import read_space
from longmind.front_door.memory import Memory
from longmind.models.job import Job
from longmind.models.space import MemorySpace
from longmind.server.endpoint import OperationHandler


class ServedMemory(Memory):
    """A memory on the engine of the server, whose opening, workers and end are none of its business.

    One is made for each request. It holds nothing but the context of the user and the name of a space, so that costs
    next to nothing.
    """

    def __init__(self, context: Context, space: str | None) -> None:
        self._ctx = context
        self._closed = False
        self._space_name = read_space(space)
        self._space: MemorySpace | None = None

    def __repr__(self) -> str:
        return f"ServedMemory({self.user!r})"

    def _check_open(self) -> None:
        """A closed engine refuses every operation itself."""

    def _run_job(self, job: Job) -> Job:
        try:
            return super()._run_job(job)
        except StoreError as error:
            # Status 503 would say that nothing was done, and the client would add it all again.
            raise ExtractionFailed(error.message) from error


class MemoryHandler(OperationHandler):
    """The handler of one method of `Memory`."""

    def find_service(self, context: Context, arguments: dict[str, Any]) -> Any:
        """Return the memory of the user, on the space that the query names."""
        return ServedMemory(context, arguments.pop("space"))
