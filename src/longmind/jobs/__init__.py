"""Jobs: work that is decided on in a transaction and done after it, once, by some worker."""

from longmind.jobs.handler_registry import Effect, Handler, JobRun
from longmind.jobs.service import Jobs
from longmind.jobs.worker import Worker

__all__ = ["Effect", "Handler", "JobRun", "Jobs", "Worker"]
