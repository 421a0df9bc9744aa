"""Jobs: work that is queued in a transaction and done after it, once, by one of the workers."""

from longmind.jobs.handler_registry import Effect, Handler, JobRun
from longmind.jobs.service import Jobs
from longmind.jobs.worker import Worker

__all__ = ["Effect", "Handler", "JobRun", "Jobs", "Worker"]
