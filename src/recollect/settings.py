"""What can be set, and the only place that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, get_args, get_type_hints

from recollect.errors import InvalidInput, InvalidUrl

Durability = Literal["full", "normal"]


@dataclass(frozen=True)
class Settings:
    """How an engine works. Each can be given to `open()` or as `RECOLLECT_<NAME>` in the environment."""

    url: str = field(default="", repr=False)
    """Where the memory is kept; empty means the file in the home folder. Not shown in logs: it may hold a password."""
    durability: Durability = "full"
    """`full`: what was written survives a power cut. `normal`: SQLite may lose the last moments, and is faster."""
    busy_timeout_seconds: float = 30.0
    """How long a write waits for other processes' writes before it fails with StoreBusy."""
    connect_timeout_seconds: float = 10.0
    """How long to wait for a PostgreSQL server, and for a free connection to it."""
    pool_size: int = 16
    """How many PostgreSQL connections one engine may hold."""
    job_lease_seconds: float = 30.0
    """How long a job belongs to a worker that has stopped to give signs of life."""
    job_attempts: int = 5
    """How often a job is tried before it is put aside as dead."""
    job_retry_seconds: float = 1.0
    """How long to wait before the second attempt; doubled with each further one."""
    job_retry_cap_seconds: float = 300.0
    """The longest wait between two attempts."""
    worker_poll_seconds: float = 0.5
    """How often an idle worker looks for jobs that other processes have queued."""

    def __post_init__(self) -> None:
        if self.durability not in get_args(Durability):
            raise InvalidInput(f"durability is {self.durability!r}.", hint="It is 'full' or 'normal'.")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and not value > 0:
                raise InvalidInput(f"{each.name} is {value!r}.", hint="It must be greater than zero.")


def load_settings(given: Mapping[str, object], environment: Mapping[str, str] | None = None) -> Settings:
    """Join what the caller gave with the environment; what the caller gave wins."""
    environment = os.environ if environment is None else environment
    kinds = get_type_hints(Settings)
    unknown = sorted(given.keys() - kinds.keys())
    if unknown:
        raise InvalidInput(f"Unknown settings {unknown}.", hint=f"Known are {sorted(kinds)}.")
    if given.get("url") == "":
        raise InvalidUrl("The address is empty.", hint="Leave it out to use the file in the home folder.")
    values: dict[str, object] = {}
    for name, kind in kinds.items():
        variable = f"RECOLLECT_{name.upper()}"
        if given.get(name) is not None:
            values[name] = _number(name, given[name], kind)
        elif environment.get(variable):
            values[name] = _number(variable, environment[variable], kind)
    settings = Settings(**values)  # type: ignore[arg-type]  # the names and kinds were checked above
    return settings if settings.url else Settings(**{**values, "url": _home_url()})  # type: ignore[arg-type]


def _number(name: str, value: object, kind: object) -> object:
    if kind not in (int, float):
        return value
    try:
        return int(value) if kind is int else float(value)  # type: ignore[call-overload, arg-type]
    except (TypeError, ValueError, OverflowError):
        example = "16" if kind is int else "2.5"
        raise InvalidInput(f"{name} is {value!r}, which is not a number.", hint=f"Write it like {example}.") from None


def _home_url() -> str:
    return f"sqlite:///{Path.home() / '.recollect' / 'recollect.db'}"
