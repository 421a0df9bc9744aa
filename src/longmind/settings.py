"""Settings of an engine and of the server.

This is the only module that reads the environment. A value passed to `open()` wins over the environment variable
`LONGMIND_<NAME>`, which wins over the default here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypedDict, get_args, get_type_hints

from longmind.errors import InvalidInput, InvalidUrl

Durability = Literal["full", "normal"]
JsonlFsync = Literal["always", "interval", "never"]
JwtAlgorithm = Literal["", "HS256", "RS256"]
SleepTimeDefault = Literal["on", "off"]
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
Tracing = Literal["off", "host", "console", "otlp"]

_PATH = "The database is named by url, such as url='sqlite:///memory.db'."
_USER = "Name the user as in longmind.Memory('ada'), or in engine.context(tenant_id=…, app_id=…, user_id=…)."
_KEYS = "Keys of models are read from the environment, such as OPENAI_API_KEY."
_NO_SETTINGS = {
    "api_key": _KEYS,
    "app_id": _USER,
    "database": _PATH,
    "db_path": _PATH,
    "openai_api_key": _KEYS,
    "path": _PATH,
    "tenant_id": _USER,
    "user": _USER,
    "user_id": _USER,
}
"""Names that people try as settings, and what to do instead."""
_MOST_SECONDS = 365 * 24 * 3600
_LEAST = {"sleep_time_daily_tokens": 0, "rolling_summary_turns": 0, "rolling_summary_characters": 200}
_MOST = {
    "pool_size": 1000,
    "job_attempts": 100,
    "model_attempts": 20,
    "rolling_summary_turns": 10_000,
    "rolling_summary_characters": 100_000,
    "purge_superseded_days": 36_500,
    "session_stores": 1_000_000,
    "session_supersedes": 1_000_000,
    "session_deletes": 1_000_000,
    "hot_log_events": 100_000,
    "hot_log_days": 36_500,
    "sleep_time_daily_tokens": 1_000_000_000,
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "durability": get_args(Durability),
    "events_jsonl_fsync": get_args(JsonlFsync),
    "jwt_algorithm": get_args(JwtAlgorithm),
    "sleep_time": get_args(SleepTimeDefault),
    "log_format": get_args(LogFormat),
    "log_level": get_args(LogLevel),
    "tracing": get_args(Tracing),
}
_MOST_MEGABYTES = 1_000_000
_MOST_SPENT = 10**12


@dataclass(frozen=True)
class Settings:
    """Settings of an engine. Each can be passed to `open()` or set as `LONGMIND_<NAME>` in the environment.

    Values in seconds are more than 0 and at most 365 days. Raises InvalidInput for a value out of bounds.
    """

    url: str = field(default="", repr=False)
    """The database URL; empty means the file in the home folder. Never logged, as it may hold a password."""
    durability: Durability = "full"
    """`full`: writes survive a power cut. `normal`: faster, but a power cut may lose the last moments."""
    busy_timeout_seconds: float = 30.0
    """Wait of a write for other writers before it fails with StoreBusy."""
    connect_timeout_seconds: float = 10.0
    """Wait for a PostgreSQL server, and for a free connection to it."""
    answer_timeout_seconds: float = 60.0
    """Wait for an answer of a PostgreSQL server, apart from waits for other writes."""
    silence_seconds: float = 15.0
    """Time that a PostgreSQL server may be unreachable before the connection counts as lost."""
    pool_size: int = 16
    """PostgreSQL connections that one engine may hold: 1 to 1,000."""
    embedder: str = "auto"
    """The embedder of recall: `vendor:model`, `auto` for the local one, which is fetched at first need, or `none`."""
    reranker: str = "none"
    """The model that rereads the best hits: `local:minilm-l12`, or `none`. It takes a third of a second or more."""
    extractor: str = "local"
    """The extractor of facts: `local`, `rules`, which needs no model at all, `model:vendor:name`, or `none`."""
    summariser: str = "extractive"
    """The summariser: `extractive`, which picks sentences and needs no model, or `model:vendor:name`."""
    rolling_summary_turns: int = 10
    """Turns after which a rolling summary is refreshed: 1 to 10,000, or 0 for only on request."""
    rolling_summary_characters: int = 4_000
    """The length of a rolling summary: at most 200 to 100,000 characters."""
    token_counter: str = "auto"
    """The counter of prompt tokens: `o200k`, `cl100k`, `estimate`, or `auto`, which is `o200k`."""
    model_timeout_seconds: float = 120.0
    """Wait for an answer of a language model, or for the next piece of a streamed one."""
    model_attempts: int = 4
    """Attempts with a language model that is overloaded or failing: 1 to 20."""
    model_prices: str = ""
    """Dollars per million tokens in and out, `openai:gpt-5-mini=0.25/2, …`; they override the built-in list."""
    extraction_spend_cap_dollars: float = 0.0
    """Monthly cost of the model extractor per app of a tenant, beyond which rules take over; 0 is no cap."""
    extraction_spend_cap_tokens: int = 0
    """The cap in tokens, in and out together, for models of unknown price; 0 is no cap."""
    sleep_time: SleepTimeDefault = "on"
    """Updates of memory blocks from settled conversations, for users without a rule of their own: `on` or `off`."""
    sleep_time_idle_seconds: float = 600.0
    """The silence after which a conversation has settled, for users without a rule of their own."""
    sleep_time_daily_tokens: int = 100_000
    """Tokens a day that a model extractor may cost an app of a tenant in sleep-time memory; then rules take over."""
    apps_sharing_blocks: str = ""
    """Apps whose users have one set of memory blocks in the tenant: `support, sales`, or `*`; empty means none."""
    models_folder: str = ""
    """The folder of local model files; empty means `.longmind/models` in the home folder."""
    offline: bool = False
    """True forbids to fetch the files of local models; without them recall goes by words alone."""
    cache_megabytes: float = 256.0
    """Memory for the most recently used spaces and timelines: more than 0, at most 1,000,000."""
    job_lease_seconds: float = 30.0
    """Time that a job stays with a worker that gives no sign of life."""
    job_attempts: int = 5
    """Attempts before a job is dead: 1 to 100."""
    job_retry_seconds: float = 1.0
    """The wait before the second attempt; it doubles with each further one."""
    job_retry_cap_seconds: float = 300.0
    """The longest wait between two attempts."""
    worker_poll_seconds: float = 0.5
    """Interval at which an idle worker looks for jobs of other processes."""
    purge_superseded_days: int = 90
    """Days that a superseded entry of the memory tools is kept: 1 to 36,500."""
    session_stores: int = 20
    """Entries that a session of the memory tools may store: 1 to 1,000,000."""
    session_supersedes: int = 5
    """Entries of these that may supersede others: 1 to 1,000,000."""
    session_deletes: int = 5
    """Entries that a session of the memory tools may delete: 1 to 1,000,000."""
    request_megabytes: float = 16.0
    """The size of a request to the server, at most."""
    request_seconds: float = 60.0
    """Wait of the server for the rest of a request and for its operation."""
    turn_seconds: float = 600.0
    """Time that a turn on the server may take in all; after that it ends as it is."""
    shutdown_seconds: float = 30.0
    """Time that a stopping server goes on with accepted requests."""
    hot_log_events: int = 1_000
    """Newest events in the hot log of a timeline: 1 to 100,000."""
    hot_log_days: int = 7
    """Days that an event stays in the hot log: 1 to 36,500."""
    distill_min_signal: float = 0.0
    """The least signal of an event to be distilled, unless a call says otherwise: 0 to 1."""
    erasure_rebuild_megabytes: float = 256.0
    """SQLite files up to this size are rebuilt with each erasure, larger ones by `longmind erase --vacuum`."""
    audit_key: str = field(default="", repr=False)
    """The secret that chains the audit of the memory tools; set it before the first call, and keep it."""
    jwt_algorithm: JwtAlgorithm = ""
    """The signature of another issuer's tokens: `HS256` or `RS256`; empty means that only keys are accepted."""
    jwt_secret: str = field(default="", repr=False)
    """The secret of HS256 tokens: 32 bytes or more."""
    jwt_public_key: str = ""
    """The PEM file with the public key or certificate of RS256 tokens."""
    jwt_jwks: str = ""
    """A JWKS file, from which a token's `kid` selects the key; read again when it changes."""
    jwt_issuer: str = ""
    """The `iss` that a token must have; empty means any."""
    jwt_audience: str = ""
    """The `aud` that a token must have; empty means that it must have none."""
    jwt_tenant_claim: str = "tenant"
    """The claim that names the tenant."""
    jwt_app_claim: str = "app"
    """The claim that names the app."""
    jwt_user_claim: str = "sub"
    """The claim that names the user."""
    jwt_app: str = ""
    """The app of tokens without such a claim."""
    jwt_leeway_seconds: float = 10.0
    """Tolerated error of the issuer's clock."""
    rate_limit: str = ""
    """The rate limit of a credential without its own, such as `600/minute`; empty means none."""
    rate_limit_storage: str = "memory://"
    """The counter of uses: `memory://` in each process, `redis://…` and the like for all together."""
    cors_origins: str = ""
    """Web origins that may call the server from a browser: `https://app.example, …`, or `*`; empty means none."""
    log_format: LogFormat = "text"
    """The format of the server's log: `text`, or `json` with one object per line."""
    log_level: LogLevel = "info"
    """The least level that the server logs: `debug`, `info`, `warning` or `error`."""
    tracing: Tracing = "off"
    """The destination of OpenTelemetry spans: `off`, `host` (the program's own provider), `console` or `otlp`."""

    events_jsonl_dir: str = ""
    """A folder for this database alone, where events are mirrored to files of JSON lines; empty is none."""
    events_jsonl_fsync: JsonlFsync = "interval"
    """Syncing of these files to disk: `always` at once, `interval` once a second while written, or `never`."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                known = " or ".join(repr(choice) for choice in choices)
                raise InvalidInput(f"{name} is {getattr(self, name)!r}.", hint=f"Use {known}.")
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
            elif each.name == "offline" and type(value) is not bool:
                raise InvalidInput(f"offline is {value!r}.", hint="Set it to True or False.")
            else:
                continue
            if not fits:
                raise _make_bounds_error(each.name, each.name, value)


# Written out, since editors and type checkers read no code that would derive it from Settings.
# Written out, since editors and type checkers run no code that would derive it from Settings.
class SettingsOptions(TypedDict, total=False):
    """The settings as keywords of `open()`, without those that `open()` names itself, so that an editor completes them.

    `Settings` describes them, and a test compares the two. None leaves a setting as it is.
    """

    durability: Durability | None
    busy_timeout_seconds: float | None
    connect_timeout_seconds: float | None
    answer_timeout_seconds: float | None
    silence_seconds: float | None
    pool_size: int | None
    rolling_summary_turns: int | None
    rolling_summary_characters: int | None
    model_timeout_seconds: float | None
    model_attempts: int | None
    model_prices: str | None
    extraction_spend_cap_dollars: float | None
    extraction_spend_cap_tokens: int | None
    sleep_time: SleepTimeDefault | None
    sleep_time_idle_seconds: float | None
    sleep_time_daily_tokens: int | None
    apps_sharing_blocks: str | None
    models_folder: str | None
    offline: bool | None
    cache_megabytes: float | None
    job_lease_seconds: float | None
    job_attempts: int | None
    job_retry_seconds: float | None
    job_retry_cap_seconds: float | None
    worker_poll_seconds: float | None
    purge_superseded_days: int | None
    session_stores: int | None
    session_supersedes: int | None
    session_deletes: int | None
    request_megabytes: float | None
    request_seconds: float | None
    turn_seconds: float | None
    shutdown_seconds: float | None
    hot_log_events: int | None
    hot_log_days: int | None
    distill_min_signal: float | None
    erasure_rebuild_megabytes: float | None
    audit_key: str | None
    jwt_algorithm: JwtAlgorithm | None
    jwt_secret: str | None
    jwt_public_key: str | None
    jwt_jwks: str | None
    jwt_issuer: str | None
    jwt_audience: str | None
    jwt_tenant_claim: str | None
    jwt_app_claim: str | None
    jwt_user_claim: str | None
    jwt_app: str | None
    jwt_leeway_seconds: float | None
    rate_limit: str | None
    rate_limit_storage: str | None
    cors_origins: str | None
    log_format: LogFormat | None
    log_level: LogLevel | None
    tracing: Tracing | None
    events_jsonl_dir: str | None
    events_jsonl_fsync: JsonlFsync | None


@dataclass(frozen=True)
class Caller:
    """The user for whom the command `ipc` calls tools. Each field is an option or `LONGMIND_<NAME>`."""

    tenant: str = "local"
    app: str = "ipc"
    user: str = "default"
    agent: str | None = None
    group: str | None = None
    session: str | None = None


def load_caller(given: Mapping[str, str | None], environment: Mapping[str, str] | None = None) -> Caller:
    """Return the caller from the options of a command and the environment; the options win."""
    environment = os.environ if environment is None else environment
    known = {each.name: environment.get(f"LONGMIND_{each.name.upper()}") for each in fields(Caller)}
    known |= {name: value for name, value in given.items() if value is not None}
    return Caller(**{name: value for name, value in known.items() if value})


@dataclass(frozen=True)
class ServerAddress:
    """The server of a client. Each field is an argument or `LONGMIND_<NAME>`."""

    server: str = "http://127.0.0.1:8000"
    key: str | None = field(default=None, repr=False)


def load_server(url: str | None, key: str | None, environment: Mapping[str, str] | None = None) -> ServerAddress:
    """Return the server of a client from its arguments and the environment; the arguments win."""
    environment = os.environ if environment is None else environment
    # A key from the environment is meant for the server from the environment, and for no other.
    known = environment.get("LONGMIND_KEY") if url in (None, environment.get("LONGMIND_SERVER")) else None
    return ServerAddress(
        url if url is not None else environment.get("LONGMIND_SERVER") or ServerAddress.server,
        key if key is not None else known or None,
    )


def _suggest_setting(unknown: Sequence[str], known: Iterable[str]) -> str:
    """Return what was probably meant by unknown settings."""
    # By likeness alone an api_key would be taken for the audit_key.
    if meant := next((_NO_SETTINGS[each] for each in unknown if each in _NO_SETTINGS), None):
        return meant
    names = list(known)
    like = [name for each in unknown for name in get_close_matches(each, names, n=1)]
    if like:
        return f"Did you mean {' and '.join(like)}?"
    return "See help(longmind.settings.Settings), or docs/reference/settings.md."


def load_settings(given: Mapping[str, object], environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings from arguments and the environment; the arguments win.

    Raises InvalidInput for an unknown name or a value out of bounds, and InvalidUrl for an empty URL.
    """
    environment = os.environ if environment is None else environment
    kinds = get_type_hints(Settings)
    unknown = sorted(given.keys() - kinds.keys())
    if unknown:
        raise InvalidInput(f"Unknown settings {', '.join(unknown)}.", hint=_suggest_setting(unknown, kinds))
    if given.get("url") == "":
        raise InvalidUrl("The database URL is empty.", hint="Leave it out to use the file in the home folder.")
    values: dict[str, object] = {}
    for name, kind in kinds.items():
        variable = f"LONGMIND_{name.upper()}"
        if given.get(name) is not None:
            values[name] = _parse_value(name, name, given[name], kind)
        elif environment.get(variable):
            values[name] = _parse_value(variable, name, environment[variable], kind)
    if isinstance(folder := values.get("events_jsonl_dir"), str) and folder:
        # Made absolute now: the working folder may change before it is used again.
        values["events_jsonl_dir"] = str(Path(folder).expanduser().absolute())
    settings = Settings(**values)  # type: ignore[arg-type]  # the names and kinds were checked above
    home = {"url": f"sqlite:///{_find_in_home('longmind.db')}", "models_folder": str(_find_in_home("models"))}
    return Settings(**{**values, **{name: value for name, value in home.items() if not getattr(settings, name)}})  # type: ignore[arg-type]


def _parse_value(given_as: str, name: str, value: object, kind: object) -> object:
    """Return a value as its setting takes it; numbers and switches are parsed, as the environment has only texts."""
    if kind is bool:
        return _parse_switch(given_as, value)
    if kind not in (int, float):
        return value
    try:
        number = int(value) if kind is int else float(value)  # type: ignore[call-overload, arg-type]
        # int() would silently turn 2.9 into 2.
        if isinstance(value, bool) or (kind is int and not isinstance(value, str) and number != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise _make_bounds_error(given_as, name, value) from None
    return number


def _parse_switch(given_as: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    found = _SWITCH.get(value.strip().lower()) if isinstance(value, str) else None
    if found is None:
        raise InvalidInput(f"{given_as} is {value!r}.", hint="Set it to true or false; in the environment, to 1 or 0.")
    return found


_SWITCH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _make_bounds_error(given_as: str, name: str, value: object) -> InvalidInput:
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
    except ValueError:  # Python refuses to write an integer of thousands of digits
        shown = "far too large"
    return InvalidInput(f"{given_as} is {shown}; it must be {bounds}.", hint=f"Write it like {example}.")


def _find_in_home(name: str) -> Path:
    """Return the default path of a file or folder; what version 0.2 left under its own name is used where it is."""
    path = Path.home() / ".longmind" / name
    former = Path.home() / ".recollect" / name.replace("longmind", "recollect")
    # Unlike Path.exists, these take a folder that may not be entered for one that is not there.
    return former if os.path.exists(former) and not os.path.exists(path) else path
