"""What can be set, and the only place that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, get_args, get_type_hints

from longmind.errors import InvalidInput, InvalidUrl

Durability = Literal["full", "normal"]
JsonlFsync = Literal["always", "interval", "never"]
JwtAlgorithm = Literal["", "HS256", "RS256"]
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
Tracing = Literal["off", "host", "console", "otlp"]

_MOST_SECONDS = 365 * 24 * 3600
_LEAST = {"rolling_summary_turns": 0, "rolling_summary_characters": 200}
_MOST = {
    "pool_size": 1000,
    "job_attempts": 100,
    "model_attempts": 20,
    "rolling_summary_turns": 10_000,
    "rolling_summary_characters": 100_000,
    "purge_superseded_days": 36_500,
    "hot_log_events": 100_000,
    "hot_log_days": 36_500,
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "durability": get_args(Durability),
    "events_jsonl_fsync": get_args(JsonlFsync),
    "jwt_algorithm": get_args(JwtAlgorithm),
    "log_format": get_args(LogFormat),
    "log_level": get_args(LogLevel),
    "tracing": get_args(Tracing),
}
_MOST_MEGABYTES = 1_000_000
_MOST_SPENT = 10**12


@dataclass(frozen=True)
class Settings:
    """How an engine works. Each can be given to `open()` or as `LONGMIND_<NAME>` in the environment.

    Seconds are more than 0 and at most 365 days.
    """

    url: str = field(default="", repr=False)
    """Where the memory is kept; empty means the file in the home folder. Not shown in logs: it may hold a password."""
    durability: Durability = "full"
    """`full`: what was written survives a power cut. `normal`: SQLite may lose the last moments, and is faster."""
    busy_timeout_seconds: float = 30.0
    """How long a write waits for other processes' writes before it fails with StoreBusy."""
    connect_timeout_seconds: float = 10.0
    """How long to wait for a PostgreSQL server, and for a free connection to it."""
    answer_timeout_seconds: float = 60.0
    """How long a PostgreSQL server may say nothing, besides waits for other writes, before it is given up."""
    silence_seconds: float = 15.0
    """How long the other end of a connection to PostgreSQL may be cut off before the connection counts as lost."""
    pool_size: int = 16
    """How many PostgreSQL connections one engine may hold: 1 to 1,000."""
    embedder: str = "auto"
    """Whose vectors recall uses: `vendor:model`, `auto` for the local one where it is installed, `none` for none."""
    reranker: str = "none"
    """Who reads the best hits once more: `local:minilm-l12`, or `none`. It takes a third of a second and more."""
    extractor: str = "rules"
    """What finds memory in conversations: `rules`, which needs no model, `model:vendor:name`, or `none`."""
    summariser: str = "extractive"
    """What makes rolling summaries: `extractive`, which picks sentences and needs no model, or `model:vendor:name`."""
    rolling_summary_turns: int = 10
    """After how many turns a rolling summary is refreshed: 1 to 10,000, or 0 for only by hand."""
    rolling_summary_characters: int = 4_000
    """How long a rolling summary may be: 200 to 100,000 characters."""
    token_counter: str = "auto"
    """What counts the tokens of prompts: `o200k` or `cl100k`, `estimate`, or `auto` for the first that can be used."""
    model_timeout_seconds: float = 120.0
    """How long a language model may take for an answer; for one that is streamed, between two pieces of it."""
    model_attempts: int = 4
    """How often a language model is asked when it is overloaded or its vendor is in trouble: 1 to 20."""
    model_prices: str = ""
    """Dollars for a million tokens in and out, `openai:gpt-5-mini=0.25/2, …`, where they differ from the list's."""
    extraction_spend_cap_dollars: float = 0.0
    """What the model extractor may cost a tenant's app in a month; then rules take over. 0 is no cap."""
    extraction_spend_cap_tokens: int = 0
    """The same cap in tokens, in and out together, for models whose price is not known. 0 is no cap."""
    models_folder: str = ""
    """Where the files of local models are kept; empty means the folder `.longmind/models` in the home folder."""
    cache_megabytes: float = 256.0
    """How much memory the spaces and timelines that were used last may take: more than 0, at most 1,000,000."""
    job_lease_seconds: float = 30.0
    """How long a job belongs to a worker that has stopped to give signs of life."""
    job_attempts: int = 5
    """How often a job is tried before it is put aside as dead: 1 to 100."""
    job_retry_seconds: float = 1.0
    """How long to wait before the second attempt; doubled with each further one."""
    job_retry_cap_seconds: float = 300.0
    """The longest wait between two attempts."""
    worker_poll_seconds: float = 0.5
    """How often an idle worker looks for jobs that other processes have queued."""
    purge_superseded_days: int = 90
    """How long an entry of the memory tools is kept after another one has superseded it: 1 to 36,500 days."""
    request_megabytes: float = 16.0
    """How large a request to the server may be."""
    request_seconds: float = 60.0
    """How long the server waits for the rest of a request, and for its operation."""
    turn_seconds: float = 600.0
    """How long a turn that the server runs may take in all; then it ends with what it has."""
    shutdown_seconds: float = 30.0
    """How long the server, told to stop, goes on with the requests that it has accepted."""
    hot_log_events: int = 1_000
    """How many of the newest events of a timeline its hot log holds: 1 to 100,000."""
    hot_log_days: int = 7
    """How long an event stays in the hot log: 1 to 36,500 days."""
    distill_min_signal: float = 0.0
    """How much an event must matter to be distilled, where a call does not say: 0 to 1."""
    erasure_rebuild_megabytes: float = 256.0
    """SQLite files up to this size are rebuilt with each erasure; larger ones by `longmind erase --vacuum`."""
    audit_key: str = field(default="", repr=False)
    """A secret that the audit of the memory tools is chained with; set it before the first call, and keep it."""
    jwt_algorithm: JwtAlgorithm = ""
    """What tokens of another issuer are signed with: `HS256` or `RS256`; empty means that only keys are accepted."""
    jwt_secret: str = field(default="", repr=False)
    """The secret that HS256 tokens are signed with: 32 bytes or more."""
    jwt_public_key: str = ""
    """The PEM file of the public key, or certificate, of RS256 tokens."""
    jwt_jwks: str = ""
    """A JWKS file, from which a token's `kid` picks the key; read again when it changes."""
    jwt_issuer: str = ""
    """The `iss` that a token must have; empty means any."""
    jwt_audience: str = ""
    """The `aud` that a token must be for; empty means that it must have none."""
    jwt_tenant_claim: str = "tenant"
    """The claim that names the tenant."""
    jwt_app_claim: str = "app"
    """The claim that names the app."""
    jwt_user_claim: str = "sub"
    """The claim that names the user."""
    jwt_app: str = ""
    """The app of tokens whose issuer knows none."""
    jwt_leeway_seconds: float = 10.0
    """How far the clock of the issuer may be off."""
    rate_limit: str = ""
    """How often a credential without a rate of its own may be used: `600/minute`; empty means as often as it likes."""
    rate_limit_storage: str = "memory://"
    """Where the uses are counted: `memory://` is each process for itself; `redis://…` and its kin are shared."""
    cors_origins: str = ""
    """The web pages that may call the server from a browser: `https://app.example, …`, or `*`; empty means none."""
    log_format: LogFormat = "text"
    """How the server writes its log: `text`, or `json` with one object on each line."""
    log_level: LogLevel = "info"
    """What the server writes: `debug`, `info`, `warning` or `error`, and what is worse."""
    tracing: Tracing = "off"
    """Where OpenTelemetry spans go: `off`, `host` (the program's own provider), `console` or `otlp`."""

    events_jsonl_dir: str = ""
    """A folder of this database's own in which events are mirrored to files of JSON lines; empty is none."""
    events_jsonl_fsync: JsonlFsync = "interval"
    """When such files are synced to the disk: `always` at once, `interval` once a second while written, or `never`."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                known = " or ".join(repr(choice) for choice in choices)
                raise InvalidInput(f"{name} is {getattr(self, name)!r}.", hint=f"It is {known}.")
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in _MOST:
                fits = type(value) is int and _LEAST.get(each.name, 1) <= value <= _MOST[each.name]
            elif each.name.endswith(("_seconds", "_megabytes")):
                most = _MOST_SECONDS if each.name.endswith("_seconds") else _MOST_MEGABYTES
                fits = type(value) in (int, float) and 0 < value <= most
            elif "_spend_cap_" in each.name:
                fits = type(value) in (int, float) and 0 <= value <= _MOST_SPENT
            elif each.name == "distill_min_signal":
                fits = type(value) in (int, float) and 0 <= value <= 1
            else:
                continue
            if not fits:
                raise _out_of_bounds(each.name, each.name, value)


@dataclass(frozen=True)
class Caller:
    """Whom the command `ipc` calls tools for. Each can be given as an option or as `LONGMIND_<NAME>`."""

    tenant: str = "local"
    app: str = "ipc"
    user: str = "default"
    agent: str | None = None
    group: str | None = None
    session: str | None = None


def load_caller(given: Mapping[str, str | None], environment: Mapping[str, str] | None = None) -> Caller:
    """Join the options of a command with the environment; the options win."""
    environment = os.environ if environment is None else environment
    known = {each.name: environment.get(f"LONGMIND_{each.name.upper()}") for each in fields(Caller)}
    known |= {name: value for name, value in given.items() if value is not None}
    return Caller(**{name: value for name, value in known.items() if value})


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
        variable = f"LONGMIND_{name.upper()}"
        if given.get(name) is not None:
            values[name] = _number(name, name, given[name], kind)
        elif environment.get(variable):
            values[name] = _number(variable, name, environment[variable], kind)
    if isinstance(folder := values.get("events_jsonl_dir"), str) and folder:
        # Made absolute at once: it is looked at later too, when the working folder may be another.
        values["events_jsonl_dir"] = str(Path(folder).expanduser().absolute())
    settings = Settings(**values)  # type: ignore[arg-type]  # the names and kinds were checked above
    home = {"url": f"sqlite:///{_find_in_home('longmind.db')}", "models_folder": str(_find_in_home("models"))}
    return Settings(**{**values, **{name: value for name, value in home.items() if not getattr(settings, name)}})  # type: ignore[arg-type]


def _number(given_as: str, name: str, value: object, kind: object) -> object:
    """The value as the number it has to be; a text is read, since the environment knows nothing else."""
    if kind not in (int, float):
        return value
    try:
        number = int(value) if kind is int else float(value)  # type: ignore[call-overload, arg-type]
        # int() would make 2 of 2.9 without a word.
        if isinstance(value, bool) or (kind is int and not isinstance(value, str) and number != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise _out_of_bounds(given_as, name, value) from None
    return number


def _out_of_bounds(given_as: str, name: str, value: object) -> InvalidInput:
    if name in _MOST:
        bounds, example = f"a whole number from {_LEAST.get(name, 1)} to {_MOST[name]:,}", "16"
    elif name.endswith("_megabytes"):
        bounds, example = f"a number of megabytes above 0 and not above {_MOST_MEGABYTES:,}", "256"
    elif "_spend_cap_" in name:
        bounds, example = f"a number from 0, which is no cap, to {_MOST_SPENT:,}", "20"
    elif name == "distill_min_signal":
        bounds, example = "a number from 0 to 1", "0.3"
    else:
        bounds, example = f"a number of seconds above 0 and not above {_MOST_SECONDS:,} (365 days)", "2.5"
    try:
        shown = repr(value)
    except ValueError:  # Python refuses to write a number of thousands of digits
        shown = "far too large"
    return InvalidInput(f"{given_as} is {shown}, and must be {bounds}.", hint=f"Write it like {example}.")


def _find_in_home(name: str) -> Path:
    """Return the default path of a file or folder; what version 0.2 left under its own name is used where it is."""
    path = Path.home() / ".longmind" / name
    former = Path.home() / ".recollect" / name.replace("longmind", "recollect")
    # Unlike Path.exists, these take a folder that may not be entered for one that is not there.
    return former if os.path.exists(former) and not os.path.exists(path) else path
