"""Checks of what a memory is opened with and asked, made before anything is opened or written."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from longmind.clock import Instant, to_iso, to_micros
from longmind.errors import InvalidIdentity, InvalidInput
from longmind.scope import validate_identity
from longmind.store.sqlite.database import MEMORY
from longmind.validation.parameter_limits import QUERY
from longmind.validation.text import quote_value

UserId = str | int | UUID
_BEGINNING = "0000"
_END = "9999-12-31T23:59:59.999999Z"


class UserFromSettings:
    """Stands for a user without a name: `LONGMIND_USER`, or `default`."""

    def __repr__(self) -> str:
        return "LONGMIND_USER"


FROM_SETTINGS = UserFromSettings()


def read_user(given: object) -> str | None:
    """Return the id of a user as a text; None if the settings decide."""
    if isinstance(given, UserFromSettings):
        return None
    if given is None:
        raise InvalidIdentity(
            "user is None, which is no user.",
            hint='Pass your id of the user, like Memory("ada"); Memory() without a user uses LONGMIND_USER.',
        )
    if isinstance(given, bool) or not isinstance(given, str | int | UUID):
        raise InvalidIdentity(
            f"user must be a text, a whole number or a UUID, not {type(given).__name__}.",
            hint='Pass your id of the user, like Memory("ada").',
        )
    return validate_identity("user", str(given))


def read_url(given: object) -> str | None:
    """Return the URL of a database that was given as a URL or a path."""
    if given is None:
        return None
    if isinstance(given, Path):
        return f"sqlite:///{given}" if str(given) != MEMORY else f"sqlite:///{MEMORY}"
    if not isinstance(given, str):
        raise InvalidInput(
            f"url must be a text or a Path, not {type(given).__name__}.",
            hint='Write url="sqlite:///memory.db" or url=Path("memory.db").',
        )
    return given


def read_model(given: object) -> object:
    """Return the extractor that a model stands for: a name, a language model, or an extractor of the caller's."""
    if isinstance(given, str):
        if not given.strip():
            raise InvalidInput("model is blank.", hint="Name one, such as openai:gpt-5-mini, or leave it out.")
        return given if given in ("local", "rules", "none") or given.startswith("model:") else f"model:{given}"
    if callable(getattr(given, "extract", None)) or callable(getattr(given, "ask", None)):
        return given
    raise InvalidInput(
        f"model is {quote_value(given)}, which is no language model.",
        hint="Name one, such as openai:gpt-5-mini, or pass an object with `name` and `ask`.",
    )


def read_space(given: object) -> str | None:
    """Return the name or id of a space, or None for the default one."""
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(f"space is {quote_value(given)}.", hint="Pass the name or the id of a memory space.")
    return given


def read_query(given: object) -> str:
    """Return a question of at most 10,000 characters that is not blank."""
    if isinstance(given, str) and not given.strip():
        raise InvalidInput("The query is empty.", hint="Pass a question, or list all facts with facts().")
    return QUERY.check("query", given)


def read_id(given: object) -> str:
    """Return the id of a fact."""
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(
            f"id is {quote_value(given)}.", hint="Pass the `id` of a fact, as add, search and facts return it."
        )
    return given


def read_window(since: Instant | None, until: Instant | None) -> tuple[str, str]:
    """Return both ends of a time as texts that can be compared."""
    begin = _BEGINNING if since is None else to_iso(to_micros(since, "since"))
    end = _END if until is None else to_iso(to_micros(until, "until"))
    if begin > end:
        raise InvalidInput(f"since {begin} is after until {end}.", hint="Pass a time that begins before it ends.")
    return begin, end
