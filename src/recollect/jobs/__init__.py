"""Jobs: work that is decided on in a transaction and done after it, once, by some worker."""

from recollect.jobs.handlers import Effect, Handler, JobRun
from recollect.jobs.jobs import Jobs
from recollect.jobs.worker import Worker

__all__ = ["Effect", "Handler", "JobRun", "Jobs", "Worker"]
